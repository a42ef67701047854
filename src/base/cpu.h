// What processor this is, asked at run time: one binary serves machines with AVX2 and with AVX-512.
#pragma once

#include <cstdint>
#include <string>

namespace base {

enum class VectorWidth : uint8_t { avx2, avx512 };
std::string to_text(VectorWidth width);  // "AVX2", "AVX-512"

// avx512 when processor and system have F, BW, DQ and VL.
VectorWidth vector_width();
bool has_required_features();  // AVX2, FMA, F16C: what every kernel takes for granted

std::string processor_name();  // "AMD EPYC 9354P", or "unknown processor"

// Cores this process may use: its affinity mask, and the CPU quota of its cgroup rounded up.
int usable_cores();

}  // namespace base
