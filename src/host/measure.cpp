// Speed loops, the cache of their results, and what the kernel knows of memory and disk.
#include "host/measure.h"

#include <immintrin.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "host/tensor.h"

namespace host {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double thread_seconds() {
  timespec time;
  CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Twelve independent chains: enough for two units of latency 4 (Zen, Intel) or 5.
constexpr int chains = 12;
constexpr int64_t slice_steps = 1 << 19;  // about 1 ms

// x = 0.9 x + 0.1 stays a normal number for ever.
float fma_chains_avx2(int64_t steps) {
  const __m256 scale = _mm256_set1_ps(0.9f), shift = _mm256_set1_ps(0.1f);
  __m256 x[chains];
#pragma GCC unroll 12
  for (int j = 0; j < chains; ++j) x[j] = _mm256_set1_ps(1.0f + static_cast<float>(j));
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < chains; ++j) x[j] = _mm256_fmadd_ps(x[j], scale, shift);
  }
  __m256 sum = x[0];
#pragma GCC unroll 12
  for (int j = 1; j < chains; ++j) sum = _mm256_add_ps(sum, x[j]);
  return _mm256_cvtss_f32(sum);
}

__attribute__((target("avx512f"))) float fma_chains_avx512(int64_t steps) {
  const __m512 scale = _mm512_set1_ps(0.9f), shift = _mm512_set1_ps(0.1f);
  __m512 x[chains];
#pragma GCC unroll 12
  for (int j = 0; j < chains; ++j) x[j] = _mm512_set1_ps(1.0f + static_cast<float>(j));
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < chains; ++j) x[j] = _mm512_fmadd_ps(x[j], scale, shift);
  }
  __m512 sum = x[0];
#pragma GCC unroll 12
  for (int j = 1; j < chains; ++j) sum = _mm512_add_ps(sum, x[j]);
  return _mm512_cvtss_f32(sum);
}

// a = b + s c with stores past the caches, so that 12 bytes an element are all that moves. The
// count is a multiple of 8, the pointers are aligned.
void triad(float* a, const float* b, const float* c, int64_t count) {
  const __m256 scale = _mm256_set1_ps(3.0f);
  for (int64_t i = 0; i < count; i += 8) {
    const __m256 sum = _mm256_fmadd_ps(_mm256_load_ps(c + i), scale, _mm256_load_ps(b + i));
    _mm256_stream_ps(a + i, sum);
  }
  _mm_sfence();
}

// Calls `slice` until `seconds` are over and returns the shortest time of one call.
template <class Slice>
double shortest_slice(double seconds, Slice slice) {
  const Clock::time_point start = Clock::now();
  double shortest = INFINITY;
  do {
    const Clock::time_point begin = Clock::now();
    slice();
    shortest = std::min(shortest, seconds_since(begin));
  } while (seconds_since(start) < seconds);
  return shortest;
}

std::string cache_path() {
  const std::string folder = base::user_cache_folder();
  return folder.empty() ? folder : base::join_path(folder, "machine.json");
}

std::string machine_key() {
  return base::format("{}, {}, {} cores", base::processor_name(),
                      base::to_text(base::vector_width()), base::usable_cores());
}

nlohmann::json read_cache(const std::string& path) {
  constexpr uint64_t limit = 1 << 20;
  if (path.empty() || !base::file_exists(path)) return nlohmann::json::object();
  nlohmann::json cache = nlohmann::json::object();
  try {
    cache = nlohmann::json::parse(base::read_file(path, base::Exit::check, limit), nullptr, false);
  } catch (const base::Error&) {
  }
  return cache.is_object() ? cache : nlohmann::json::object();
}

uint64_t number_in(const std::string& path) {
  try {
    const std::string text = base::read_file(path, base::Exit::check, 4096);
    char* end = nullptr;
    const uint64_t value = std::strtoull(text.c_str(), &end, 10);
    if (end != text.c_str()) return value;
  } catch (const base::Error&) {  // no such cgroup file on this machine
  }
  return UINT64_MAX;  // also for "max"
}

uint64_t machine_memory() {
  const std::string text = base::read_file("/proc/meminfo", base::Exit::check, 1 << 20);
  const size_t at = text.find("MemTotal:");
  if (at == std::string::npos) return UINT64_MAX;
  return std::strtoull(text.c_str() + at + 9, nullptr, 10) * 1024;  // "MemTotal:  8132220 kB"
}

// The lowest limit on the way from this process's cgroup to the root.
uint64_t cgroup_memory() {
  uint64_t limit = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes");  // cgroup v1
  std::string group;
  try {
    const std::string text = base::read_file("/proc/self/cgroup", base::Exit::check, 1 << 20);
    for (const std::string& line : base::split(text, '\n')) {
      if (line.starts_with("0::/")) group = line.substr(3);
    }
  } catch (const base::Error&) {
  }
  while (true) {
    limit = std::min(limit, number_in("/sys/fs/cgroup" + group + "/memory.max"));
    if (group.empty() || group == "/") return limit;
    group.resize(group.find_last_of('/'));
  }
}

}  // namespace

