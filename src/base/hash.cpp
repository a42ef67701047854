// XXH3-128 through libxxhash.
#include "base/hash.h"

#include <xxhash.h>

namespace base {

std::string xxh3_128_hex(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  std::string hex;
  for (const unsigned char byte : canonical.digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

std::string xxh3_128_hex(std::string_view bytes) {
  return xxh3_128_hex(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

}  // namespace base
