// The pass driver with small passes, one of each kind of misbehaviour.
#include "graph/run_passes.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/builder.h"
#include "graph/fake_ops_test.h"
#include "graph/pass_golden_test.h"
#include "graph/text.h"

namespace graph {
namespace {

constexpr std::string_view sizes_known = "sizes_known";

Graph drop_silu(Graph g, const PassContext& context) {
  std::vector<Value> same(g.values.size());
  for (uint32_t i = 0; i < same.size(); ++i) same[i] = {i};
  for (Node& n : g.nodes) {
    for (Value& v : n.in) v = same[v.id];
    if (n.op->name != "silu") continue;
    if (g.type(n.in[0]).dtype == DType::i64) {
      base::fail_user(base::Exit::config, "cannot drop silu of {}",
                      display_type(g, g.type(n.in[0])));
    }
    if (context.rewrite("drop a silu")) same[n.out[0].id] = n.in[0];
  }
  for (Value& v : g.returns) v = same[v.id];
  return without_dead_nodes(g);
}

Graph rename(Graph g, const PassContext& context) {
  for (ValueInfo& v : g.values) {
    if (context.rewrite("rename")) v.name += "_r";
  }
  return g;
}

Graph leave_alone(Graph g, const PassContext& context) {
  context.rewrite("nothing");
  return g;
}

Graph lie(Graph g, const PassContext&) {
  g.title = "changed in secret";
  return g;
}

Graph break_type(Graph g, const PassContext& context) {
  if (context.rewrite("break")) g.values.back().type.dtype = DType::i64;
  return g;
}

Graph break_order(Graph g, const PassContext& context) {
  if (context.rewrite("break")) std::swap(g.nodes.front(), g.nodes.back());
  return g;
}

Graph break_index(Graph g, const PassContext& context) {
  if (context.rewrite("break")) g.nodes.back().in[0] = {12345};
  return g;
}

Graph throw_standard(Graph, const PassContext&) { throw std::out_of_range("vector"); }

constexpr std::string_view gives_sizes[] = {sizes_known};
const Pass drop_silu_pass{.name = "drop_silu", .run = drop_silu, .exact = true};
const Pass rename_pass{.name = "rename", .run = rename, .gives = gives_sizes};
const Pass leave_pass{.name = "leave_alone", .run = leave_alone, .needs = gives_sizes};
const Pass lie_pass{.name = "lie", .run = lie};
const Pass break_type_pass{.name = "break_type", .run = break_type};
const Pass break_order_pass{.name = "break_order", .run = break_order};
const Pass break_index_pass{.name = "break_index", .run = break_index};
const Pass throw_pass{.name = "throw", .run = throw_standard};
const Pass* const good_passes[] = {&drop_silu_pass, &rename_pass, &leave_pass};

Graph sample() {
  return parse(R"(graph t "" {
  size N=6
  in %x : f32[N]
  %a : f32[N] = silu(%x)
  %b : f32[N] = mul(%a, %x)
  %c : f32[N] = silu(%b)
  return %c
})",
               "sample.graph", fake::table());
}

struct Outcome {
  Graph graph;
  std::vector<PassRecord> records;
};

Outcome run(std::span<const Pass* const> passes, const PassSwitches& switches = {},
            const PassHook& hook = {}) {
  Outcome out;
  out.graph = run_passes(sample(), passes, fake::table(), switches, out.records, hook);
  return out;
}

