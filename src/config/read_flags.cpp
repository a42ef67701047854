// Flags to assignments: --section.key value, --section.key=value, switches, lists as a,b,c
// (reference 4.1); `_` and `-` are alike in names.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "config/problems.h"

namespace config {
namespace {

struct Flag {
  std::string name;  // without dashes, `-` as `_`
  std::string typed;
  std::optional<std::string> value;  // behind `=`
};

Flag split_flag(const std::string& argument) {
  Flag flag;
  const size_t equals = argument.find('=');
  flag.typed = argument;
  flag.name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
  std::ranges::replace(flag.name, '-', '_');
  if (equals != std::string::npos) flag.value = argument.substr(equals + 1);
  return flag;
}

// "compile.no_enable" is the off switch of compile.enable.
const Key* key_of_off_switch(std::string_view name) {
  if (!leaf_of(name).starts_with("no_")) return nullptr;
  const std::string positive =
      std::string(section_of(name)) + "." + std::string(leaf_of(name).substr(3));
  const Key* key = find_key(positive);
  return key && key->kind == Kind::boolean ? key : nullptr;
}

template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

List parse_list(const std::string& text) {
  List list;
  if (base::trim(text).empty()) return list;
  for (const std::string& part : base::split(text, ',')) list.emplace_back(base::trim(part));
  return list;
}

// A text that does not parse stays a text, and `assign` says what was expected.
Value parse_value(const Key& key, const std::string& text) {
  if (key.optional && (text == "none" || text == "None")) return std::monostate{};
  switch (key.kind) {
    case Kind::integer:
      if (const auto number = parse_number<int64_t>(text)) return *number;
      break;
    case Kind::real:
      if (const auto number = parse_number<double>(text)) return *number;
      break;
    case Kind::list:
      return parse_list(text);
    case Kind::boolean:
    case Kind::text:
    case Kind::list_of_lists:
      break;
  }
  return text;
}

class Reader {
 public:
  Reader(Draft& draft, std::span<const std::string> flags) : draft_(draft), flags_(flags) {}

  void read_all() {
    while (at_ < flags_.size() && draft_.problems.size() < enough_problems) read_one(flags_[at_++]);
  }

 private:
  void read_one(const std::string& argument) {
    if (!base::is_valid_utf8(argument)) return fail("a flag is not valid UTF-8", "argument", "");
    if (!argument.starts_with("--") || argument.size() == 2) {
      return fail(base::format("unexpected argument {}", show(argument)), argument,
                  "flags are written --section.key value");
    }
    Flag flag = split_flag(argument);
    if (const Key* off = key_of_off_switch(flag.name)) return read_switch(*off, flag, false);
    const Key* key = find_key(flag.name);
    if (key == nullptr) return unknown(flag);
    if (key->kind == Kind::boolean) return read_switch(*key, flag, true);
    if (!flag.value) flag.value = next_value();
    if (!flag.value) {
      draft_.broken[key_index(key->name)] = true;
      return fail(base::format("{} needs a value", key->name), flag.typed, "");
    }
    if (key->kind == Kind::list_of_lists) {
      draft_.broken[key_index(key->name)] = true;
      return fail(base::format("{} is a list of lists", key->name), flag.typed,
                  "set it in the TOML file");
    }
    const bool joined = flag.typed.find('=') != std::string::npos;
    const std::string typed = joined ? flag.typed : flag.typed + " " + *flag.value;
    assign(draft_, *key, parse_value(*key, *flag.value),
           {.from = Origin::From::command_line, .name = typed});
  }

  // The next argument, unless it is a flag itself.
  std::optional<std::string> next_value() {
    if (at_ >= flags_.size() || flags_[at_].starts_with("--")) return std::nullopt;
    if (!base::is_valid_utf8(flags_[at_])) return std::nullopt;
    return flags_[at_++];
  }

  void read_switch(const Key& key, Flag& flag, Value state) {
    const Origin origin{.from = Origin::From::command_line, .name = flag.typed};
    if (!flag.value) flag.value = next_value();
    if (!flag.value) return assign(draft_, key, std::move(state), origin);
    draft_.broken[key_index(key.name)] = true;
    fail(base::format("{} is a switch and takes no value, found {}", key.name, show(*flag.value)),
         flag.typed,
         base::format("write --{} or --{}.no_{}", key.name, section_of(key.name),
                      leaf_of(key.name)));
  }

  void unknown(const Flag& flag) {
    if (!flag.value) next_value();
    std::string near = suggest_key(flag.name);
    if (is_section(flag.name)) near.clear();
    fail(base::format("unknown key {}", show(flag.name)), flag.typed,
         is_section(flag.name) ? base::format("it is a section; write --{}.key value", flag.name)
                               : did_you_mean(near));
  }

  void fail(std::string message, const std::string& typed, std::string hint) {
    draft_.problems.push_back(
        {std::move(message), {.from = Origin::From::command_line, .name = typed}, std::move(hint)});
  }

  Draft& draft_;
  std::span<const std::string> flags_;
  size_t at_ = 0;
};

}  // namespace

void read_flags(Draft& draft, std::span<const std::string> flags) {
  Reader(draft, flags).read_all();
}

}  // namespace config
