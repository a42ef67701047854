// Lanes against long double; kernels at both vector widths, any strides and thread counts.
#include "ops/core/elementwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "base/cpu.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

using base::VectorWidth;
using graph::Attr;
using graph::DType;
using graph::OpDef;
using host::Shape;

constexpr uint64_t seed = 20240607;

// Distance in units of the last place of T at `want`.
template <class T>
double ulps(T got, long double want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(rounded) || std::isinf(rounded)) {
    const bool same = std::isnan(rounded) ? std::isnan(got) : got == rounded;
    return same ? 0 : INFINITY;
  }
  int exponent;
  std::frexp(want, &exponent);
  using Limits = std::numeric_limits<T>;
  const int place = std::max(exponent, Limits::min_exponent) - Limits::digits;
  return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, place));
}

template <class T>
using Lane = T (*)(T);
using Exact = long double (*)(long double);

template <class T>
struct Worst {
  double ulps = 0;
  T at = 0;
  void add(Lane<T> lane, Exact exact, T x) {
    const double u = ops::ulps(lane(x), exact(x));
    if (u > ulps) ulps = u, at = x;
  }
};

// Uniform in [low, high], and uniform in the exponent with either sign.
template <class T>
Worst<T> worst_error(Lane<T> lane, Exact exact, T low, T high) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<T> uniform(low, high);
  Worst<T> worst;
  for (int i = 0; i < 200000; ++i) worst.add(lane, exact, uniform(random));
  std::uniform_real_distribution<T> exponent(std::numeric_limits<T>::min_exponent,
                                             std::log2(std::max(high, -low)));
  for (int i = 0; i < 100000; ++i) {
    const T x = std::exp2(exponent(random)) * (low < 0 && i % 2 ? -1 : 1);
    worst.add(lane, exact, std::clamp(x, low, high));
  }
  return worst;
}

template <class T>
void expect_error(const char* name, Lane<T> lane, Exact exact, std::pair<T, T> range,
                  double bound) {
  const Worst<T> worst = worst_error<T>(lane, exact, range.first, range.second);
  EXPECT_LE(worst.ulps, bound) << name << " at " << worst.at << ", seed " << seed;
  EXPECT_GT(worst.ulps, 0.4) << name << ": no lane rounds better than this; is it compared at all?";
}

TEST(Lanes, StayWithinTheirErrorBounds) {
  expect_error<float>("exp f32", exp_lane<float>, std::exp, {-104, 89}, 1.1);
  expect_error<double>("exp f64", exp_lane<double>, std::exp, {-746, 710}, 1.1);
  expect_error<float>("exp f32 near 0", exp_lane<float>, std::exp, {-1, 1}, 1.1);
  expect_error<float>("log f32", log_lane<float>, std::log, {1e-45f, 3e38f}, 1);
  expect_error<double>("log f64", log_lane<double>, std::log, {5e-324, 1e308}, 1);
  expect_error<float>("log f32 near 1", log_lane<float>, std::log, {0.5, 2}, 1);
  expect_error<double>("log f64 near 1", log_lane<double>, std::log, {0.5, 2}, 1);
  expect_error<float>("sin f32", sin_lane<float>, std::sin, {-1048576, 1048576}, 2);
  expect_error<float>("cos f32", cos_lane<float>, std::cos, {-1048576, 1048576}, 2);
  expect_error<double>("sin f64", sin_lane<double>, std::sin, {-0x1p30, 0x1p30}, 2);
  expect_error<double>("cos f64", cos_lane<double>, std::cos, {-0x1p30, 0x1p30}, 2);
}

TEST(Lanes, KeepTheirDigitsAtPositionsAndNearMultiplesOfHalfPi) {
  Worst<float> worst;
  for (int i = 0; i < 200000; ++i) {
    const float near = static_cast<float>(i * 1.57079632679489661923L);
    for (const float x : {static_cast<float>(i), near}) {
      worst.add(sin_lane<float>, std::sin, x);
      worst.add(cos_lane<float>, std::cos, x);
    }
  }
  EXPECT_LE(worst.ulps, 2) << "at " << worst.at;
}

