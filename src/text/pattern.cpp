// Rewrites what the two engines read differently and refuses what cannot be rewritten, so that a
// pattern never means something else than in the Hugging Face library.
#include "text/pattern.h"

#include <algorithm>

#include "base/error.h"
#include "text/unicode.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace text {

using base::Exit;
using base::fail_user;

struct Pattern::Compiled {
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() { pcre2_code_free(code); }
  pcre2_code* code = nullptr;
};

namespace {

// White_Space; PCRE2's own \s has U+180E besides.
constexpr std::string_view space_set =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"
    "\\x{205f}\\x{3000}";

class Translator {
 public:
  Translator(std::string_view source, std::string_view where) : source_(source), where_(where) {}

  std::string run() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '\\') {
        escape();
      } else if (in_class_) {
        class_char(c);
      } else {
        if (c == '[') open_class();
        if (c == '(' && peek(1) == '*') refuse("(*");
        copy(1);
      }
    }
    return out_;
  }

 private:
  char peek(size_t ahead) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  void copy(size_t count) {
    out_ += source_.substr(at_, count);
    at_ += count;
  }
  [[noreturn]] void refuse(std::string_view what) const {
    fail_user(
        Exit::data,
        "{}: \"{}\" at offset {} of the pattern is not supported: PCRE2 and Oniguruma read it "
        "differently",
        where_, what, at_);
  }
  void open_class() {
    in_class_ = true;
    class_first_ = at_ + (peek(1) == '^' ? 2 : 1);
  }
  void class_char(char c) {
    if (c == ']' && at_ != class_first_) in_class_ = false;
    if (c == '[') refuse("[ inside [ ]");  // nested sets and [:names:]
    if (c == '&' && peek(1) == '&') refuse("&&");
    copy(1);
  }
  void escape() {
    const char c = peek(1);
    switch (c) {
      case 's':
        out_ += in_class_ ? std::string(space_set) : base::format("[{}]", space_set);
        at_ += 2;
        return;
      case 'S':
        if (in_class_) refuse("\\S inside [ ]");
        out_ += base::format("[^{}]", space_set);
        at_ += 2;
        return;
      case 'p':
      case 'P':
        property();
        return;
      case 'u':
        code_point();
        return;
      case 'd':
      case 'D':
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'x':
        copy(2);
        return;
      default:
        break;
    }
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_word || c == '\0') refuse(source_.substr(at_, 2));
    copy(2);
  }
  // Oniguruma's \p{Han} is the script; PCRE2's takes script extensions in.
  void property() {
    const size_t close = source_.find('}', at_);
    if (peek(2) != '{' || close == std::string_view::npos) refuse("\\p without { }");
    const std::string_view name = source_.substr(at_ + 3, close - at_ - 3);
    const bool category = !name.empty() && name.size() <= 2;
    const bool known_script = name == "Han" || name == "Hiragana" || name == "Katakana" ||
                              name == "Hangul" || name == "Latin" || name == "Greek" ||
                              name == "Cyrillic" || name == "Arabic" || name == "Thai";
    if (!category && !known_script) refuse(source_.substr(at_, close + 1 - at_));
    out_ += base::format("\\{}{{{}{}}}", peek(1), category ? "" : "sc:", name);
    at_ = close + 1;
  }
  void code_point() {
    const std::string_view digits = source_.substr(std::min(at_ + 2, source_.size()), 4);
    if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos) {
      refuse("\\u without four hex digits");
    }
    out_ += base::format("\\x{{{}}}", digits);
    at_ += 6;
  }

  std::string_view source_, where_;
  std::string out_;
  size_t at_ = 0;
  size_t class_first_ = 0;  // where a ] would be a member of its class
  bool in_class_ = false;
};

std::string error_text(int code) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(code, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

struct MatchData {
  explicit MatchData(const pcre2_code* code)
      : data(pcre2_match_data_create_from_pattern(code, nullptr)) {}
  MatchData(const MatchData&) = delete;
  MatchData& operator=(const MatchData&) = delete;
  ~MatchData() { pcre2_match_data_free(data); }
  pcre2_match_data* data;
};

}  // namespace

Pattern Pattern::regex(std::string_view source, std::string_view where) {
  constexpr size_t max_pattern_bytes = 64 << 10;  // published patterns have a few hundred
  if (source.size() > max_pattern_bytes) {
    fail_user(Exit::data, "{}: a pattern of {} bytes, at most {} are read", where, source.size(),
              max_pattern_bytes);
  }
  const std::string translated = Translator(source, where).run();
  auto compiled = std::make_shared<Compiled>();
  int code = 0;
  PCRE2_SIZE offset = 0;
  compiled->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &offset, nullptr);
  if (!compiled->code) {
    fail_user(Exit::data, "{}: the pattern does not compile: {}", where, error_text(code));
  }
  // Without JIT (an exotic build of PCRE2, or no executable memory) the interpreter is used.
  pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE);
  Pattern pattern;
  pattern.source_ = source;
  pattern.compiled_ = std::move(compiled);
  return pattern;
}

Pattern Pattern::literal(std::string_view source) {
  Pattern pattern;
  pattern.source_ = source;
  return pattern;
}

void Pattern::find_all(std::string_view subject, std::vector<Match>& matches) const {
  matches.clear();
  if (!compiled_) {
    if (source_.empty()) return;
    for (size_t at = subject.find(source_); at != subject.npos;
         at = subject.find(source_, at + source_.size())) {
      matches.push_back({at, at + source_.size()});
    }
    return;
  }
  const MatchData data(compiled_->code);
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data.data);
  size_t at = 0;
  while (at <= subject.size()) {
    const int count = pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(subject.data()),
                                  subject.size(), at, PCRE2_NO_UTF_CHECK, data.data, nullptr);
    if (count == PCRE2_ERROR_NOMATCH) return;
    if (count < 0) {
      fail_user(Exit::data, "tokenizer pattern \"{}\" gave up at byte {} of a text of {} bytes: {}",
                source_, at, subject.size(), error_text(count));
    }
    const Match match{range[0], range[1]};
    const bool empty = match.end <= match.begin;  // \K in a look-ahead may even turn it round
    const bool follows = !matches.empty() && matches.back().end >= match.begin;
    if (!empty || !follows) matches.push_back({match.begin, std::max(match.begin, match.end)});
    at = match.end;
    if (empty) {
      if (at >= subject.size()) return;
      at = match.begin + code_point_at(subject, match.begin).bytes;
    }
  }
}

}  // namespace text
