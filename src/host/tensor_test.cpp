// Tensors: memory, views, copies, and every pair of dtypes.
#include "host/tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace host {
namespace {

constexpr DType every_dtype[] = {DType::f32, DType::f64, DType::bf16, DType::f16,
                                 DType::i64, DType::i32, DType::u8,   DType::boolean};

Tensor numbers(Shape shape) {
  Tensor x = Tensor::make(DType::f32, std::move(shape));
  std::iota(x.data<float>(), x.data<float>() + x.count(), 0.0f);
  return x;
}

std::vector<float> values(const Tensor& x) {
  const Tensor row_major = cast(x, DType::f32).contiguous();
  return {row_major.data<float>(), row_major.data<float>() + row_major.count()};
}

TEST(Tensor, ZeroElementsGiveADistinctHandle) {
  const Tensor a = Tensor::make(DType::f32, {3, 0, 5});
  const Tensor b = Tensor::zeros(DType::f32, {0});
  EXPECT_EQ(a.count(), 0);
  EXPECT_TRUE(a.defined() && b.defined());
  EXPECT_NE(a.raw(), b.raw());
  EXPECT_TRUE(a.is_contiguous());
  EXPECT_TRUE(same_bits(a.clone(), a));
  EXPECT_EQ(cast(a, DType::i64).count(), 0);
  EXPECT_FALSE(Tensor().defined());
}

TEST(Tensor, ScalarHasOneElement) {
  const Tensor x = Tensor::zeros(DType::f64, {});
  EXPECT_EQ(x.count(), 1);
  EXPECT_EQ(x.bytes(), 8);
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_EQ(values(x.clone()), std::vector<float>{0});
}

TEST(Tensor, MemoryIsAlignedAndCounted) {
  const auto account = std::make_shared<MemoryAccount>();
  Tensor a = Tensor::make(DType::f32, {100}, account);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.raw()) % 64, 0u);
  {
    const Tensor b = Tensor::make(DType::u8, {3}, account);
    const Tensor view = b.view({1}, {1}, 2);
    EXPECT_FALSE(b.is_sole_owner());
    EXPECT_EQ(account->live, 403);
  }
  EXPECT_TRUE(a.is_sole_owner());
  EXPECT_EQ(account->live, 400);
  const Tensor rest = a.view({10}, {1}, 0);
  a = Tensor();
  EXPECT_EQ(account->live, 400) << "a view keeps the buffer";
  EXPECT_EQ(account->peak, 403);
}

TEST(Tensor, RefusesMemoryThatCannotBe) {
  const int64_t huge = std::numeric_limits<int64_t>::max() / 4;
  EXPECT_THROW(Tensor::make(DType::f64, {huge}), base::SystemError);
  EXPECT_THROW(Tensor::make(DType::u8, {huge, huge}), base::InternalError);
  EXPECT_EQ(Tensor::make(DType::u8, {huge, huge, 0}).count(), 0);
}

TEST(Tensor, DataChecksTheType) {
  const Tensor x = Tensor::zeros(DType::boolean, {2});
  EXPECT_FALSE(x.data<bool>()[1]);
  EXPECT_THROW(x.data<uint8_t>(), base::InternalError);
  EXPECT_THROW(x.data<float>(), base::InternalError);
}

TEST(Tensor, CopiesOfViews) {
  const Tensor x = numbers({2, 3});
  const Tensor transposed = x.view({3, 2}, {1, 3}, 0);
  EXPECT_FALSE(transposed.is_contiguous());
  EXPECT_EQ(values(transposed), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values(x.view({2, 2}, {3, 1}, 1)), (std::vector<float>{1, 2, 4, 5}));
  EXPECT_EQ(values(x.view({2, 2}, {0, 3}, 2)), (std::vector<float>{2, 5, 2, 5}));
  EXPECT_EQ(values(x.view({3}, {-1}, 2)), (std::vector<float>{2, 1, 0}));
  EXPECT_TRUE(x.view({2, 1, 3}, {3, 77, 1}, 0).is_contiguous()) << "the stride of a 1 is free";
  EXPECT_EQ(x.contiguous().raw(), x.raw());
  EXPECT_NE(x.clone().raw(), x.raw());
  EXPECT_TRUE(same_bits(transposed, transposed.clone()));
  EXPECT_FALSE(same_bits(transposed, x));
  for (const DType dtype : every_dtype) {
    const Tensor typed = cast(x, dtype);
    EXPECT_EQ(values(typed.view({3, 2}, {1, 3}, 0).clone()), values(cast(transposed, dtype)));
  }
}

