// Words of a graph text, with their places; the errors that point at them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace graph::text {

struct Token {
  enum class Kind : uint8_t {
    end,
    word,    // a name, perhaps with its path: u0, layers.1.moe:u0
    value,   // the same after %: %out, %layers.1.moe:out, %:out
    scope,   // a path after @
    number,  // 12, 0.5, 1e-06
    text,    // "...", still escaped
    punct,   // one of { } ( ) [ ] , = : * + - == <= >= < > ..
  };
  Kind kind = Kind::end;
  uint32_t begin = 0, size = 0;  // bytes of the source, without the mark (% or @) or the quotes
  uint32_t line = 1;
};

// An error at a place of the text; an error without a place is caught and given one.
class ReadError : public base::UserError {
  using UserError::UserError;
};

class Source {
 public:
  Source(std::string_view text, std::string_view file);  // reads all words, or throws ReadError

  const Token& operator[](size_t i) const { return tokens_[i]; }
  size_t size() const { return tokens_.size(); }  // the last is Kind::end
  std::string_view view(const Token& t) const { return text_.substr(t.begin, t.size); }
  // "file:line:column: message", the line, and a caret below the column.
  [[noreturn]] void fail_at(const Token& token, const std::string& message) const;
  // As a message names it: `word` or "the end of the file".
  std::string describe(const Token& token) const;

 private:
  [[noreturn]] void fail(size_t place, uint32_t line, const std::string& message) const;
  void read_all();
  void skip_blanks();
  Token next();
  Token string_token();
  Token number_token();
  Token punct_token();
  size_t path_end(size_t at) const;
  char peek(size_t at) const { return at < text_.size() ? text_[at] : '\0'; }

  std::string_view text_, file_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  uint32_t line_ = 1;
};

bool starts_name(char c);     // letter or _
bool continues_name(char c);  // letter, digit or _

}  // namespace graph::text
