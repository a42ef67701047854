// The flavor table against the counts and FLOPs of reference 1.11.
#include "config/model_args.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace config {
namespace {

struct Expected {
  const char* flavor;
  int64_t dense, sparse, total, active;
  double flops;
  int64_t seq_len;
};

TEST(ModelArgs, CountsAndFlopsAreTheReferences) {
  const Expected rows[] = {
      {"debugmodel", 23173376, 9840640, 33014016, 28098816, 542934528, 2048},
      {"debugmodel_flex_attn", 23173376, 9840640, 33014016, 28098816, 542934528, 2048},
      {"16B", 858385920, 14848098304, 15706484224, 2661150208, 18105996288, 4096},
      {"236B", 10191590400, 225549844480, 235741434880, 21375800320, 185507051520, 4096},
      {"671B", 14456871936, 656569532416, 671026404352, 37552282624, 281158232064, 4096}};
  for (const Expected& row : rows) {
    const ModelArgs args = flavor_args(row.flavor, row.seq_len);
    const ParameterCounts counts = count_parameters(args);
    EXPECT_EQ(counts.dense, row.dense) << row.flavor;
    EXPECT_EQ(counts.router + counts.shared + counts.experts, row.sparse) << row.flavor;
    EXPECT_EQ(counts.total, row.total) << row.flavor;
    EXPECT_EQ(counts.active, row.active) << row.flavor;
    EXPECT_EQ(flops_per_token(args, row.seq_len), row.flops) << row.flavor;
    EXPECT_EQ(args.max_seq_len, row.seq_len) << row.flavor;
  }
  EXPECT_EQ(flavor_names().size(), std::size(rows));
}

TEST(ModelArgs, FlavorsDifferWhereTheReferenceSaysSo) {
  EXPECT_FALSE(flavor_args("debugmodel", 256).masks_documents());
  EXPECT_TRUE(flavor_args("debugmodel_flex_attn", 256).masks_documents());
  const ModelArgs big = flavor_args("671B", 4096);
  EXPECT_EQ(big.n_moe_layers(), 58);
  EXPECT_EQ(big.moe_args.score_func, "sigmoid");
  EXPECT_EQ(big.moe_args.num_expert_groups, 8);
  EXPECT_EQ(big.moe_args.num_limited_groups, 4);
  EXPECT_FALSE(big.moe_args.use_grouped_mm);
  EXPECT_FALSE(big.moe_args.score_before_experts);
}

TEST(ModelArgs, UnknownFlavorNamesTheKnownOnes) {
  try {
    flavor_args("17B", 256);
    FAIL();
  } catch (const base::UserError& error) {
    EXPECT_EQ(error.message(),
              "model.flavor is \"17B\": expected one of debugmodel, debugmodel_flex_attn, 16B, "
              "236B, 671B");
    EXPECT_EQ(error.exit(), base::Exit::config);
  }
}

TEST(ModelArgs, TooManyParametersIsAnErrorNotAnOverflow) {
  ModelArgs args = flavor_args("671B", 4096);
  args.dim = args.moe_inter_dim = 1 << 20;
  args.moe_args.num_experts = 1 << 16;
  EXPECT_THROW(count_parameters(args), base::UserError);
}

}  // namespace
}  // namespace config
