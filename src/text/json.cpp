// Builds the tree from the events of nlohmann's parser, which reports where a text goes wrong.
#include "text/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"

namespace text {
namespace {

using base::Exit;
using base::fail_user;

constexpr size_t max_depth = 64;           // a tokenizer.json needs 8
constexpr size_t max_message_bytes = 300;  // the parser quotes the last token, however long

std::string position(std::string_view text, size_t byte, size_t first_line) {
  byte = std::min(byte, text.size());
  const std::string_view before = text.substr(0, byte);
  const size_t line = first_line + static_cast<size_t>(std::ranges::count(before, '\n'));
  const size_t newline = before.rfind('\n');
  const size_t column = byte - (newline == std::string_view::npos ? 0 : newline + 1);
  return base::format("{}:{}", line, std::max<size_t>(column, 1));
}

// The parser's own words without its number and position.
std::string reason(const char* what) {
  std::string message = what;
  const size_t column = message.find("column ");
  const size_t colon = message.find(": ", column == std::string::npos ? 0 : column);
  if (colon != std::string::npos) message = message.substr(colon + 2);
  if (message.size() > max_message_bytes) message = message.substr(0, max_message_bytes) + "...";
  std::ranges::replace_if(
      message, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return base::is_valid_utf8(message) ? message : "not valid UTF-8";
}

class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(std::string_view text, std::string_view where, size_t first_line)
      : text_(text), where_(where), first_line_(first_line) {}
  JsonValue take() { return std::move(root_); }

  bool null() override { return add(JsonValue{}); }
  bool boolean(bool value) override {
    return add(JsonValue{.kind = JsonValue::Kind::boolean, .boolean = value});
  }
  bool number_integer(int64_t value) override {
    return add(JsonValue{.kind = JsonValue::Kind::integer, .integer = value});
  }
  bool number_unsigned(uint64_t value) override {
    if (value > INT64_MAX) {
      return add(JsonValue{.kind = JsonValue::Kind::real, .real = static_cast<double>(value)});
    }
    return number_integer(static_cast<int64_t>(value));
  }
  bool number_float(double value, const std::string&) override {
    return add(JsonValue{.kind = JsonValue::Kind::real, .real = value});
  }
  bool string(std::string& value) override {
    return add(JsonValue{.kind = JsonValue::Kind::text, .text = std::move(value)});
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }  // JSON text has none
  bool start_object(size_t) override { return open(JsonValue::Kind::object); }
  bool start_array(size_t) override { return open(JsonValue::Kind::array); }
  bool key(std::string& name) override {
    open_.back()->members.push_back({std::move(name), {}});
    return true;
  }
  bool end_object() override {
    refuse_duplicates(open_.back()->members);
    open_.pop_back();
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(size_t byte, const std::string&, const nlohmann::json::exception& e) override {
    fail_user(Exit::data, "{}:{}: {}", where_, position(text_, byte, first_line_),
              reason(e.what()));
  }

 private:
  JsonValue* place() {
    if (open_.empty()) return &root_;
    JsonValue& parent = *open_.back();
    if (parent.is(JsonValue::Kind::object)) return &parent.members.back().value;
    return &parent.items.emplace_back();
  }
  bool add(JsonValue value) {
    *place() = std::move(value);
    return true;
  }
  bool open(JsonValue::Kind kind) {
    if (open_.size() == max_depth) {
      fail_user(Exit::data, "{}:{}: nested deeper than {} levels", where_, first_line_, max_depth);
    }
    JsonValue* value = place();
    value->kind = kind;
    open_.push_back(value);
    return true;
  }
  void refuse_duplicates(const std::vector<JsonMember>& members) const {
    std::vector<uint32_t> order(members.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, {}, [&](uint32_t i) -> const std::string& { return members[i].name; });
    for (size_t i = 1; i < order.size(); ++i) {
      if (members[order[i]].name == members[order[i - 1]].name) {
        fail_user(Exit::data, "{}:{}: key {} stands twice in one object", where_, first_line_,
                  json_quote(members[order[i]].name));
      }
    }
  }

  std::string_view text_, where_;
  size_t first_line_;
  JsonValue root_;
  // Parents of the value being read. They stay put: only the innermost one grows.
  std::vector<JsonValue*> open_;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string to_text(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::null:
      return "null";
    case JsonValue::Kind::boolean:
      return "true or false";
    case JsonValue::Kind::integer:
      return "a whole number";
    case JsonValue::Kind::real:
      return "a number";
    case JsonValue::Kind::text:
      return "a string";
    case JsonValue::Kind::array:
      return "an array";
    case JsonValue::Kind::object:
      return "an object";
  }
  CHECK(false);
  return {};
}

JsonValue parse_json(std::string_view text, std::string_view where) {
  return parse_json_line(text, where, 1);
}

JsonValue parse_json_line(std::string_view line, std::string_view where, size_t number) {
  TreeBuilder builder(line, where, number);
  nlohmann::json::sax_parse(line.begin(), line.end(), &builder);
  return builder.take();
}

std::string json_quote(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace text
