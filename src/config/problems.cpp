// Problems as text with file, line, column and caret; checks of single values.
#include "config/problems.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace config {
namespace {

constexpr size_t longest_shown = 80;  // characters of a user's text in a message
constexpr size_t most_problems = 20;  // printed; the rest is a count

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// The characters of valid UTF-8; control characters would steer the terminal and become '?'.
List characters(std::string_view text) {
  List out;
  for (const char c : text) {
    if (starts_character(c) || out.empty()) {
      const auto byte = static_cast<unsigned char>(c);
      out.emplace_back(1, (byte < 0x20 && c != '\t') || byte == 0x7F ? '?' : c);
    } else {
      out.back() += c;
    }
  }
  return out;
}

}  // namespace

std::string clip(std::string_view text) {
  const List all = characters(text);
  std::string out;
  for (size_t i = 0; i < std::min(all.size(), longest_shown); ++i) {
    out += all[i] == "\t" ? " " : all[i];
  }
  return all.size() > longest_shown ? out + "..." : out;
}

namespace {

// The line and the carets under it.
std::string excerpt(const Origin& at, const std::string& hint) {
  const List line = characters(at.line_text);
  const size_t place = std::min<size_t>(at.mark - 1, line.size());
  std::string text, mark;
  for (size_t i = 0; i < line.size(); ++i) {
    text += line[i];
    if (i < place) mark += line[i] == "\t" ? '\t' : ' ';
  }
  const size_t room = std::max<size_t>(1, line.size() - place);
  mark += std::string(std::clamp<size_t>(at.width, 1, room), '^');
  std::string out = base::format(" {:4d} | {}\n      | {}", at.line, text, mark);
  return hint.empty() ? out : out + " " + hint;
}

std::string to_text(const Problem& problem) {
  std::string out = problem.message;
  switch (problem.at.from) {
    case Origin::From::file:
      out += "\n  --> " + clip(problem.at.name);
      if (problem.at.line == 0) break;
      out += base::format(":{}:{}\n", problem.at.line, problem.at.column);
      return out + excerpt(problem.at, problem.hint);
    case Origin::From::command_line:
      out += "\n  --> command line: " + clip(problem.at.name);
      break;
    case Origin::From::fallback:
    case Origin::From::flavor:
      break;
  }
  return problem.hint.empty() ? out : out + "\n      " + problem.hint;
}

// Brings a value to the type of the key where that loses nothing.
void convert(const Key& key, Value& value) {
  const std::string* text = std::get_if<std::string>(&value);
  if (key.optional && text && (*text == "none" || *text == "None")) {
    value = std::monostate{};
  } else if (key.kind == Kind::real && std::holds_alternative<int64_t>(value)) {
    value = static_cast<double>(std::get<int64_t>(value));
  } else if (key.kind == Kind::list && key.takes_text && text) {
    value = List{*text};
  } else if (key.kind == Kind::list_of_lists && std::holds_alternative<List>(value) &&
             std::get<List>(value).empty()) {
    value = std::vector<List>{};
  }
}

bool has_type(const Key& key, const Value& value) {
  switch (key.kind) {
    case Kind::boolean:
      return std::holds_alternative<bool>(value);
    case Kind::integer:
      return std::holds_alternative<int64_t>(value);
    case Kind::real:
      return std::holds_alternative<double>(value);
    case Kind::text:
      return std::holds_alternative<std::string>(value);
    case Kind::list:
      return std::holds_alternative<List>(value);
    case Kind::list_of_lists:
      return std::holds_alternative<std::vector<List>>(value);
  }
  return false;
}

std::string hint_for_type(const Key& key, const Value& value, const Origin& origin) {
  const bool number = key.kind == Kind::integer || key.kind == Kind::real;
  if (origin.from == Origin::From::file && std::holds_alternative<std::string>(value)) {
    if (number) return "write it without quotes";
    if (key.kind == Kind::list) return "write it in brackets: [\"...\"]";
  }
  return {};
}

// The first text that is not among the choices; null when all are.
const std::string* outside(const std::vector<std::string_view>& choices, const Value& value) {
  if (choices.empty()) return nullptr;
  const auto unknown = [&](const std::string& text) {
    return std::ranges::find(choices, text) == choices.end();
  };
  if (const auto* text = std::get_if<std::string>(&value)) return unknown(*text) ? text : nullptr;
  const auto* list = std::get_if<List>(&value);
  if (list == nullptr) return nullptr;
  const auto found = std::ranges::find_if(*list, unknown);
  return found == list->end() ? nullptr : &*found;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// The choice that differs only in case, or else the nearest.
std::string nearest_choice(const std::string& text, const Key& key) {
  for (const std::string_view choice : key.choices) {
    if (lower(choice) == lower(text)) return std::string(choice);
  }
  return base::nearest(text, List(key.choices.begin(), key.choices.end()));
}

bool holds_nul(const Value& value) {
  const auto nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (const auto* text = std::get_if<std::string>(&value)) return nul(*text);
  const auto* list = std::get_if<List>(&value);
  return list && std::ranges::any_of(*list, nul);
}

// Empty when the value is allowed.
std::string refusal(const Key& key, const Value& value, std::string& hint) {
  if (holds_nul(value)) {
    return base::format("{} holds a character with code 0, which no name or path may", key.name);
  }
  if (const std::string* text = outside(key.choices, value)) {
    hint = did_you_mean(nearest_choice(*text, key));
    const bool in_list = key.kind == Kind::list;
    return base::format("{} {} {}: expected one of {}", key.name, in_list ? "has" : "is",
                        show(*text), allowed_values(key));
  }
  double number = 0;
  if (const auto* i = std::get_if<int64_t>(&value)) {
    number = static_cast<double>(*i);
  } else if (const auto* d = std::get_if<double>(&value)) {
    number = *d;
  } else {
    return {};
  }
  if (in_range(key.range, number)) return {};
  std::string allowed = allowed_values(key);
  const bool hidden_bound = key.range.high >= largest_stated && number > key.range.high;
  if (hidden_bound) allowed = base::format("at most {}", key.range.high);
  return base::format("{} is {}: expected {}", key.name, to_toml(value), allowed);
}

}  // namespace

std::string to_text(const Origin& origin) {
  switch (origin.from) {
    case Origin::From::fallback:
      return "default";
    case Origin::From::flavor:
      return "flavor " + clip(origin.name);
    case Origin::From::file:
      return base::format("{}:{}", clip(origin.name), origin.line);
    case Origin::From::command_line:
      return "command line";
  }
  return {};
}

std::string expectation(const Key& key) {
  switch (key.kind) {
    case Kind::boolean:
      return "true or false";
    case Kind::integer:
      return "an integer";
    case Kind::real:
      return "a number";
    case Kind::text:
      return "text in quotes";
    case Kind::list:
      return "a list of texts";
    case Kind::list_of_lists:
      return "a list of lists of texts";
  }
  return {};
}

std::string show(std::string_view text) { return "\"" + clip(text) + "\""; }

std::string did_you_mean(std::string_view suggestion) {
  return suggestion.empty() ? "" : base::format("did you mean \"{}\"?", suggestion);
}

std::string to_text(std::vector<Problem> problems) {
  std::ranges::stable_sort(problems, [](const Problem& a, const Problem& b) {
    const auto place = [](const Problem& p) {
      const bool flag = p.at.from == Origin::From::command_line;
      return std::tuple(flag, p.at.line, p.at.column);
    };
    return place(a) < place(b);
  });
  std::string out;
  const size_t printed = std::min(problems.size(), most_problems);
  for (size_t i = 0; i < printed; ++i) {
    if (i > 0) out += "\n\nerror: ";
    out += to_text(problems[i]);
  }
  if (printed < problems.size()) {
    out += base::format("\n\nand {} more errors", problems.size() - printed);
  }
  return out;
}

void assign(Draft& draft, const Key& key, Value value, Origin origin) {
  const size_t index = key_index(key.name);
  convert(key, value);
  Problem problem;
  if (!std::holds_alternative<std::monostate>(value)) {
    if (!has_type(key, value)) {
      problem.message =
          base::format("{} is {}: expected {}", key.name, clip(to_toml(value)), expectation(key));
      problem.hint = hint_for_type(key, value, origin);
    } else {
      problem.message = refusal(key, value, problem.hint);
    }
  }
  if (problem.message.empty()) {
    draft.assignments.push_back({index, std::move(value), std::move(origin)});
    return;
  }
  problem.at = std::move(origin);
  draft.problems.push_back(std::move(problem));
  draft.broken[index] = true;
}

}  // namespace config