template <class T>
void expect_specials() {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  EXPECT_EQ(exp_lane(infinity), infinity);
  EXPECT_EQ(exp_lane(-infinity), 0);
  EXPECT_EQ(exp_lane(std::numeric_limits<T>::max()), infinity);
  EXPECT_EQ(exp_lane(std::numeric_limits<T>::lowest()), 0);
  EXPECT_EQ(exp_lane(T(0)), 1);
  EXPECT_TRUE(std::isnan(exp_lane(nan)));
  EXPECT_EQ(log_lane(T(0)), -infinity);
  EXPECT_EQ(log_lane(T(-0.0)), -infinity);
  EXPECT_EQ(log_lane(T(1)), 0);
  EXPECT_EQ(log_lane(infinity), infinity);
  EXPECT_TRUE(std::isnan(log_lane(T(-1))));
  EXPECT_TRUE(std::isnan(log_lane(-infinity)));
  EXPECT_TRUE(std::isnan(log_lane(nan)));
  EXPECT_EQ(sin_lane(T(0)), 0);
  EXPECT_EQ(cos_lane(T(0)), 1);
  for (const T x : {infinity, -infinity, nan, std::numeric_limits<T>::max()}) {
    EXPECT_TRUE(std::isnan(sin_lane(x)) && std::isnan(cos_lane(x))) << x;
  }
}

TEST(Lanes, AreExactAtTheEnds) {
  expect_specials<float>();
  expect_specials<double>();
}

// Calls a kernel without a graph.
struct Caller {
  int threads = 1;
  VectorWidth width = VectorWidth::avx2;

  Tensor operator()(const char* op, std::vector<Tensor> in, const Shape& shape,
                    std::vector<Attr> attrs = {}) const {
    const OpDef* def = graph::find_op(table(), op);
    const bool truth = std::string_view(op) == "compare" || std::string_view(op) == "is_finite";
    return call(*def, std::move(in), truth ? DType::boolean : in.back().dtype(), shape,
                std::move(attrs));
  }
  Tensor call(const OpDef& def, std::vector<Tensor> in, DType dtype, const Shape& shape,
              std::vector<Attr> attrs) const {
    const base::WorkerPool pool(threads);
    const DType dtypes[] = {dtype};
    const Shape shapes[] = {shape};
    const EvalContext context{pool, width, {}, dtypes, shapes, {}, {}};
    Tensor out;
    attrs.resize(def.attrs.size());
    for (size_t i = 0; i < attrs.size(); ++i) {
      const bool is_flag = def.attrs[i].kind == graph::AttrSpec::Kind::flag;
      if (is_flag && std::holds_alternative<std::monostate>(attrs[i])) attrs[i] = false;
    }
    def.eval.f32(context, in, {&out, 1}, graph::Attrs(def, attrs));
    return out;
  }
};

Tensor random_tensor(DType dtype, const Shape& shape, uint64_t salt, double low = -3,
                     double high = 3) {
  std::mt19937_64 random(seed + salt);
  std::uniform_real_distribution<double> uniform(low, high);
  Tensor x = Tensor::make(DType::f64, shape);
  for (int64_t i = 0; i < x.count(); ++i) x.data<double>()[i] = uniform(random);
  return host::cast(x, dtype);
}

template <class T>
T at(const Tensor& t, std::span<const int64_t> index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * t.strides()[d];
  return t.data<T>()[offset];
}

