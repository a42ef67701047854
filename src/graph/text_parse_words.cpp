// Words of a graph text as the reader takes them: loop numbers, ranges, names and what they mean.
#include <charconv>

#include "base/text.h"
#include "graph/text_reader.h"

namespace graph::text {
namespace {

constexpr size_t max_suggested = 64;  // a longer word gets no suggestion

// Splits "layers.1:u12" into "layers.1:u" and 12; -1 where no number ends it.
std::pair<std::string_view, int64_t> split_number(std::string_view text) {
  size_t digits = text.size();
  while (digits > 0 && text[digits - 1] >= '0' && text[digits - 1] <= '9') --digits;
  const std::string_view tail = text.substr(digits);
  int64_t number = -1;
  if (!tail.empty() && tail.size() <= 18 && (tail.size() == 1 || tail[0] != '0')) {
    std::from_chars(tail.data(), tail.data() + tail.size(), number);
  }
  return {text.substr(0, digits), number};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

const Token& Reader::peek(size_t ahead) const {
  return source_[std::min(at_ + ahead, source_.size() - 1)];
}

bool Reader::is(std::string_view word, size_t ahead) const {
  const Token& t = peek(ahead);
  return t.size == word.size() && (t.kind == Token::Kind::punct || t.kind == Token::Kind::word) &&
         source_.view(t) == word;
}

bool Reader::take_if(std::string_view word) {
  if (!is(word)) return false;
  ++at_;
  return true;
}

void Reader::expect(std::string_view word) {
  if (!take_if(word)) fail_here(base::format("'{}'", word));
}

void Reader::fail_here(const std::string& expected) const {
  source_.fail_at(peek(),
                  base::format("expected {}, found {}", expected, source_.describe(peek())));
}

// Puts the numbers of loops into a name: $e, ${e}, ${e+1}, ${e-1}.
std::string Reader::expand(const Token& token, std::string_view raw) const {
  if (raw.find('$') == std::string_view::npos) return std::string(raw);
  std::string out;
  for (size_t i = 0; i < raw.size();) {
    if (raw[i] == '$') {
      out += expand_loop(token, raw, i);
    } else {
      out += raw[i++];
    }
  }
  return out;
}

std::string Reader::expand_loop(const Token& token, std::string_view raw, size_t& at) const {
  const bool braced = ++at < raw.size() && raw[at] == '{';
  if (braced) ++at;
  const size_t begin = at;
  while (at < raw.size() && continues_name(raw[at])) ++at;
  const std::string name(raw.substr(begin, at - begin));
  int64_t ahead = 0;
  if (braced) {
    const size_t sign = at;
    if (at < raw.size() && (raw[at] == '+' || raw[at] == '-')) ++at;
    const size_t digits = at;
    while (at < raw.size() && at - digits < 18 && raw[at] >= '0' && raw[at] <= '9') ++at;
    std::from_chars(raw.data() + digits, raw.data() + at, ahead);
    const bool odd = at >= raw.size() || raw[at] != '}' || (sign < digits) != (digits < at);
    if (odd) source_.fail_at(token, "expected a loop number like $e, ${e} or ${e+1}");
    if (sign < digits && raw[sign] == '-') ahead = -ahead;
    ++at;
  }
  for (const auto& [loop, number] : loops_) {
    if (loop != name) continue;
    if (number + ahead < 0) {
      source_.fail_at(
          token, base::format("${{{}{:+}}} is negative when {} is {}", name, ahead, name, number));
    }
    return std::to_string(number + ahead);
  }
  source_.fail_at(token, name.empty() ? "expected the name of a loop after $"
                                      : base::format("${} names no loop around this place", name));
}

// A name may start with a colon of its own: `:T` is T of the top scope.
Word Reader::take_word(std::string_view what) {
  std::string path;
  if (is(":") && peek(1).kind == Token::Kind::word && peek(1).begin == peek().begin + 1) {
    ++at_;
    path = ":";
  }
  if (peek().kind != Token::Kind::word) fail_here(std::string(what));
  const Token& t = take();
  const std::string name = expand(t, source_.view(t));
  if (!path.empty() && name.find(':') != std::string::npos) {
    source_.fail_at(t, "expected one ':' in a name");
  }
  return {&t, path + name};
}

Word Reader::take_value() {
  if (peek().kind != Token::Kind::value) fail_here("a value like %x");
  const Token& t = take();
  return {&t, expand(t, source_.view(t))};
}

std::vector<Word> Reader::take_words(Token::Kind kind, std::string_view what) {
  std::vector<Word> out;
  do {
    Word first = kind == Token::Kind::value ? take_value() : take_word(what);
    if (is("..")) {
      take_range(out, std::move(first), what);
    } else {
      out.push_back(std::move(first));
    }
  } while (take_if(","));
  return out;
}

// "x0..x7": the names between, whose numbers count up by one. The end has the path of the
// beginning.
void Reader::take_range(std::vector<Word>& out, Word first, std::string_view what) {
  expect("..");
  Word last = first.token->kind == Token::Kind::value ? take_value() : take_word(what);
  const size_t colon = first.text.rfind(':');
  if (colon != std::string::npos && last.text.find(':') == std::string::npos) {
    last.text = first.text.substr(0, colon + 1) + last.text;
  }
  const auto [stem, begin] = split_number(first.text);
  const auto [last_stem, end] = split_number(last.text);
  if (stem != last_stem || begin < 0 || end < begin) {
    source_.fail_at(*last.token,
                    base::format("a range goes from a name to one with a higher number, like "
                                 "x0..x7; found {}..{}",
                                 first.text, last.text));
  }
  count_members(*first.token, end - begin + 1);
  for (int64_t i = begin; i <= end; ++i) {
    out.push_back({first.token, std::string(stem) + std::to_string(i)});
  }
}

void Reader::count_members(const Token& at, int64_t members) {
  const bool fits = members <= limits_.members - members_;
  if (!fits) {
    source_.fail_at(at, base::format("the ranges of this text have more than {} members",
                                     base::with_commas(static_cast<uint64_t>(limits_.members))));
  }
  members_ += members;
}

std::string Reader::take_string() {
  if (peek().kind != Token::Kind::text) fail_here("a string in quotes");
  const Token& t = take();
  const std::string_view raw = source_.view(t);
  std::string out;
  for (size_t i = 0; i < raw.size();) {
    if (raw[i] == '$') {
      out += expand_loop(t, raw, i);
    } else if (raw[i] != '\\') {
      out += raw[i++];
    } else {
      const char c = i + 1 < raw.size() ? raw[i + 1] : '\0';
      i += 2;
      if (c == '"' || c == '\\' || c == '$') {
        out += c;
      } else if (c == 'n' || c == 't') {
        out += c == 'n' ? '\n' : '\t';
      } else if (c == 'x' && i + 1 < raw.size() && hex_digit(raw[i]) >= 0 &&
                 hex_digit(raw[i + 1]) >= 0) {
        out += static_cast<char>(hex_digit(raw[i]) * 16 + hex_digit(raw[i + 1]));
        i += 2;
      } else {
        source_.fail_at(t, "a string knows the escapes \\\" \\\\ \\$ \\n \\t \\x00 to \\xff");
      }
    }
  }
  return out;
}

int64_t Reader::take_integer(std::string_view what) {
  const Token& first = peek();
  std::string digits = take_if("-") ? "-" : "";
  if (peek().kind != Token::Kind::number) fail_here(std::string(what));
  digits += source_.view(take());
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    source_.fail_at(first, base::format("{} is beyond 64 bits", digits.substr(0, 60)));
  }
  if (error != std::errc() || end != digits.data() + digits.size()) {
    source_.fail_at(first, base::format("expected {}, found {}", what, digits.substr(0, 60)));
  }
  return value;
}

double Reader::take_number(std::string_view what) {
  const Token& first = peek();
  const bool negative = take_if("-");
  std::string digits(view());
  const bool word = is("inf") || is("nan");
  if (peek().kind != Token::Kind::number && !word) fail_here(std::string(what));
  ++at_;
  double value = 0;
  const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), value).ec;
  if (error == std::errc::result_out_of_range) {
    source_.fail_at(first, base::format("{} is beyond double precision", digits.substr(0, 60)));
  }
  return negative ? -value : value;
}

