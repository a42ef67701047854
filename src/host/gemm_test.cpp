// Matrix products against a plain triple loop: every layout, zero sizes, and bits that do not
// depend on the number of threads.
#include "host/gemm.h"

#include <dirent.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

#include "base/error.h"

namespace host {
namespace {

constexpr uint32_t seed = 20240601;

template <class T>
constexpr DType dtype_of = std::is_same_v<T, float> ? DType::f32 : DType::f64;

template <class T>
Tensor random_tensor(Shape shape, uint32_t stream) {
  std::mt19937 generator(seed + stream);
  std::uniform_real_distribution<T> uniform(-1, 1);
  Tensor x = Tensor::make(dtype_of<T>, std::move(shape));
  for (int64_t i = 0; i < x.count(); ++i) x.data<T>()[i] = uniform(generator);
  return x;
}

// [M, N] of logical shape, stored as its transpose.
template <class T>
Tensor column_major(Shape shape, uint32_t stream) {
  std::swap(shape.end()[-1], shape.end()[-2]);
  return transposed(random_tensor<T>(std::move(shape), stream));
}

template <class T>
T at(const Tensor& x, int64_t batch, int64_t i, int64_t j) {
  const Shape& s = x.strides();
  return x.data<T>()[(x.rank() == 3 ? batch * s[0] : 0) + i * s.end()[-2] + j * s.end()[-1]];
}

// Bound of a sum of K products in any order: K eps times the sum of absolute products (Higham,
// "Accuracy and Stability of Numerical Algorithms", 3.1), and one rounding of the result.
template <class T>
void expect_product(const Tensor& a, const Tensor& b, const Tensor& c) {
  const int64_t batch = c.rank() == 3 ? c.dim(0) : 1, inner = a.shape().back();
  const double unit = std::numeric_limits<T>::epsilon() * static_cast<double>(inner + 1);
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t i = 0; i < c.shape().end()[-2]; ++i) {
      for (int64_t j = 0; j < c.shape().end()[-1]; ++j) {
        long double sum = 0, size = 0;
        for (int64_t k = 0; k < inner; ++k) {
          const long double p = static_cast<long double>(at<T>(a, n, i, k)) * at<T>(b, n, k, j);
          sum += p;
          size += std::fabs(p);
        }
        ASSERT_LE(std::fabs(at<T>(c, n, i, j) - sum), unit * size)
            << n << " " << i << " " << j << ", seed " << seed;
      }
    }
  }
}

template <class T>
void try_layouts(const base::WorkerPool& pool, int64_t m, int64_t k, int64_t n) {
  for (const bool a_columns : {false, true}) {
    for (const bool b_columns : {false, true}) {
      SCOPED_TRACE(testing::Message()
                   << m << " x " << k << " x " << n << " layouts " << a_columns << b_columns);
      const Tensor a = a_columns ? column_major<T>({m, k}, 1) : random_tensor<T>({m, k}, 1);
      const Tensor b = b_columns ? column_major<T>({k, n}, 2) : random_tensor<T>({k, n}, 2);
      const Tensor c = random_tensor<T>({m, n}, 3);
      matmul(pool, a, b, c);
      expect_product<T>(a, b, c);
    }
  }
}

template <class T>
class Matmul : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Matmul, Types);

TYPED_TEST(Matmul, EveryLayoutAndOddSizes) {
  const base::WorkerPool pool(2);
  for (const int64_t m : {1, 3, 17, 130}) {
    for (const int64_t n : {1, 5, 16, 129}) {
      for (const int64_t k : {1, 2, 19, 64}) try_layouts<TypeParam>(pool, m, k, n);
    }
  }
  try_layouts<TypeParam>(pool, 300, 7, 260);
  try_layouts<TypeParam>(pool, 5, 700, 6);
}

TYPED_TEST(Matmul, BatchesWithBroadcastAndStrides) {
  using T = TypeParam;
  const base::WorkerPool pool(3);
  const Tensor a = random_tensor<T>({4, 20, 30}, 4);
  const Tensor one = random_tensor<T>({30, 40}, 5);
  const Tensor b = one.view({4, 30, 40}, {0, 40, 1}, 0);
  const Tensor wide = Tensor::zeros(dtype_of<T>, {4, 20, 100});
  const Tensor c = wide.view({4, 20, 40}, wide.strides(), 50);
  matmul(pool, a, b, c);
  expect_product<T>(a, b, c);
  EXPECT_EQ(at<T>(wide, 3, 19, 49), 0);
  EXPECT_EQ(at<T>(wide, 3, 19, 90), 0);
  // Heads inside rows: [sequence, head, dim] seen as [head, sequence, dim].
  const Tensor q = random_tensor<T>({20, 4, 30}, 6).view({4, 20, 30}, {30, 120, 1}, 0);
  const Tensor scores = Tensor::make(dtype_of<T>, {4, 20, 20});
  matmul(pool, q, transposed(q), scores);
  expect_product<T>(q, transposed(q), scores);
}

TYPED_TEST(Matmul, ViewsWithoutAUnitStrideAreCopied) {
  using T = TypeParam;
  const base::WorkerPool pool(2);
  const Tensor big = random_tensor<T>({60, 80}, 7);
  const Tensor a = big.view({20, 30}, {160, 2}, 1);
  const Tensor row = random_tensor<T>({1, 15}, 8);
  const Tensor b = row.view({30, 15}, {0, 1}, 0);  // one row, repeated
  const Tensor c = Tensor::make(dtype_of<T>, {20, 15});
  matmul(pool, a, b, c);
  expect_product<T>(a, b, c);
}