template <class Visit>
void for_each_index(const Shape& shape, const Visit& visit) {
  Shape index(shape.size(), 0);
  for (int64_t n = host::element_count(shape); n > 0; --n) {
    visit(index);
    for (size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
  }
}

// A view of random memory whose shape is `shape`: some dims repeated, all permuted, some with a
// step.
Tensor random_view(DType dtype, const Shape& shape, uint64_t salt) {
  std::mt19937_64 random(seed + salt);
  Shape memory(shape.size()), order(shape.size()), step(shape.size(), 1);
  for (size_t d = 0; d < shape.size(); ++d) order[d] = static_cast<int64_t>(d);
  if (random() % 2) std::shuffle(order.begin(), order.end(), random);
  std::vector<bool> repeated(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    repeated[d] = random() % 4 == 0;
    step[d] = random() % 4 == 0 ? 2 : 1;
    memory[order[d]] = repeated[d] ? 1 : shape[d] * step[d];
  }
  const Tensor base = random_tensor(dtype, memory, salt);
  Shape strides(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    strides[d] = repeated[d] ? 0 : base.strides()[order[d]] * step[d];
  }
  return base.view(shape, strides, 0);
}

const std::vector<Shape> view_shapes = {{},        {1},          {5},          {0, 3},
                                        {3, 0},    {700},        {4, 600},     {600, 4},
                                        {1, 7, 1}, {2, 3, 5, 7}, {130, 3, 50}, {9, 1, 300}};

TEST(Elementwise, ReadsAnyStrides) {
  uint64_t salt = 0;
  for (const Shape& shape : view_shapes) {
    for (int round = 0; round < 12; ++round) {
      const Tensor a = random_view(DType::f32, shape, ++salt);
      const Tensor b = random_view(DType::f32, shape, ++salt);
      const Tensor c = random_view(DType::boolean, shape, ++salt);
      const Tensor sum = Caller{}("sub", {a, b}, shape);
      const Tensor chosen = Caller{}("select", {c, a, b}, shape);
      const Tensor minus = Caller{}("neg", {a}, shape);
      int64_t wrong = 0;
      for_each_index(shape, [&](const Shape& i) {
        wrong += at<float>(sum, i) != at<float>(a, i) - at<float>(b, i);
        wrong += at<float>(chosen, i) != (at<bool>(c, i) ? at<float>(a, i) : at<float>(b, i));
        wrong += at<float>(minus, i) != -at<float>(a, i);
      });
      EXPECT_EQ(wrong, 0) << "rank " << shape.size() << ", salt " << salt << ", seed " << seed;
    }
  }
}

struct Problem {
  const char* op;
  std::vector<Tensor> in;
  Shape shape;
  std::vector<Attr> attrs = {};
};

// One problem an op, large enough for several threads, with a tail at any vector width.
std::vector<Problem> problems(DType dtype) {
  const Shape large = {173, 401}, row = {1, 401};
  std::vector<Problem> list;
  for (const char* op : {"neg", "exp", "sin", "cos", "sigmoid", "silu", "is_finite"}) {
    list.push_back({op, {random_tensor(dtype, large, 1, -20, 20)}, large});
  }
  for (const char* op : {"log", "sqrt", "rsqrt"}) {
    list.push_back({op, {random_tensor(dtype, large, 2, 1e-3, 20)}, large});
  }
  for (const char* op : {"add", "sub", "mul", "div", "min", "max", "silu_grad"}) {
    const Tensor repeated = random_tensor(dtype, row, 4).view(large, {0, 1}, 0);
    const Tensor column = random_tensor(dtype, {173, 1}, 5).view(large, {1, 0}, 0);
    list.push_back({op, {random_tensor(dtype, large, 3), repeated}, large});
    list.push_back({op, {column, random_tensor(dtype, large, 6)}, large});
  }
  for (const char* order : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    const Tensor x = random_tensor(dtype, large, 7), y = random_tensor(dtype, large, 8);
    list.push_back({"compare", {x, y}, large, {std::string(order)}});
  }
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{{0}, {1}, {0, 1}}) {
    Shape kept;
    for (int64_t d = 0; d < 2; ++d) {
      if (std::ranges::count(dims, d) == 0) kept.push_back(large[d]);
    }
    list.push_back({"reduce_sum", {random_tensor(dtype, large, 9)}, kept, {dims}});
  }
  const Shape deep = {7, 150, 90};
  list.push_back(
      {"reduce_sum", {random_tensor(dtype, deep, 10)}, {7, 90}, {std::vector<int64_t>{1}}});
  list.push_back(
      {"reduce_sum", {random_tensor(dtype, deep, 11)}, {150}, {std::vector<int64_t>{0, 2}}});
  for (int64_t d = 0; d < 3; ++d) {
    Shape kept = deep;
    kept.erase(kept.begin() + d);
    list.push_back({"reduce_max", {random_tensor(dtype, deep, 12)}, kept, {d}});
  }
  return list;
}

TEST(Elementwise, GivesTheSameBitsAtBothWidths) {
  if (base::vector_width() != VectorWidth::avx512) GTEST_SKIP() << "no AVX-512 on this machine";
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Problem& p : problems(dtype)) {
      const Tensor narrow = Caller{1, VectorWidth::avx2}(p.op, p.in, p.shape, p.attrs);
      const Tensor wide = Caller{1, VectorWidth::avx512}(p.op, p.in, p.shape, p.attrs);
      EXPECT_TRUE(host::same_bits(narrow, wide)) << p.op << " " << to_text(dtype);
    }
  }
}

