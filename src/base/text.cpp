// Text formatting over fmt, and small string helpers.
#include "base/text.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace base {

std::string vformat(std::string_view pattern, std::span<const FormatArg> args) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const FormatArg& a : args) {
    switch (a.kind) {
      case FormatArg::Kind::boolean:
        store.push_back(a.i != 0);
        break;
      case FormatArg::Kind::character:
        store.push_back(static_cast<char>(a.i));
        break;
      case FormatArg::Kind::signed_int:
        store.push_back(a.i);
        break;
      case FormatArg::Kind::unsigned_int:
        store.push_back(a.u);
        break;
      case FormatArg::Kind::real:
        if (a.single) {
          store.push_back(static_cast<float>(a.r));
        } else {
          store.push_back(a.r);
        }
        break;
      case FormatArg::Kind::text:
        store.push_back(std::string(a.view()));
        break;
    }
  }
  try {
    return fmt::vformat(fmt::string_view(pattern.data(), pattern.size()), store);
  } catch (const fmt::format_error& e) {
    throw InternalError("bad format pattern \"" + std::string(pattern) + "\": " + e.what());
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator;
    out += parts[i];
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  size_t at = 0;
  while (true) {
    const size_t next = text.find(separator, at);
    if (next == std::string_view::npos) break;
    out.emplace_back(text.substr(at, next - at));
    at = next + 1;
  }
  out.emplace_back(text.substr(at));
  return out;
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool is_valid_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const unsigned char c = text[i];
    if (c < 0x80) {
      ++i;
      continue;
    }
    const int extra = c >= 0xC2 && c <= 0xDF   ? 1
                      : (c & 0xF0) == 0xE0     ? 2
                      : c >= 0xF0 && c <= 0xF4 ? 3
                                               : 0;
    if (extra == 0 || i + extra >= text.size()) return false;
    for (int k = 1; k <= extra; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    const unsigned char second = text[i + 1];
    if ((c == 0xE0 && second < 0xA0) || (c == 0xED && second >= 0xA0) ||
        (c == 0xF0 && second < 0x90) || (c == 0xF4 && second >= 0x90)) {
      return false;
    }
    i += extra + 1;
  }
  return true;
}

namespace {

// Letters inserted, left out, replaced, or swapped with their neighbour (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> last(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], last[j - 2] + 1);
      }
    }
    last.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  if (word.size() > 200) return {};  // no typing error, and the search is quadratic
  // Short words are near almost anything: at most half of the letters may differ.
  size_t best_distance = std::min(std::max<size_t>(2, word.size() / 3), word.size() / 2) + 1;
  for (const std::string& c : candidates) {
    const size_t gap = c.size() > word.size() ? c.size() - word.size() : word.size() - c.size();
    if (gap >= best_distance) continue;
    const size_t distance = edit_distance(word, c);
    if (distance < best_distance) best_distance = distance, best = c;
  }
  return best;
}

std::string human_bytes(uint64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 5) value /= 1024, ++unit;
  return unit == 0 ? format("{} B", bytes) : format("{:.2f} {}", value, units[unit]);
}

std::string with_commas(uint64_t value) {
  std::string digits = std::to_string(value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits;
}

}  // namespace base
