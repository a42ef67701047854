// Fuzz target: any bytes as a tokenizer.json. It is refused with a user error, or it encodes and
// decodes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A zero byte parts the file, its config and a text to encode.
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t first = std::min(input.find('\0'), input.size());
  const size_t second = std::min(input.find('\0', first + 1), input.size());
  const std::string_view config =
      first < input.size() ? input.substr(first + 1, second - first - 1) : std::string_view();
  const std::string_view text =
      second < input.size() ? input.substr(second + 1) : std::string_view(" a word's \xff 12");
  try {
    const text::Tokenizer tokenizer =
        text::Tokenizer::parse(input.substr(0, first), config, "tokenizer.json");
    tokenizer.decode(tokenizer.encode(text, {.bos = true, .eos = true}));
  } catch (const base::UserError&) {
  }
  return 0;
}
