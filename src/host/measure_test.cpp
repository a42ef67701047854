// Measurements: plausible numbers, and a cache that survives anything.
#include "host/measure.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "host/tensor.h"

namespace host {
namespace {

TEST(Measure, SpeedIsPlausible) {
  const base::WorkerPool pool(1);
  const double narrow = measure_fma_gflops(pool, base::VectorWidth::avx2, 0.02);
  EXPECT_GT(narrow, 1);
  EXPECT_LT(narrow, 1000);
  if (base::vector_width() == base::VectorWidth::avx512) {
    const double wide = measure_fma_gflops(pool, base::VectorWidth::avx512, 0.02);
    EXPECT_GT(wide, 1);
    EXPECT_LT(wide, 1000);
  }
  const double bandwidth = measure_bandwidth_gbs(pool, 0.02);
  EXPECT_GT(bandwidth, 0.1);
  EXPECT_LT(bandwidth, 2000);
}

TEST(Measure, SpeedIsRememberedAndABadCacheCountsAsNone) {
  std::string folder = testing::TempDir() + "heddle-measure-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const char* old = std::getenv("XDG_CACHE_HOME");
  const std::string before = old == nullptr ? "" : old;
  ASSERT_EQ(setenv("XDG_CACHE_HOME", folder.c_str(), 1), 0);
  EXPECT_FALSE(remembered_speed().has_value());
  remember_speed({.peak_gflops = 12.5, .bandwidth_gbs = 3});
  EXPECT_EQ(measured_peak_gflops(), 12.5);
  EXPECT_EQ(remembered_speed()->bandwidth_gbs, 3);
  const std::string path = folder + "/heddle/machine.json";
  for (const char* bad : {"", "{", "[]", "{\"x\": 1}", "\xff"}) {
    base::write_file(path, bad, base::Exit::check);
    EXPECT_FALSE(remembered_speed().has_value()) << bad;
  }
  remember_speed({.peak_gflops = 7, .bandwidth_gbs = 3});
  remember_speed({.peak_gflops = 6, .bandwidth_gbs = 4});
  EXPECT_EQ(remembered_speed()->peak_gflops, 7);
  EXPECT_EQ(remembered_speed()->bandwidth_gbs, 4);
  base::write_file(folder + "/file", "", base::Exit::check);
  ASSERT_EQ(setenv("XDG_CACHE_HOME", (folder + "/file").c_str(), 1), 0);
  EXPECT_NO_THROW(remember_speed({.peak_gflops = 7, .bandwidth_gbs = 3}));
  EXPECT_FALSE(remembered_speed().has_value());
  if (old == nullptr) {
    unsetenv("XDG_CACHE_HOME");
  } else {
    setenv("XDG_CACHE_HOME", before.c_str(), 1);
  }
  EXPECT_EQ(system(("rm -rf " + folder).c_str()), 0);
}

TEST(Measure, MemoryAndDisk) {
  EXPECT_GT(memory_limit_bytes(), uint64_t{64} << 20);
  EXPECT_LT(memory_limit_bytes(), uint64_t{1} << 50);
  const Tensor x = Tensor::zeros(DType::u8, {64 << 20});
  EXPECT_EQ(x.data<uint8_t>()[12345], 0);
  EXPECT_GE(peak_resident_bytes(), uint64_t{64} << 20);
  EXPECT_TRUE(disk_free_bytes("/").has_value());
  EXPECT_TRUE(disk_free_bytes("no/such/folder").has_value()) << "the nearest that exists";
  EXPECT_FALSE(disk_free_bytes("/dev/null/x").has_value());
}

}  // namespace
}  // namespace host