// Processor time, not wall time: on a busy machine the threads wait for their turn.
double measure_fma_gflops(const base::WorkerPool& pool, base::VectorWidth width, double seconds) {
  const bool wide = width == base::VectorWidth::avx512;
  const double operations = 2.0 * chains * (wide ? 16 : 8) * slice_steps;
  std::vector<double> rates(pool.threads()), sums;
  const Clock::time_point start = Clock::now();
  do {
    pool.parallel_for(pool.threads(), 1, [&](int64_t thread, int64_t) {
      const double begin = thread_seconds();
      const float result = wide ? fma_chains_avx512(slice_steps) : fma_chains_avx2(slice_steps);
      CHECK(std::isfinite(result));  // used, so that no loop is dropped
      rates[thread] = operations / (thread_seconds() - begin);
    });
    sums.push_back(std::accumulate(rates.begin(), rates.end(), 0.0));
  } while (seconds_since(start) < seconds);
  std::ranges::nth_element(sums, sums.begin() + sums.size() / 2);
  return sums[sums.size() / 2] / 1e9;
}

double measure_bandwidth_gbs(const base::WorkerPool& pool, double seconds) {
  // Three times 48 MiB: past the last-level cache of a server's share, still small for a laptop.
  constexpr int64_t count = 12 << 20, grain = 1 << 16;
  const Tensor a = Tensor::make(DType::f32, {count}), b = Tensor::make(DType::f32, {count}),
               c = Tensor::make(DType::f32, {count});
  float *to = a.data<float>(), *x = b.data<float>(), *y = c.data<float>();
  pool.parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (float* p : {to, x, y}) std::fill(p + begin, p + end, 1.0f);  // pages near their thread
  });
  const double best = shortest_slice(seconds, [&] {
    pool.parallel_for(count, grain, [&](int64_t begin, int64_t end) {
      triad(to + begin, x + begin, y + begin, end - begin);
    });
  });
  CHECK(to[count - 1] == 4.0f);
  return 3.0 * sizeof(float) * count / best / 1e9;
}

MachineSpeed measure_speed(double seconds) {
  const base::WorkerPool pool(base::usable_cores());
  return {.peak_gflops = measure_fma_gflops(pool, base::vector_width(), seconds),
          .bandwidth_gbs = measure_bandwidth_gbs(pool, seconds)};
}

std::optional<MachineSpeed> remembered_speed() {
  const nlohmann::json cache = read_cache(cache_path());
  const auto machine = cache.find(machine_key());
  if (machine == cache.end() || !machine->is_object()) return std::nullopt;
  const auto number = [&](const char* key) {
    const auto at = machine->find(key);
    return at != machine->end() && at->is_number() ? at->get<double>() : 0.0;
  };
  const MachineSpeed speed = {.peak_gflops = number("peak_gflops"),
                              .bandwidth_gbs = number("bandwidth_gbs")};
  if (!(speed.peak_gflops > 0)) return std::nullopt;
  return speed;
}

void remember_speed(const MachineSpeed& speed) {
  const std::string path = cache_path();
  if (path.empty()) return;
  const MachineSpeed known = remembered_speed().value_or(MachineSpeed{});
  nlohmann::json cache = read_cache(path);
  cache[machine_key()] = {{"peak_gflops", std::max(speed.peak_gflops, known.peak_gflops)},
                          {"bandwidth_gbs", std::max(speed.bandwidth_gbs, known.bandwidth_gbs)}};
  try {
    base::make_directories(base::parent_path(path), base::Exit::check);
    base::write_file(path, cache.dump(2) + "\n", base::Exit::check);
  } catch (const base::Error&) {  // a read-only home costs half a second a run, no more
  }
}

double measured_peak_gflops() {
  if (const std::optional<MachineSpeed> speed = remembered_speed()) return speed->peak_gflops;
  const MachineSpeed speed = measure_speed(0.25);
  remember_speed(speed);
  return speed.peak_gflops;
}

uint64_t memory_limit_bytes() { return std::min(machine_memory(), cgroup_memory()); }

uint64_t peak_resident_bytes() {
  rusage usage;
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

std::optional<uint64_t> disk_free_bytes(const std::string& path) {
  std::string folder = path;
  struct statvfs status;
  while (statvfs(folder.c_str(), &status) != 0) {
    const std::string parent = base::parent_path(folder);
    if (errno != ENOENT || parent == folder) return std::nullopt;
    folder = parent;
  }
  return uint64_t{status.f_bavail} * status.f_frsize;
}

}  // namespace host
