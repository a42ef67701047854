// UTF-8 and the character classes that pre-tokenizers ask for, by Unicode's tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace text {

enum class CharClass : uint8_t { letter, number, space, other };  // \p{L}, \p{N}, \s, the rest

struct CodePoint {
  uint32_t value;
  uint32_t bytes;  // 1 to 4
};

// The code point at `position`; the text must be valid UTF-8 and not end there.
CodePoint code_point_at(std::string_view text, size_t position);
void append_utf8(std::string& out, uint32_t code_point);

// Space is Unicode's White_Space, as in Oniguruma's \s.
CharClass char_class(uint32_t code_point);

// Bytes of the valid sequence that begins at `position`, or 0 where none does.
size_t valid_utf8_length(std::string_view text, size_t position);
// Offset of the first byte that is not part of valid UTF-8 (surrogates and overlong forms are not).
std::optional<size_t> first_invalid_utf8(std::string_view text);

}  // namespace text
