// TOML text to assignments, through toml++. Every key that is unknown or has the wrong type is a
// problem with its place; a syntax error is one problem and ends the reading.
#include <toml++/toml.h>

#include "base/text.h"
#include "config/problems.h"

namespace config {
namespace {

struct File {
  std::string_view name;
  List lines;
};

// Cuts the part around a place out of a line, so that no problem carries a megabyte.
void set_excerpt(Origin& origin, std::string_view line) {
  constexpr int before = 60, after = 100;
  const int first = std::max(1, origin.column - before), last = origin.column + after;
  origin.mark = origin.column;
  if (first > 1) {
    origin.line_text = "...";
    origin.mark = origin.column - first + 1 + 3;
  }
  int column = 0;
  for (const char c : line) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++column;  // a character starts
    if (column > last) break;
    if (column >= first) origin.line_text += c;
  }
  if (column > last) origin.line_text += "...";
}

std::string_view line_of(const File& file, size_t line) {
  if (line == 0 || line > file.lines.size()) return {};
  std::string_view text = file.lines[line - 1];
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

Origin origin_of(const File& file, const toml::source_region& region) {
  Origin origin{.from = Origin::From::file, .name = std::string(file.name)};
  origin.line = static_cast<int>(region.begin.line);
  origin.column = std::max(1, static_cast<int>(region.begin.column));
  set_excerpt(origin, line_of(file, region.begin.line));
  const bool one_line = region.begin.line == region.end.line;
  origin.width = one_line && region.end.column > region.begin.column
                     ? static_cast<int>(region.end.column - region.begin.column)
                     : 1;
  return origin;
}

// A header's place is its bracket; its name is what is marked.
Origin header_of(const File& file, const toml::key& key, const toml::node& node) {
  Origin origin = origin_of(file, key.source());
  const toml::source_position bracket = node.source().begin;
  if (node.is_table() && !node.as_table()->is_inline() && bracket.line == key.source().begin.line) {
    origin.column = static_cast<int>(bracket.column);
  }
  return origin;
}

std::string type_of(const toml::node& node) {
  if (node.is_date() || node.is_time() || node.is_date_time()) return "a date or time";
  if (node.is_table()) return "a section";
  if (node.is_array_of_tables()) return "a list of sections";
  return node.is_array() ? "a mixed list" : "a value";
}

std::optional<List> texts_of(const toml::array& array) {
  List list;
  for (const toml::node& element : array) {
    const auto* text = element.as_string();
    if (text == nullptr) return std::nullopt;
    list.push_back(text->get());
  }
  return list;
}

std::optional<std::vector<List>> lists_of(const toml::array& array) {
  std::vector<List> lists;
  for (const toml::node& element : array) {
    const toml::array* inner = element.as_array();
    std::optional<List> texts = inner ? texts_of(*inner) : std::nullopt;
    if (!texts) return std::nullopt;
    lists.push_back(std::move(*texts));
  }
  return lists;
}

// Absent for what no key can hold: dates, mixed lists.
std::optional<Value> value_of(const toml::node& node) {
  if (const auto* b = node.as_boolean()) return Value(b->get());
  if (const auto* i = node.as_integer()) return Value(i->get());
  if (const auto* d = node.as_floating_point()) return Value(d->get());
  if (const auto* s = node.as_string()) return Value(s->get());
  const toml::array* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  if (std::optional<List> texts = texts_of(*array)) return Value(std::move(*texts));
  if (std::optional<std::vector<List>> lists = lists_of(*array)) return Value(std::move(*lists));
  return std::nullopt;
}

class Reader {
 public:
  Reader(Draft& draft, const File& file) : draft_(draft), file_(file) {}

  void read_table(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      if (draft_.problems.size() >= enough_problems) return;
      const std::string name(key.str());
      const bool plain = name.find('.') == std::string::npos;  // "a.b" in quotes is one odd name
      const std::string path = prefix.empty() ? name : prefix + "." + name;
      if (plain && is_section(path)) {
        read_section(path, key, node);
      } else if (const Key* known = plain ? find_key(path) : nullptr) {
        read_value(*known, node);
      } else if (const toml::table* inner = node.as_table()) {
        unknown_section(path, key, *inner);
      } else {
        fail(base::format("unknown key {}", show(path)), header_of(file_, key, node),
             did_you_mean(suggest_key(path)));
      }
    }
  }

 private:
  void read_section(const std::string& path, const toml::key& key, const toml::node& node) {
    if (const toml::table* inner = node.as_table()) return read_table(*inner, path);
    fail(base::format("{} is a section, not {}", path, type_of(node)), header_of(file_, key, node),
         base::format("write [{}]", path));
  }

  void read_value(const Key& known, const toml::node& node) {
    if (std::optional<Value> value = value_of(node)) {
      return assign(draft_, known, std::move(*value), origin_of(file_, node.source()));
    }
    draft_.broken[key_index(known.name)] = true;
    fail(base::format("{} is {}: expected {}", known.name, type_of(node), expectation(known)),
         origin_of(file_, node.source()), "");
  }

  // One problem for all keys of a section that does not exist.
  void unknown_section(const std::string& path, const toml::key& key, const toml::table& inner) {
    constexpr size_t shown = 5;
    List names;
    for (const auto& [inner_key, node] : inner) {
      if (names.size() == shown) {
        names.push_back("...");
        break;
      }
      names.push_back(show(path + "." + std::string(inner_key.str())));
    }
    const std::string message = names.empty()
                                    ? base::format("unknown section {}", show(path))
                                    : base::format("unknown key{} {}", names.size() > 1 ? "s" : "",
                                                   base::join(names, ", "));
    List sections;
    for (const Section& section : all_sections()) sections.emplace_back(section.name);
    sections.emplace_back("quantize");
    fail(message, header_of(file_, key, inner), did_you_mean(base::nearest(path, sections)));
  }

  void fail(std::string message, Origin at, std::string hint) {
    draft_.problems.push_back({std::move(message), std::move(at), std::move(hint)});
  }

  Draft& draft_;
  const File& file_;
};

// The length of the character at the start of `text`, 0 when there is none in UTF-8.
size_t character_length(std::string_view text) {
  for (size_t length = 1; length <= std::min<size_t>(4, text.size()); ++length) {
    if (base::is_valid_utf8(text.substr(0, length))) return length;
  }
  return 0;
}

// Line and column of the first byte that is not UTF-8; bytes past ASCII are shown as '?'.
Problem not_utf8(const File& file) {
  Problem problem{"not valid UTF-8",
                  {.from = Origin::From::file, .name = std::string(file.name), .width = 1},
                  "save the file as UTF-8"};
  for (const std::string& line : file.lines) {
    ++problem.at.line;
    if (base::is_valid_utf8(line)) continue;
    size_t place = 0;
    while (const size_t length = character_length(std::string_view(line).substr(place))) {
      place += length;
    }
    problem.at.column = static_cast<int>(place) + 1;
    for (const char c : line)
      problem.at.line_text += static_cast<unsigned char>(c) < 0x80 ? c : '?';
    break;
  }
  return problem;
}

// Walks over TOML text outside strings and comments, and finds a key of absurdly many parts: each
// part is a table in a table, and toml++ takes them apart by recursion, which would end the stack.
class KeyDepth {
 public:
  explicit KeyDepth(std::string_view text) : text_(text) {}

