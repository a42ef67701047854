// A regular expression of a tokenizer.json, with Oniguruma's meaning, run by PCRE2.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace text {

class Pattern {
 public:
  // Fails with exit 3, naming `where`, on a pattern that does not compile or that PCRE2 would read
  // in another way than Oniguruma does.
  static Pattern regex(std::string_view source, std::string_view where);
  static Pattern literal(std::string_view source);

  struct Match {
    size_t begin, end;
  };
  // All matches from left to right; none overlap. An empty match counts, unless it stands right
  // behind another match. `subject` must be valid UTF-8.
  void find_all(std::string_view subject, std::vector<Match>& matches) const;

 private:
  struct Compiled;
  std::string source_;
  std::shared_ptr<const Compiled> compiled_;  // shared: copies of a pattern; null for a literal
};

}  // namespace text
