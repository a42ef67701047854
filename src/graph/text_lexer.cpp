// Reads the words of a graph text.
#include "graph/text_lexer.h"

#include <algorithm>

#include "base/text.h"

namespace graph::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

constexpr size_t max_shown = 140;  // bytes of a line that an error repeats

}  // namespace

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || is_digit(c); }

Source::Source(std::string_view text, std::string_view file) : text_(text), file_(file) {
  if (text.size() > UINT32_MAX / 2) {
    base::fail_user(base::Exit::config, "{}: a graph text of {} is too long, the limit is 2 GiB",
                    file, base::human_bytes(text.size()));
  }
  read_all();
}

void Source::read_all() {
  do {
    skip_blanks();
    tokens_.push_back(next());
  } while (tokens_.back().kind != Token::Kind::end);
}

void Source::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '/' && peek(at_ + 1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      line_ += c == '\n';
      ++at_;
    } else {
      break;
    }
  }
}

// Past the last character of a path that starts at `at`: names between dots, one colon before the
// last name, loop numbers $e or ${e+1} anywhere.
size_t Source::path_end(size_t at) const {
  bool colon = false;
  while (true) {
    const char c = peek(at), after = peek(at + 1);
    if (continues_name(c)) {
      ++at;
    } else if (c == '$') {
      at += 1;
      if (after != '{') continue;
      const size_t close = text_.find_first_of("}\n", at);
      if (close == std::string_view::npos || text_[close] != '}') return at;
      at = close + 1;
    } else if (c == '.' && (continues_name(after) || after == '$')) {
      ++at;
    } else if (c == ':' && !colon && (starts_name(after) || after == '$')) {
      colon = true;
      ++at;
    } else {
      return at;
    }
  }
}

Token Source::next() {
  Token t{Token::Kind::end, static_cast<uint32_t>(at_), 0, line_};
  if (at_ >= text_.size()) return t;
  const char c = text_[at_];
  if (c == '"') return string_token();
  if (is_digit(c)) return number_token();
  const char after = peek(at_ + 1);
  const bool top = c == '%' && after == ':' && (starts_name(peek(at_ + 2)) || peek(at_ + 2) == '$');
  if (starts_name(c) || c == '$') {
    t.kind = Token::Kind::word;
    at_ = path_end(at_);
  } else if (top || (c == '%' && (continues_name(after) || after == '$'))) {
    t.kind = Token::Kind::value;
    ++t.begin;
    at_ = path_end(at_ + (top ? 2 : 1));
  } else if (c == '@' && (continues_name(after) || after == '$')) {
    t.kind = Token::Kind::scope;
    ++t.begin;
    at_ = path_end(at_ + 1);
  } else {
    return punct_token();
  }
  t.size = static_cast<uint32_t>(at_) - t.begin;
  return t;
}

Token Source::string_token() {
  const uint32_t begin = static_cast<uint32_t>(++at_);
  while (true) {
    const char c = peek(at_);
    if (at_ >= text_.size() || c == '\n') fail(begin - 1, line_, "a string has no end on its line");
    if (c == '"') break;
    at_ += c == '\\' && peek(at_ + 1) != '\n' ? 2 : 1;
  }
  const Token t{Token::Kind::text, begin, static_cast<uint32_t>(at_) - begin, line_};
  ++at_;
  if (!base::is_valid_utf8(view(t))) fail(begin - 1, line_, "a string is not valid UTF-8");
  return t;
}

Token Source::number_token() {
  const size_t begin = at_;
  while (is_digit(peek(at_))) ++at_;
  if (peek(at_) == '.' && is_digit(peek(at_ + 1))) {
    ++at_;
    while (is_digit(peek(at_))) ++at_;
  }
  if (peek(at_) == 'e' || peek(at_) == 'E') {
    const size_t sign = peek(at_ + 1) == '+' || peek(at_ + 1) == '-' ? 1 : 0;
    if (is_digit(peek(at_ + 1 + sign))) {
      at_ += 1 + sign;
      while (is_digit(peek(at_))) ++at_;
    }
  }
  if (continues_name(peek(at_))) fail(begin, line_, "a name may not start with a digit");
  return {Token::Kind::number, static_cast<uint32_t>(begin), static_cast<uint32_t>(at_ - begin),
          line_};
}