// Where a definition belongs, and its bare name.
std::pair<ScopeId, std::string> Reader::place_of(const Word& word) {
  const size_t colon = word.text.rfind(':');
  std::string name = colon == std::string::npos ? word.text : word.text.substr(colon + 1);
  if (name.find('.') != std::string::npos || !starts_name(name[0])) {
    source_.fail_at(*word.token,
                    base::format("expected a name of letters, digits and _ to define, or its path, "
                                 "a colon and the name, found {}",
                                 word.text));
  }
  if (colon == std::string::npos) return {b_->scope(), std::move(name)};
  return {enter(*word.token, word.text.substr(0, colon)), std::move(name)};
}

ScopeId Reader::enter(const Token& at, const std::string& path) {
  if (!path.empty() && !starts_name(path[0])) {
    source_.fail_at(at, "the path of a scope starts with a letter or _");
  }
  const ScopeId scope = b_->scope_id(path);
  scopes_.emplace(path, scope);
  return scope;
}

uint32_t Reader::find(const NameTable& table, const Word& word, bool value) const {
  const size_t colon = word.text.rfind(':');
  if (colon != std::string::npos) {
    const auto scope = scopes_.find(word.text.substr(0, colon));
    const auto id = scope == scopes_.end()
                        ? std::nullopt
                        : table.qualified(scope->second, word.text.substr(colon + 1));
    if (!id) fail_unknown(table, word, value);
    return *id;
  }
  const NameTable::Meaning meaning = table.bare(b_->scope(), word.text);
  if (meaning.count == 0) fail_unknown(table, word, value);
  if (meaning.count > 1) {
    source_.fail_at(
        *word.token,
        base::format("{}{} could be any of {} in other scopes; write it with its path, "
                     "like {}layers.1:{}",
                     value ? "%" : "", word.text, meaning.count, value ? "%" : "", word.text));
  }
  return meaning.id;
}

