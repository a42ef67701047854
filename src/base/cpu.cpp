// Processor features by cpuid (through the compiler's builtins), cores from the kernel.
#include "base/cpu.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "base/text.h"

namespace base {
namespace {

struct CloseFile {
  void operator()(FILE* file) const { fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

// cgroup v2: "max 100000" or "150000 100000", microseconds of CPU time a period.
double cgroup_cores() {
  const File file(fopen("/sys/fs/cgroup/cpu.max", "r"));
  double quota = 0, period = 0;
  if (!file || fscanf(file.get(), "%lf %lf", &quota, &period) != 2 || period <= 0) return INFINITY;
  return quota / period;
}

}  // namespace

std::string to_text(VectorWidth width) { return width == VectorWidth::avx512 ? "AVX-512" : "AVX2"; }

VectorWidth vector_width() {
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return wide ? VectorWidth::avx512 : VectorWidth::avx2;
}

bool has_required_features() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

std::string processor_name() {
  const File file(fopen("/proc/cpuinfo", "r"));
  char line[512];
  while (file && fgets(line, sizeof line, file.get())) {
    const std::string_view text(line);
    if (!text.starts_with("model name")) continue;
    const size_t colon = text.find(':');
    if (colon != std::string_view::npos) return std::string(trim(text.substr(colon + 1)));
  }
  return "unknown processor";
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  const double quota = std::ceil(cgroup_cores());
  return std::max(1, quota < allowed ? static_cast<int>(quota) : allowed);
}

}  // namespace base