Token Source::punct_token() {
  const char c = text_[at_], after = peek(at_ + 1);
  Token t{Token::Kind::punct, static_cast<uint32_t>(at_), 1, line_};
  if ((after == '=' && (c == '=' || c == '<' || c == '>')) || (c == '.' && after == '.')) {
    t.size = 2;
  } else if (c == '%' || c == '@') {
    fail(at_, line_, base::format("expected a name right after {}", c));
  } else if (c == '\0' || std::string_view("{}()[],=:*+-<>").find(c) == std::string_view::npos) {
    const bool shown = c > ' ' && c <= '~';
    fail(at_, line_,
         shown ? base::format("unexpected character '{}'", c)
               : base::format("unexpected byte {:#04x}", static_cast<unsigned char>(c)));
  }
  at_ += t.size;
  return t;
}

std::string Source::describe(const Token& t) const {
  if (t.kind == Token::Kind::end) return "the end of the text";
  const std::string_view mark = t.kind == Token::Kind::value   ? "%"
                                : t.kind == Token::Kind::scope ? "@"
                                : t.kind == Token::Kind::text  ? "\""
                                                               : "";
  const bool cut = t.size > 60;
  std::string word(mark);
  word += view(t).substr(0, 60);
  if (cut) return word + "...";
  return t.kind == Token::Kind::text ? word + mark.front() : word;
}

void Source::fail_at(const Token& t, const std::string& message) const {
  if (t.kind == Token::Kind::end && tokens_.size() > 1) {  // right after the last word
    const Token& last = tokens_[tokens_.size() - 2];
    const size_t quote = last.kind == Token::Kind::text ? 1 : 0;
    fail(last.begin + last.size + quote, last.line, message);
  }
  const bool marked =
      t.kind == Token::Kind::value || t.kind == Token::Kind::scope || t.kind == Token::Kind::text;
  fail(t.begin - (marked ? 1 : 0), t.line, message);
}

void Source::fail(size_t place, uint32_t line, const std::string& message) const {
  size_t first = place;
  while (first > 0 && text_[first - 1] != '\n') --first;
  const size_t last = std::min(text_.find('\n', place), text_.size());
  size_t column = 1;
  for (size_t i = first; i < place; ++i) column += !is_continuation(text_[i]);
  // Of a long line, what is around the column.
  size_t from = place - first > max_shown / 2 ? place - max_shown / 2 : first;
  size_t to = std::min(last, from + max_shown);
  while (from > first && is_continuation(text_[from])) --from;
  while (to < last && is_continuation(text_[to])) ++to;
  std::string shown, below;
  if (from > first) shown = below = "...", below = "   ";
  for (size_t i = from; i < to; ++i) {
    const char c = text_[i];
    const bool bad = (c > 0 && c < ' ' && c != '\t') || c == 0x7F || c == '\0';
    shown += bad ? '?' : c;
    if (i < place && !is_continuation(c)) below += c == '\t' ? '\t' : ' ';
  }
  if (to < last) shown += "...";
  while (!shown.empty() && (shown.back() == '?' || shown.back() == ' ') && to == last &&
         shown.size() > below.size() + 1) {
    shown.pop_back();
  }
  std::string text = base::format("{}:{}:{}: {}\n", file_, line, column, message);
  if (!base::is_valid_utf8(shown)) shown = "(this line is not valid UTF-8)";
  throw ReadError(base::Exit::config, text + "  " + shown + "\n  " + below + "^");
}

}  // namespace graph::text