TEST(Tensor, CastsSmallNumbersBetweenAllTypes) {
  const Tensor x = numbers({2, 2, 50});  // 0 .. 199: exact in every type but bool
  for (const DType from : every_dtype) {
    for (const DType to : every_dtype) {
      const Tensor a = cast(x, from);
      const Tensor b = cast(a, to);
      EXPECT_EQ(b.dtype(), to);
      std::vector<float> expected = values(x);
      if (from == DType::boolean || to == DType::boolean) {
        for (float& v : expected) v = v != 0;
      }
      EXPECT_EQ(values(b), expected) << base::to_text(from) << " to " << base::to_text(to);
    }
  }
}

template <class To, class From>
To cast_one(DType to, DType from, From value) {
  const Tensor x = Tensor::make(from, {1});
  *x.data<From>() = value;
  return *cast(x, to).data<To>();
}

TEST(Tensor, CastsToIntegersAreDefinedEverywhere) {
  const float inf = INFINITY;
  EXPECT_EQ((cast_one<int64_t>(DType::i64, DType::f32, -1.9f)), -1);
  EXPECT_EQ((cast_one<int64_t>(DType::i64, DType::f32, inf)), INT64_MAX);
  EXPECT_EQ((cast_one<int64_t>(DType::i64, DType::f64, -0x1p63)), INT64_MIN);
  EXPECT_EQ((cast_one<int64_t>(DType::i64, DType::f32, NAN)), 0);
  EXPECT_EQ((cast_one<int32_t>(DType::i32, DType::f64, 2147483647.5)), INT32_MAX);
  EXPECT_EQ((cast_one<int32_t>(DType::i32, DType::f32, -inf)), INT32_MIN);
  EXPECT_EQ((cast_one<uint8_t>(DType::u8, DType::f32, -0.5f)), 0);
  EXPECT_EQ((cast_one<uint8_t>(DType::u8, DType::f32, 300.0f)), 255);
  EXPECT_TRUE((cast_one<bool>(DType::boolean, DType::f32, NAN)));
  EXPECT_EQ((cast_one<int64_t>(DType::i64, DType::i32, int32_t{-7})), -7);
  EXPECT_EQ((cast_one<double>(DType::f64, DType::i64, int64_t{1} << 53)), 0x1p53);
}

TEST(Half, EveryValueReadsBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float b = to_float(BF16{static_cast<uint16_t>(bits)});
    const float h = to_float(F16{static_cast<uint16_t>(bits)});
    if (std::isnan(b)) {
      EXPECT_TRUE(std::isnan(to_float(to_bf16(b))));
    } else {
      EXPECT_EQ(to_bf16(b).bits, bits);
    }
    if (std::isnan(h)) {
      EXPECT_TRUE(std::isnan(to_float(to_f16(h))));
    } else {
      EXPECT_EQ(to_f16(h).bits, bits);
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(to_bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(to_bf16(1.0f + 0x1p-8f).bits, 0x3f80);      // a tie, to even
  EXPECT_EQ(to_bf16(1.0f + 3 * 0x1p-8f).bits, 0x3f82);  // a tie, to even
  EXPECT_EQ(to_bf16(std::nextafter(1.0f + 0x1p-8f, 2.0f)).bits, 0x3f81);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::bit_cast<float>(0xffffffffu)))));
  EXPECT_EQ(to_f16(1.0f).bits, 0x3c00);
  EXPECT_EQ(to_f16(1.0f + 0x1p-11f).bits, 0x3c00);
  EXPECT_EQ(to_f16(1.0f + 3 * 0x1p-11f).bits, 0x3c02);
  EXPECT_EQ(to_f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_f16(0x1p-24f).bits, 0x0001);
}

}  // namespace
}  // namespace host
