// Tests of whole step graphs: every flavor builds and verifies; the largest stays within its
// budget.
#include "passes/pipeline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "graph/text.h"
#include "model/step.h"

namespace passes {
namespace {

graph::Graph build(const config::ModelArgs& model) {
  model::StepArgs args;
  args.model = model;
  args.seq_len = model.max_seq_len;
  model::Step step(args, model::Step::Form::whole);
  graph::Graph g = build_step(
      "step", {.forward_loss = [&](graph::Builder& b) { return step.forward_loss(b); },
               .parameters = [&] { return step.parameters(); },
               .add_update = [&](graph::Builder& b, graph::ValuesIn d) { step.add_update(b, d); }});
  EXPECT_EQ(step.outputs().size(), g.returns.size());
  return g;
}

config::ModelArgs flavor(const std::string& name, bool grouped) {
  config::ModelArgs args = config::flavor_args(name, 4096);
  args.moe_args.use_grouped_mm = grouped;
  return args;
}

TEST(StepGraph, DebugModelVerifies) {
  for (const bool grouped : {false, true}) {
    graph::verify(build(flavor("debugmodel", grouped)), ops::table());
    graph::verify(build(flavor("debugmodel_flex_attn", grouped)), ops::table());
  }
}

TEST(StepGraph, LintSeesEqualNumbersOfDifferentNames) {
  graph::Builder b("lint", "", ops::table());
  const sym::Expr D = b.constant("D", 256), H = b.constant("H", 256), N = b.size("N", 3);
  const graph::Value x = b.input(graph::InputKind::in, "x", {graph::DType::f32, {N, D}, {}});
  const graph::Value w = b.input(graph::InputKind::param, "w", {graph::DType::f32, {H, D}, {}});
  ops::matmul(b, x, w);  // the transpose is forgotten; the numbers hide it
  const auto found = graph::lint(std::move(b).finish());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("D and H are different names of one number"), std::string::npos);
}

TEST(StepGraph, LargeFlavorsVerifyGrouped) {
  for (const char* name : {"16B", "236B", "671B"}) {
    graph::verify(build(flavor(name, true)), ops::table());
  }
}

// 26 layers of 64 experts print as one layer of one expert, forward and backward, and read back.
TEST(StepGraph, FoldsAndReadsBack) {
  for (const char* name : {"debugmodel", "16B"}) {
    const graph::Graph g = build(flavor(name, false));
    const std::string text = graph::print(g);
    EXPECT_LT(std::ranges::count(text, '\n'), 2000) << name;
    const graph::Graph again = graph::parse(text, "step.graph", ops::table());
    EXPECT_TRUE(graph::same_structure(g, again)) << name;
    EXPECT_EQ(graph::print(again), text) << name;
  }
}

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Looped experts of 671B: 58 layers of 256 experts. Its time is the bench's to tell.
TEST(StepGraph, Of671BTakesLessThanAGibibyte) {
  const int64_t before = resident_bytes();
  const graph::Graph g = build(flavor("671B", false));
  EXPECT_LT(resident_bytes() - before, int64_t{1} << 30);
  EXPECT_GT(g.nodes.size(), 58u * 256u * 15u);
}

TEST(StepGraph, GrowsLinearlyWithExperts) {
  config::ModelArgs args = flavor("16B", false);
  const size_t all = build(args).nodes.size();
  args.moe_args.num_experts = 32;
  const size_t half = build(args).nodes.size();
  EXPECT_LT(all, 2 * half);
}

}  // namespace
}  // namespace passes
