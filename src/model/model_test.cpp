// Tests of the model: parameters against the reference's counts, start weights, RoPE, step graphs.
#include <gtest/gtest.h>

#include <cmath>

#include "model/deepseek.h"
#include "model/init.h"

namespace model {
namespace {

using base::DType;

TEST(Quantile, InvertsTheDistributionFunction) {
  for (const double p : {1e-300, 1e-100, 1e-20, 1e-8, 0.001, 0.074, 0.076, 0.3, 0.4999, 0.5001, 0.7,
                         0.924, 0.926, 0.99, 0.99999}) {
    const double x = normal_quantile(p);
    const double back = 0.5 * std::erfc(-x / std::sqrt(2.0));
    // d(log p) = |x| dx: a relative error of 1e-15 in x moves p by about x^2 times that.
    EXPECT_NEAR(back / p, 1.0, 4e-15 * (1 + x * x)) << p;
  }
}

TEST(StartWeights, FollowTheReferenceTable) {
  const config::ModelArgs args = config::flavor_args("debugmodel", 256);
  const auto std_of = [&](const char* name) { return start_distribution(name, args).std; };
  EXPECT_DOUBLE_EQ(std_of("tok_embeddings.weight"), 1.0);
  EXPECT_DOUBLE_EQ(std_of("output.weight"), 1.0 / 16);
  EXPECT_DOUBLE_EQ(std_of("layers.0.attention.wq.weight"), 0.02);
  EXPECT_DOUBLE_EQ(std_of("layers.0.attention.wo.weight"), 0.02 / std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(std_of("layers.3.moe.experts.w1"), 0.02);
  EXPECT_DOUBLE_EQ(std_of("layers.3.moe.experts.w3"), 0.02 / std::sqrt(8.0));
  EXPECT_DOUBLE_EQ(std_of("layers.3.moe.router.gate.weight"), 0.02 / std::sqrt(8.0));
  EXPECT_EQ(start_distribution("layers.3.attention.kv_norm.weight", args).kind,
            Distribution::Kind::ones);
}

TEST(StartWeights, DependOnSeedNameAndIndexOnly) {
  const config::ModelArgs args = config::flavor_args("debugmodel", 256);
  const base::WorkerPool one(1), two(2);
  const char* name = "output.weight";
  const auto a = start_weight(one, name, {300, 256}, DType::f32, 7, args);
  EXPECT_TRUE(same_bits(a, start_weight(two, name, {300, 256}, DType::f32, 7, args)));
  const auto prefix = start_weight(one, name, {10, 256}, DType::f32, 7, args);
  EXPECT_TRUE(same_bits(prefix, a.view({10, 256}, {256, 1}, 0)));
  EXPECT_FALSE(same_bits(a, start_weight(one, name, {300, 256}, DType::f32, 8, args)));
  double sum = 0, squares = 0, most = 0;
  const double n = 300 * 256;
  for (int64_t i = 0; i < a.count(); ++i) {
    const double x = static_cast<double>(a.data<float>()[i]);
    sum += x, squares += x * x, most = std::max(most, std::abs(x));
  }
  const double std = 1.0 / 16;
  EXPECT_LE(most, 3 * std);
  EXPECT_NEAR(sum / n, 0, 5 * std / std::sqrt(n));
  // Cut at 3 sigma the deviation is 0.9866 of the parent's.
  EXPECT_NEAR(std::sqrt(squares / n), 0.98658 * std, 0.02 * std);
}

TEST(Attention, ScaleWithAndWithoutYarn) {
  config::ModelArgs args = config::flavor_args("debugmodel", 2048);
  EXPECT_NEAR(attention_scale(args), 0.07216878364870322, 1e-16);
  args = config::flavor_args("debugmodel", 8192);
  EXPECT_NEAR(attention_scale(args), 0.11425195291833387, 1e-15);
  args = config::flavor_args("671B", 8192);
  EXPECT_NEAR(attention_scale(args), 0.1352337788608801, 1e-15);
}

TEST(Parameters, CountsAreTheReferences) {
  for (const std::string& flavor : config::flavor_names()) {
    const config::ModelArgs args = config::flavor_args(flavor, 4096);
    graph::Builder b("p", "", ops::table());
    const Sizes sizes = declare_sizes(b, args, 1, 4096);
    int64_t total = 0;
    for (const Parameter& p : list_parameters(args, sizes)) {
      int64_t count = 1;
      for (const Expr& d : p.dims) count *= b.facts().number(d).value();
      total += count;
    }
    EXPECT_EQ(total, config::count_parameters(args).total) << flavor;
  }
}

}  // namespace
}  // namespace model