void Reader::fail_unknown(const NameTable& table, const Word& word, bool value) const {
  const std::string_view sigil = value ? "%" : "";
  const std::string_view kind = value ? "value" : "size";
  // Is it defined further down, first on its line?
  const std::string_view raw = source_.view(*word.token);
  for (size_t i = at_; i + 1 < source_.size(); ++i) {
    const Token& t = source_[i];
    if (t.kind != word.token->kind || t.line == source_[i - 1].line || source_.view(t) != raw) {
      continue;
    }
    source_.fail_at(*word.token, base::format("{} {}{} is used before its birth in line {}", kind,
                                              sigil, word.text, t.line));
  }
  std::string nearest;
  const std::string name = word.text.substr(word.text.rfind(':') + 1);
  if (name.size() <= max_suggested) nearest = base::nearest(name, table.names());
  std::string hint;
  if (nearest == name) {
    hint = base::format("; there is a {}{} in another scope", sigil, name);
  } else if (!nearest.empty()) {
    hint = base::format("; did you mean {}{}", sigil, nearest);
  }
  source_.fail_at(*word.token,
                  base::format("unknown {} {}{}{}", kind, sigil, word.text.substr(0, 200), hint));
}

void Reader::need_new(const NameTable& table, ScopeId scope, const Word& word, bool value) const {
  const std::string_view name =
      std::string_view(word.text).substr(word.text.rfind(':') + 1);  // npos + 1 is 0
  if (!table.qualified(scope, name)) return;
  const std::string& path = b_->graph().scopes[scope.id];
  source_.fail_at(*word.token, base::format("{} {}{} is already defined {}",
                                            value ? "value" : "size", value ? "%" : "", name,
                                            path.empty() ? "at the top" : "in scope " + path));
}

std::vector<Value> Reader::take_values() {
  std::vector<Value> out;
  for (const Word& w : take_words(Token::Kind::value, "a value like %x")) {
    out.push_back(find_value(w));
  }
  return out;
}

}  // namespace graph::text