TEST(Elementwise, GivesTheSameBitsOnAnyNumberOfThreads) {
  const VectorWidth width = base::vector_width();
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Problem& p : problems(dtype)) {
      const Tensor one = Caller{1, width}(p.op, p.in, p.shape, p.attrs);
      for (const int threads : {2, 5}) {
        const Tensor many = Caller{threads, width}(p.op, p.in, p.shape, p.attrs);
        EXPECT_TRUE(host::same_bits(one, many)) << p.op << " on " << threads << " threads";
      }
    }
  }
}

TEST(Elementwise, TakesTheMemoryOfAnOperandThatNobodyElseHolds) {
  const OpDef* add = graph::find_op(table(), "add");
  const base::WorkerPool pool(1);
  const DType dtypes[] = {DType::f32};
  const Shape shapes[] = {{100}};
  const EvalContext context{pool, VectorWidth::avx2, {}, dtypes, shapes, {}, {}};
  const Tensor kept = random_tensor(DType::f32, {100}, 1);
  std::vector<Tensor> in = {kept, random_tensor(DType::f32, {100}, 2)};
  const Tensor copies[] = {kept.clone(), in[1].clone()};
  const std::byte* free_memory = in[1].raw();
  Tensor out;
  add->eval.f32(context, in, {&out, 1}, {});
  EXPECT_EQ(out.raw(), free_memory);
  EXPECT_TRUE(host::same_bits(kept, copies[0]));
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(out.data<float>()[i], copies[0].data<float>()[i] + copies[1].data<float>()[i]);
  }
}

// The definition of reduce_sum's order, element by element.
float sum_by_definition(const std::vector<float>& x) {
  float total = 0;
  for (size_t start = 0; start < x.size(); start += 8192) {
    float lane[16] = {};
    const size_t end = std::min(x.size(), start + 8192);
    for (size_t i = start; i < end; ++i) lane[(i - start) % 16] += x[i];
    for (int half = 8; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) lane[k] += lane[k + half];
    }
    total += lane[0];
  }
  return total;
}

float column_by_definition(const std::vector<float>& x) {
  float total = 0;
  for (size_t start = 0; start < x.size(); start += 64) {
    float sum = 0;
    for (size_t i = start; i < std::min(x.size(), start + 64); ++i) sum += x[i];
    total += sum;
  }
  return total;
}

TEST(ReduceSum, AddsInTheDefinedOrder) {
  for (const int64_t n : {0, 1, 15, 16, 17, 100, 8191, 8192, 8193, 20000}) {
    const Tensor x = random_tensor(DType::f32, {2, n}, n);
    const Tensor rows = Caller{}("reduce_sum", {x}, {2}, {std::vector<int64_t>{1}});
    // The same numbers as columns, by a transposed view.
    const Tensor columns =
        Caller{}("reduce_sum", {x.clone().view({n, 2}, {1, n}, 0)}, {2}, {std::vector<int64_t>{0}});
    for (int64_t r = 0; r < 2; ++r) {
      const float* row = x.data<float>() + r * n;
      const std::vector<float> numbers(row, row + n);
      EXPECT_EQ(rows.data<float>()[r], sum_by_definition(numbers)) << n;
      EXPECT_EQ(columns.data<float>()[r], column_by_definition(numbers)) << n;
    }
  }
}

TEST(ReduceSum, SumsViewsLikeTheirCopies) {
  uint64_t salt = 1000;
  for (const Shape& shape : view_shapes) {
    for (uint32_t set = 0; set < (1u << shape.size()); ++set) {
      std::vector<int64_t> dims;
      Shape kept;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (set >> d & 1) {
          dims.push_back(static_cast<int64_t>(d));
        } else {
          kept.push_back(shape[d]);
        }
      }
      const Tensor view = random_view(DType::f32, shape, ++salt);
      const Tensor a = Caller{}("reduce_sum", {view}, kept, {dims});
      const Tensor b = Caller{}("reduce_sum", {view.clone()}, kept, {dims});
      EXPECT_TRUE(host::same_bits(a, b)) << "salt " << salt << ", seed " << seed;
      std::map<Shape, double> sums;
      for_each_index(shape, [&](const Shape& i) {
        Shape key;
        for (size_t d = 0; d < shape.size(); ++d) {
          if (!(set >> d & 1)) key.push_back(i[d]);
        }
        sums[key] += at<float>(view, i);
      });
      for (const auto& [key, sum] : sums) {
        // 20,000 numbers of at most 3, 16 lanes: a few thousand roundings of 2^-24 of the sum.
        EXPECT_NEAR(at<float>(a, key), sum, 2e-2) << "salt " << salt << ", seed " << seed;
      }
    }
  }
}

