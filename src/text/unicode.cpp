// UTF-8 by table 3-7 of the Unicode standard; classes by utf8proc's tables (Unicode 14).
#include "text/unicode.h"

#include <utf8proc.h>

#include <array>
#include <cstring>

#include "base/error.h"

namespace text {
namespace {

CharClass class_by_tables(uint32_t code_point) {
  // White_Space of PropList.txt; U+180E is not among them since Unicode 6.3.
  if ((code_point >= 0x09 && code_point <= 0x0d) || code_point == 0x20 || code_point == 0x85) {
    return CharClass::space;
  }
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharClass::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharClass::number;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return CharClass::space;
    default:
      return CharClass::other;
  }
}

constexpr std::array<CharClass, 128> ascii = [] {
  std::array<CharClass, 128> classes;
  for (uint32_t c = 0; c < 128; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool number = c >= '0' && c <= '9';
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    classes[c] = letter   ? CharClass::letter
                 : number ? CharClass::number
                 : space  ? CharClass::space
                          : CharClass::other;
  }
  return classes;
}();

}  // namespace

CodePoint code_point_at(std::string_view text, size_t position) {
  const auto byte = [&](size_t k) {
    return static_cast<uint32_t>(static_cast<unsigned char>(text[position + k]));
  };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xe0) return {(lead & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (lead < 0xf0) return {(lead & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f),
          4};
}

void append_utf8(std::string& out, uint32_t code_point) {
  CHECK(code_point < 0x110000);
  const auto add = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    add(code_point);
  } else if (code_point < 0x800) {
    add(0xc0 | code_point >> 6);
    add(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    add(0xe0 | code_point >> 12);
    add(0x80 | (code_point >> 6 & 0x3f));
    add(0x80 | (code_point & 0x3f));
  } else {
    add(0xf0 | code_point >> 18);
    add(0x80 | (code_point >> 12 & 0x3f));
    add(0x80 | (code_point >> 6 & 0x3f));
    add(0x80 | (code_point & 0x3f));
  }
}

CharClass char_class(uint32_t code_point) {
  return code_point < 128 ? ascii[code_point] : class_by_tables(code_point);
}

size_t valid_utf8_length(std::string_view text, size_t position) {
  const auto byte = [&](size_t k) -> uint32_t {
    return position + k < text.size() ? static_cast<unsigned char>(text[position + k]) : 0u;
  };
  const auto continues = [&](size_t k) { return (byte(k) & 0xc0) == 0x80; };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return continues(1) ? 2 : 0;
  if (lead < 0xf0) {
    const bool overlong = lead == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = lead == 0xed && byte(1) > 0x9f;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead > 0xf4) return 0;
  const bool overlong = lead == 0xf0 && byte(1) < 0x90;
  const bool past_end = lead == 0xf4 && byte(1) > 0x8f;
  return continues(1) && continues(2) && continues(3) && !overlong && !past_end ? 4 : 0;
}

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    uint64_t eight;
    while (i + sizeof(eight) <= text.size()) {  // skips ASCII, eight bytes at a time
      std::memcpy(&eight, text.data() + i, sizeof(eight));
      if (eight & 0x8080808080808080u) break;
      i += sizeof(eight);
    }
    if (i == text.size()) break;
    const size_t length = valid_utf8_length(text, i);
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

}  // namespace text
