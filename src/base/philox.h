// Philox4x32-10: random numbers that are a function of key and counter, so that their values depend
// neither on threads nor on ranks. Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011, section 3.3 and table 2.
#pragma once

#include <array>
#include <cstdint>

namespace base {

constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// The four words of element `index` of the stream (seed, stream): the seed is the key, the stream
// (a hash of a parameter's name, a step) the upper half of the counter.
constexpr std::array<uint32_t, 4> philox_at(uint64_t seed, uint64_t stream, uint64_t index) {
  return philox4x32({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                     static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
                    {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

// Uniform in [0, 1): 24 bits of one word, or 53 of two.
constexpr float uniform_f32(const std::array<uint32_t, 4>& words) {
  return static_cast<float>(words[0] >> 8) * 0x1p-24f;
}
constexpr double uniform_f64(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

}  // namespace base
