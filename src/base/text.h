// Text formatting: `format("{} of {}", a, b)` in fmt's syntax, without fmt in the header.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace base {

// One argument of `format`. Any type with a free function `to_text(const T&)` found by ADL formats.
struct FormatArg {
  enum class Kind { boolean, character, signed_int, unsigned_int, real, text };
  template <class T>
  FormatArg(const T& value) {  // NOLINT: implicit by design
    if constexpr (std::is_same_v<T, bool>) {
      kind = Kind::boolean, i = value;
    } else if constexpr (std::is_same_v<T, char>) {
      kind = Kind::character, i = value;
    } else if constexpr (std::is_same_v<T, float>) {
      kind = Kind::real, r = value, single = true;
    } else if constexpr (std::is_floating_point_v<T>) {
      kind = Kind::real, r = value;
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      kind = Kind::signed_int, i = value;
    } else if constexpr (std::is_integral_v<T>) {
      kind = Kind::unsigned_int, u = value;
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      kind = Kind::text, s = std::string_view(value);
    } else {
      kind = Kind::text, owned = to_text(value), s = {}, is_owned = true;
    }
  }
  std::string_view view() const { return is_owned ? std::string_view(owned) : s; }

  Kind kind;
  int64_t i = 0;
  uint64_t u = 0;
  double r = 0;
  std::string_view s;
  std::string owned;
  bool single = false;  // a float: the shortest form that reads back as float
  bool is_owned = false;
};

std::string vformat(std::string_view pattern, std::span<const FormatArg> args);

// fmt's syntax. Throws InternalError when the pattern does not fit the arguments.
template <class... Args>
std::string format(std::string_view pattern, const Args&... args) {
  if constexpr (sizeof...(Args) == 0) {
    return vformat(pattern, {});
  } else {
    const FormatArg list[] = {FormatArg(args)...};
    return vformat(pattern, list);
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
bool is_valid_utf8(std::string_view text);

// The candidate nearest to `word` by edit distance, or empty when none is close enough to suggest.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "1.5 GiB", "7.92%", "9,812".
std::string human_bytes(uint64_t bytes);
std::string with_commas(uint64_t value);

}  // namespace base
