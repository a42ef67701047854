// What this machine can do, measured and asked: for `heddle doctor`, mfu and the memory line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/cpu.h"
#include "base/worker_pool.h"

namespace host {

struct MachineSpeed {
  double peak_gflops = 0;    // float32 multiply-adds (two operations each), all cores
  double bandwidth_gbs = 0;  // 10^9 bytes a second read and written by a triad, all cores
};

// Median over short slices of about `seconds` in all, by processor time of each thread.
double measure_fma_gflops(const base::WorkerPool& pool, base::VectorWidth width, double seconds);
// The best slice: neighbours on the machine only ever slow one down.
double measure_bandwidth_gbs(const base::WorkerPool& pool, double seconds);
MachineSpeed measure_speed(double seconds);  // both, with all usable cores and the widest vectors

// Kept in $XDG_CACHE_HOME (or ~/.cache) /heddle/machine.json by processor, vector width and cores.
// The higher of old and new stays. A cache that cannot be read counts as empty; one that cannot be
// written is let be.
std::optional<MachineSpeed> remembered_speed();
void remember_speed(const MachineSpeed& speed);

// Remembered, or else measured in half a second and remembered: what mfu is relative to.
double measured_peak_gflops();

uint64_t memory_limit_bytes();   // of the machine or, when lower, of its cgroup
uint64_t peak_resident_bytes();  // of this process, since its start
// Nothing when `path`, or the nearest folder above it that exists, cannot be asked.
std::optional<uint64_t> disk_free_bytes(const std::string& path);

}  // namespace host