  // Offset of the part that is too deep, or npos.
  size_t find_too_deep() {
    int dots = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '.') ++dots;
      if (std::string_view("=,{}[]\n").find(c) != std::string_view::npos) dots = 0;
      if (dots > deepest) return at_;
      ++at_;
    }
    return std::string_view::npos;
  }

 private:
  static constexpr int deepest = 32;  // our keys have four parts

  // A string ends at its quote or, when it has a single quote mark, at the end of the line.
  void skip_string(char quote) {
    const std::string_view triple = quote == '"' ? "\"\"\"" : "'''";
    const bool many_lines = text_.substr(at_).starts_with(triple);
    at_ += many_lines ? 3 : 1;
    while (at_ < text_.size()) {
      if (text_[at_] == '\\' && quote == '"') {
        at_ += 2;
      } else if (many_lines && text_.substr(at_).starts_with(triple)) {
        at_ += 3;
        return;
      } else if (!many_lines && (text_[at_] == quote || text_[at_] == '\n')) {
        ++at_;
        return;
      } else {
        ++at_;
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

// The place of an offset into the text.
Origin origin_at(const File& file, size_t offset) {
  Origin origin{.from = Origin::From::file, .name = std::string(file.name), .line = 1, .width = 1};
  for (const std::string& line : file.lines) {
    if (offset <= line.size()) {
      origin.column = static_cast<int>(offset) + 1;
      set_excerpt(origin, line);
      break;
    }
    offset -= line.size() + 1;
    ++origin.line;
  }
  return origin;
}

// toml++ begins its messages with "Error while parsing X: ".
std::string syntax_message(std::string_view description) {
  const std::string_view prefix = "Error while parsing ";
  if (description.starts_with(prefix)) description.remove_prefix(prefix.size());
  return "not TOML: " + std::string(description);
}

}  // namespace

void read_toml(Draft& draft, std::string_view text, std::string_view file_name) {
  const File file{file_name, base::split(text, '\n')};
  if (!base::is_valid_utf8(text)) {
    draft.problems.push_back(not_utf8(file));
    return;
  }
  if (const size_t deep = KeyDepth(text).find_too_deep(); deep != std::string_view::npos) {
    draft.problems.push_back({"a key of more than 32 parts", origin_at(file, deep)});
    return;
  }
  try {
    Reader(draft, file).read_table(toml::parse(text), "");
  } catch (const toml::parse_error& error) {
    Problem problem{syntax_message(error.description()), origin_of(file, error.source())};
    draft.problems.push_back(std::move(problem));
  }
}

}  // namespace config