TYPED_TEST(Matmul, ZeroSizes) {
  using T = TypeParam;
  const base::WorkerPool pool(2);
  const Tensor wide = random_tensor<T>({5, 9}, 9);
  const Tensor c = wide.view({5, 6}, {9, 1}, 0);
  const T beside = at<T>(wide, 0, 4, 6);
  matmul(pool, Tensor::make(dtype_of<T>, {5, 0}), Tensor::make(dtype_of<T>, {0, 6}), c);
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 6; ++j) EXPECT_EQ(at<T>(c, 0, i, j), 0);
  }
  EXPECT_EQ(at<T>(wide, 0, 4, 6), beside);
  const auto empty = [&](Shape a, Shape b, Shape out) {
    const Tensor result = Tensor::make(dtype_of<T>, std::move(out));
    matmul(pool, Tensor::make(dtype_of<T>, std::move(a)), Tensor::make(dtype_of<T>, std::move(b)),
           result);
    EXPECT_EQ(result.count(), 0);
  };
  empty({0, 3}, {3, 4}, {0, 4});
  empty({2, 3}, {3, 0}, {2, 0});
  empty({0, 0}, {0, 0}, {0, 0});
  empty({0, 2, 3}, {0, 3, 4}, {0, 2, 4});
}

TYPED_TEST(Matmul, BitsDoNotDependOnThreads) {
  using T = TypeParam;
  const Shape shapes[] = {{256, 256, 256}, {30, 256, 256}, {256, 30, 256},
                          {129, 300, 700}, {1, 64, 2048},  {2048, 40, 1100}};
  for (const Shape& s : shapes) {
    const Tensor a = random_tensor<T>({s[0], s[1]}, 10);
    const Tensor b = column_major<T>({s[1], s[2]}, 11);
    Tensor first;
    for (const int threads : {1, 2, 3, 7}) {
      const base::WorkerPool pool(threads);
      const Tensor c = Tensor::make(dtype_of<T>, {s[0], s[2]});
      matmul(pool, a, b, c);
      if (!first.defined()) first = c;
      EXPECT_TRUE(same_bits(c, first))
          << s[0] << " " << s[1] << " " << s[2] << ", " << threads << " threads, seed " << seed;
    }
  }
}

TYPED_TEST(Matmul, NanAndInfinitySpread) {
  using T = TypeParam;
  const base::WorkerPool pool(1);
  const Tensor a = random_tensor<T>({4, 8}, 12), b = random_tensor<T>({8, 4}, 13);
  a.template data<T>()[3] = NAN;
  a.template data<T>()[8] = INFINITY;
  const Tensor c = Tensor::make(dtype_of<T>, {4, 4});
  matmul(pool, a, b, c);
  for (int64_t j = 0; j < 4; ++j) {
    EXPECT_TRUE(std::isnan(at<T>(c, 0, 0, j)));
    EXPECT_TRUE(std::isinf(at<T>(c, 0, 1, j)));
    EXPECT_TRUE(std::isfinite(at<T>(c, 0, 2, j)));
  }
}

int threads_of_this_process() {
  int count = 0;
  DIR* folder = opendir("/proc/self/task");
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

TEST(MatmulThreads, TheLibraryStartsNone) {
  const int before = threads_of_this_process();
  const base::WorkerPool pool(3);
  const Tensor a = random_tensor<float>({512, 512}, 14);
  const Tensor c = Tensor::make(DType::f32, {512, 512});
  for (int i = 0; i < 10; ++i) matmul(pool, a, a, c);
  EXPECT_EQ(threads_of_this_process(), before + 2);
}

// Ranks as threads: each has a pool of its own, and they multiply at the same time.
TEST(MatmulThreads, PoolsWorkSideBySide) {
  const Tensor a = random_tensor<float>({200, 150}, 15), b = column_major<float>({150, 300}, 16);
  std::vector<Tensor> results;
  for (int i = 0; i < 4; ++i) results.push_back(Tensor::make(DType::f32, {200, 300}));
  std::vector<std::thread> ranks;
  for (const Tensor& c : results) {
    ranks.emplace_back([&] {
      const base::WorkerPool pool(2);
      for (int i = 0; i < 5; ++i) matmul(pool, a, b, c);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const Tensor& c : results) EXPECT_TRUE(same_bits(c, results[0]));
  expect_product<float>(a, b, results[0]);
}

TEST(MatmulThreads, RefusesWhatDoesNotFit) {
  const base::WorkerPool pool(1);
  const auto zeros = [](Shape shape) { return Tensor::zeros(DType::f32, std::move(shape)); };
  EXPECT_THROW(matmul(pool, zeros({2, 3}), zeros({4, 5}), zeros({2, 5})), base::InternalError);
  EXPECT_THROW(matmul(pool, zeros({2, 3}), zeros({3, 5}), zeros({2, 4})), base::InternalError);
  EXPECT_THROW(matmul(pool, zeros({2, 3}), zeros({3, 2}), transposed(zeros({2, 2}))),
               base::InternalError);
  EXPECT_THROW(matmul(pool, zeros({3}), zeros({3, 2}), zeros({2})), base::InternalError);
}

}  // namespace
}  // namespace host
