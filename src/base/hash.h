// Hashes: FNV-1a for names that key random streams, a mixer for composed hashes, XXH3-128 for
// files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace base {

// FNV-1a, 64 bits: offset basis and prime of RFC 9923. Fixed for ever: start weights depend on it.
constexpr uint64_t fnv1a64(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Order matters: combine(a, b) != combine(b, a). The mixer is SplitMix64's finaliser (Steele, Lea
// and Flood, OOPSLA 2014).
constexpr uint64_t hash_combine(uint64_t seed, uint64_t value) {
  uint64_t z = seed + 0x9e3779b97f4a7c15u * (value + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31) ^ (value << 1);
}

// 32 hex digits, as `xxh128sum` prints them.
std::string xxh3_128_hex(std::span<const std::byte> bytes);
std::string xxh3_128_hex(std::string_view bytes);

}  // namespace base