TEST(ReduceMax, IsNanWhereThereIsOne) {
  for (const int64_t n : {1, 5, 16, 40}) {
    for (int64_t place = 0; place < n; ++place) {
      Tensor x = random_tensor(DType::f32, {n}, n);
      x.data<float>()[place] = NAN;
      const Tensor y = Caller{}("reduce_max", {x}, {}, {int64_t{0}});
      EXPECT_TRUE(std::isnan(*y.data<float>())) << place << " of " << n;
      x.data<float>()[place] = INFINITY;
      const Tensor z = Caller{}("reduce_max", {x}, {}, {int64_t{0}});
      EXPECT_EQ(*z.data<float>(), INFINITY);
    }
  }
}

TEST(Reshape, KeepsTheOrderOfElementsForAnyStrides) {
  uint64_t salt = 2000;
  const std::vector<std::pair<Shape, Shape>> pairs = {
      {{6, 4}, {3, 8}}, {{2, 3, 4}, {6, 4}},    {{2, 3, 4}, {2, 12}}, {{4, 1, 5}, {20}},
      {{20}, {4, 5}},   {{2, 3, 4}, {4, 3, 2}}, {{}, {1, 1}},         {{1, 1}, {}},
      {{0, 3}, {5, 0}}, {{8, 6}, {2, 2, 2, 6}}, {{7, 1}, {1, 7}}};
  for (const auto& [from, to] : pairs) {
    for (int round = 0; round < 20; ++round) {
      const Tensor x = random_view(DType::f32, from, ++salt);
      const Tensor y = Caller{}("reshape", {x}, to);
      EXPECT_EQ(y.shape(), to);
      EXPECT_TRUE(host::same_bits(y, x.clone().view(to, host::row_major(to), 0)))
          << "salt " << salt << ", seed " << seed;
    }
  }
  const Tensor x = random_tensor(DType::f32, {6, 4}, 1);
  EXPECT_EQ(Caller{}("reshape", {x}, {24}).raw(), x.raw());
}

TEST(Concat, JoinsViewsOfAnyWidth) {
  uint64_t salt = 3000;
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::boolean}) {
    for (int64_t d = 0; d < 3; ++d) {
      for (const bool dense : {false, true}) {
        std::vector<Tensor> parts;
        Shape shape = {5, 6, 7};
        shape[d] = 0;
        for (const int64_t length : {3, 0, 1, 40}) {
          Shape part = {5, 6, 7};
          part[d] = length;
          shape[d] += length;
          const Tensor view = random_view(dtype, part, ++salt);
          parts.push_back(dense ? view.clone() : view);
        }
        const Tensor y = Caller{2}("concat", parts, shape, {d});
        int64_t start = 0;
        for (const Tensor& part : parts) {
          EXPECT_TRUE(host::same_bits(strided_view(y, d, start, part.dim(d), 1), part))
              << "dim " << d << ", salt " << salt << ", seed " << seed;
          start += part.dim(d);
        }
      }
    }
  }
}

TEST(Cast, AgreesWithTheHostOnEveryPair) {
  const std::vector<DType> dtypes = {DType::f32, DType::f64, DType::bf16, DType::f16,
                                     DType::i64, DType::i32, DType::u8,   DType::boolean};
  const OpDef* op = graph::find_op(table(), "cast");
  for (const DType from : dtypes) {
    Tensor x = random_tensor(from, {3, 1000}, 1, from == DType::u8 ? 0 : -300, 250);
    if (from == DType::f32) x.data<float>()[0] = NAN, x.data<float>()[1] = 3e38f;
    for (const DType to : dtypes) {
      const Tensor y = Caller{2}.call(*op, {x}, to, {3, 1000}, {});
      EXPECT_TRUE(host::same_bits(y, host::cast(x, to))) << to_text(from) << " to " << to_text(to);
    }
  }
}

}  // namespace
}  // namespace ops