// The message of the error that `passes` end in.
template <class ErrorKind>
std::string failure(std::span<const Pass* const> passes, const PassSwitches& switches = {}) {
  std::vector<PassRecord> records;
  try {
    run_passes(sample(), passes, fake::table(), switches, records);
  } catch (const ErrorKind& e) {
    if (!records.empty()) {
      EXPECT_EQ(records.back().before.find("graph t"), 0u);
    }
    return e.message();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

std::string broken(const Pass& pass, const PassSwitches& switches = {}) {
  const Pass* const list[] = {&pass};
  return failure<base::InternalError>(list, switches);
}

bool has(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

TEST(RunPasses, RecordsWhatEachDid) {
  std::vector<std::string> hooked;
  PassSwitches switches;
  switches.dump = "rename";
  const Outcome r =
      run(good_passes, switches, [&](const Pass& p, const Graph& before, const Graph& after) {
        hooked.emplace_back(p.name);
        EXPECT_FALSE(same_structure(before, after));
      });
  ASSERT_EQ(r.records.size(), 3u);
  EXPECT_EQ(r.records[0].rewrites, 2);
  EXPECT_EQ(r.records[0].nodes_before, 3u);
  EXPECT_EQ(r.records[0].nodes_after, 1u);
  EXPECT_TRUE(r.records[0].changed && r.records[1].changed);
  EXPECT_FALSE(r.records[2].changed);
  EXPECT_EQ(r.records[2].rewrites, 1);
  EXPECT_TRUE(r.records[0].before.empty() && r.records[2].after.empty());
  EXPECT_TRUE(has(r.records[1].before, "%b       :") && has(r.records[1].after, "%b_r     :"));
  EXPECT_GE(r.records[0].seconds, 0);
  EXPECT_EQ(hooked, (std::vector<std::string>{"drop_silu", "rename"}));
  EXPECT_EQ(r.graph.nodes.size(), 1u);
}

TEST(RunPasses, Switches) {
  PassSwitches stop;
  stop.stop_after = "drop_silu";
  EXPECT_EQ(run(good_passes, stop).records.size(), 1u);
  PassSwitches off;
  off.disable = {"drop_silu"};
  const Outcome r = run(good_passes, off);
  EXPECT_TRUE(r.records[0].skipped);
  EXPECT_FALSE(r.records[0].changed || r.records[1].skipped);
  EXPECT_EQ(r.graph.nodes.size(), 3u);
  // The limit goes over all passes: the third rewrite is the first of the second pass.
  for (int64_t limit = 0; limit <= 7; ++limit) {
    PassSwitches limited;
    limited.rewrite_limit = limit;
    const Outcome l = run(good_passes, limited);
    int64_t done = 0;
    for (const PassRecord& record : l.records) done += record.rewrites;
    EXPECT_EQ(done, std::min<int64_t>(limit, l.graph.values.size() + 3));
    EXPECT_EQ(l.graph.nodes.size(), static_cast<size_t>(3 - std::min<int64_t>(limit, 2)));
    EXPECT_EQ(l.graph.values[0].name, limit >= 3 ? "x_r" : "x");
  }
}

TEST(RunPasses, UnknownNamesInSwitches) {
  PassSwitches s;
  s.dump = "drop_sliu";
  EXPECT_EQ(failure<base::UserError>(good_passes, s),
            "compile.dump: there is no pass drop_sliu; did you mean drop_silu");
  s = {};
  s.stop_after = "shard_everything";
  EXPECT_EQ(failure<base::UserError>(good_passes, s),
            "compile.stop_after: there is no pass shard_everything; there are drop_silu, rename, "
            "leave_alone");
  s = {};
  s.disable = {"drop_silu", "renam"};
  EXPECT_EQ(failure<base::UserError>(good_passes, s),
            "compile.disable_passes: there is no pass renam; did you mean rename");
  s = {};
  s.stop_after = "x";
  EXPECT_EQ(failure<base::UserError>({}, s),
            "compile.stop_after: there is no pass x; this graph goes through no passes");
}

TEST(RunPasses, NeedsAndGives) {
  const Pass* const wrong[] = {&leave_pass, &rename_pass};
  EXPECT_EQ(failure<base::InternalError>(wrong),
            "pass leave_alone needs sizes_known, which no earlier pass gives");
  PassSwitches off;
  off.disable = {"rename"};
  EXPECT_EQ(failure<base::UserError>(good_passes, off),
            "compile.disable_passes: pass leave_alone needs sizes_known, which only the disabled "
            "pass rename gives; disable leave_alone too");
  off.disable = {"rename", "leave_alone"};
  EXPECT_EQ(run(good_passes, off).records.size(), 3u);
  // Another pass that gives the same is enough.
  Pass other = rename_pass;
  other.name = "other";
  const Pass* const two[] = {&rename_pass, &other, &leave_pass};
  off.disable = {"rename"};
  EXPECT_EQ(run(two, off).records.size(), 3u);
}

TEST(RunPasses, BlamesThePass) {
  EXPECT_EQ(
      broken(lie_pass),
      "pass lie changed the graph without asking for a rewrite\n  while running pass lie, 1 of 1");
  const std::string type = broken(break_type_pass);
  EXPECT_TRUE(has(type, "type of %c is i64[N], the op infers f32[N]")) << type;
  EXPECT_TRUE(has(type, "while running pass break_type, 1 of 1")) << type;
  EXPECT_TRUE(has(broken(break_order_pass), "used before it is defined"));
  EXPECT_TRUE(has(broken(break_index_pass), "a node uses a value that does not exist"));
  EXPECT_EQ(broken(throw_pass), "vector\n  while running pass throw, 1 of 1");
  // With verification off the broken graph goes through; an error of the user stays one.
  PassSwitches off;
  off.verify = VerifyMode::off;
  const Pass* const list[] = {&break_type_pass};
  EXPECT_EQ(run(list, off).graph.values.back().type.dtype, DType::i64);
}

TEST(RunPasses, VerifyAllKeepsSourceLines) {
  PassSwitches all;
  all.verify = VerifyMode::all;
  const Outcome r = run(good_passes, all);
  EXPECT_EQ(r.graph.text_file, "sample.graph");
  EXPECT_EQ(r.graph.nodes[0].source.line, 5u);
  EXPECT_TRUE(same_structure(r.graph, run(good_passes).graph));
}

TEST(RunPasses, PassGoldens) {
  expect_pass_goldens("src/graph/pass_texts", good_passes, fake::table());
}

}  // namespace
}  // namespace graph
