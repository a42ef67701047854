// Comparison of safetensors files.
#include "host/compare.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "base/files.h"

namespace host {
namespace {

template <class T>
NamedTensor named(std::string name, DType dtype, Shape shape, std::vector<T> values) {
  Tensor x = Tensor::make(dtype, std::move(shape));
  std::copy(values.begin(), values.end(), x.data<T>());
  return {std::move(name), x};
}

NamedTensor floats(std::string name, Shape shape, std::vector<float> values) {
  return named<float>(std::move(name), DType::f32, std::move(shape), std::move(values));
}
NamedTensor doubles(std::string name, Shape shape, std::vector<double> values) {
  return named<double>(std::move(name), DType::f64, std::move(shape), std::move(values));
}
NamedTensor integers(std::string name, Shape shape, std::vector<int64_t> values) {
  return named<int64_t>(std::move(name), DType::i64, std::move(shape), std::move(values));
}

FileDifference difference(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b,
                          double rtol) {
  const std::string path = base::format("{}heddle-compare-{}", testing::TempDir(), getpid());
  write_safetensors(path + "a", a, {}, base::Exit::checkpoint);
  write_safetensors(path + "b", b, {}, base::Exit::checkpoint);
  const SafetensorsFile file_a(path + "a", base::Exit::checkpoint);
  const SafetensorsFile file_b(path + "b", base::Exit::checkpoint);
  base::remove_file(path + "a", base::Exit::checkpoint);
  base::remove_file(path + "b", base::Exit::checkpoint);
  return compare(file_a, file_b, rtol);
}

TEST(Compare, MeasuresAgainstTheLargestOfTheReference) {
  const auto d = difference({floats("w", {2, 2}, {1, 2, 3.5, 5})},
                            {doubles("w", {2, 2}, {1, 2.25, 3, 4})}, 0.2);
  ASSERT_EQ(d.common.size(), 1u);
  const TensorDifference& w = d.common[0];
  EXPECT_EQ(w.max_abs, 1);
  EXPECT_EQ(w.relative, 0.25);
  EXPECT_TRUE(w.over);
  EXPECT_EQ(w.place, (Shape{1, 1})) << "the first over the tolerance";
  EXPECT_EQ(w.value_a, 5);
  EXPECT_EQ(w.value_b, 4);
  EXPECT_FALSE(d.agrees());
  EXPECT_EQ(
      to_text(d, 0.2),
      "OVER  w  F32 [2, 2] and F64 [2, 2]  max abs 1  relative 0.25  first at [1, 1]: 5 and 4\n"
      "1 tensors compared, 1 over rtol 0.2\n");
  const auto loose = difference({floats("w", {2, 2}, {1, 2, 3.5, 5})},
                                {doubles("w", {2, 2}, {1, 2.25, 3, 4})}, 0.25);
  EXPECT_TRUE(loose.agrees());
  EXPECT_EQ(loose.common[0].place, (Shape{0, 1})) << "the first that differs at all";
}

TEST(Compare, NamesShapesAndNothingInCommon) {
  const auto d = difference({floats("a", {1}, {1}), floats("s", {2}, {1, 2})},
                            {floats("s", {1, 2}, {1, 2}), floats("z", {1}, {1})}, 1);
  EXPECT_EQ(d.only_a, std::vector<std::string>{"a"});
  EXPECT_EQ(d.only_b, std::vector<std::string>{"z"});
  EXPECT_FALSE(d.common[0].same_shape);
  EXPECT_FALSE(d.agrees());
  EXPECT_EQ(to_text(d, 1),
            "OVER  s  F32 [2] and F32 [1, 2]: shapes differ\nonly in A (1): a\nonly in B (1): z\n"
            "1 tensors compared, 1 over rtol 1\n");
  const auto none = difference({floats("a", {1}, {1})}, {floats("b", {1}, {1})}, 1);
  EXPECT_FALSE(none.agrees());
  EXPECT_NE(to_text(none, 1).find("no name is in both files"), std::string::npos);
}

TEST(Compare, EmptyTensorsAndZerosAgree) {
  const auto d = difference({floats("e", {0, 3}, {}), floats("z", {2}, {0, 0})},
                            {floats("e", {0, 3}, {}), floats("z", {2}, {0, -0.0f})}, 0);
  EXPECT_TRUE(d.agrees());
  EXPECT_FALSE(d.common[1].differs);
}

TEST(Compare, AgainstZerosAnyErrorIsInfinite) {
  const auto d = difference({floats("z", {2}, {0, 1e-30f})}, {floats("z", {2}, {0, 0})}, 1e9);
  EXPECT_TRUE(std::isinf(d.common[0].relative));
  EXPECT_TRUE(d.common[0].over);
}

TEST(Compare, NanAndInfinity) {
  const float inf = INFINITY;
  const auto same =
      difference({floats("w", {3}, {NAN, inf, 1})}, {floats("w", {3}, {NAN, inf, 1})}, 0);
  EXPECT_TRUE(same.agrees());
  for (const float wrong : {NAN, inf, -inf}) {
    const auto d = difference({floats("w", {2}, {1, wrong})}, {floats("w", {2}, {1, 1})}, 1e30);
    EXPECT_FALSE(d.agrees()) << wrong;
    EXPECT_EQ(d.common[0].place, Shape{1});
  }
  EXPECT_FALSE(difference({floats("w", {1}, {-inf})}, {floats("w", {1}, {inf})}, 1).agrees());
}

TEST(Compare, WholeNumbersAreExactTo64Bits) {
  const int64_t big = (int64_t{1} << 62) + 1;
  const auto d = difference({integers("n", {1}, {big})}, {integers("n", {1}, {big - 1})}, 0);
  EXPECT_EQ(d.common[0].max_abs, 1);
  EXPECT_FALSE(d.agrees());
}

TEST(Compare, RouterRowsAreSetsAndScoresFollowTheirIds) {
  const std::vector<NamedTensor> a = {
      integers("router.3.ids", {2, 3}, {5, 1, 7, 0, 2, 4}),
      floats("router.3.top_scores", {2, 3}, {.5, .1, .7, 0, .2, .4}),
      integers("other.ids", {2}, {1, 2})};
  const std::vector<NamedTensor> b = {
      integers("router.3.ids", {2, 3}, {1, 5, 7, 4, 2, 0}),
      floats("router.3.top_scores", {2, 3}, {.1, .5, .7, .4, .2, 0}),
      integers("other.ids", {2}, {2, 1})};
  const auto d = difference(a, b, 0);
  ASSERT_EQ(d.common.size(), 3u);
  EXPECT_TRUE(d.common[0].over) << "other.ids is no router tensor";
  EXPECT_FALSE(d.common[1].over);
  EXPECT_FALSE(d.common[2].over);
  std::vector<NamedTensor> wrong = b;
  wrong[0].tensor = integers("", {2, 3}, {1, 5, 6, 4, 2, 0}).tensor;
  const auto over = difference(a, wrong, 0);
  EXPECT_TRUE(over.common[1].over);
  EXPECT_EQ(over.common[1].place, (Shape{0, 2}));
}

// Float32 PyTorch against float64 PyTorch: the same model, so close but not equal.
TEST(Compare, GoldenFilesAgreeToFloat32) {
  const std::string folder = HEDDLE_SOURCE_DIR "/tests/goldens/tiny-softmax/";
  const SafetensorsFile f32(folder + "expected.f32.safetensors", base::Exit::checkpoint);
  const SafetensorsFile f64(folder + "expected.f64.safetensors", base::Exit::checkpoint);
  const FileDifference d = compare(f32, f64, 2e-3);
  EXPECT_TRUE(d.agrees()) << to_text(d, 2e-3);
  EXPECT_TRUE(d.only_a.empty() && d.only_b.empty());
  EXPECT_FALSE(compare(f32, f64, 1e-12).agrees());
  EXPECT_TRUE(compare(f64, f64, 0).agrees());
}

}  // namespace
}  // namespace host
