// sizes: reads counts to the host, where each becomes a size of the graph (design: symbolic shapes
// 6.1). The only op that waits for data. It bears one size per element; that each is >= 0 is
// implied, other facts stand at the node. The interpreter verifies all of them once they are read.
#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  s.need_dtype(in[0], DType::i64, "counts");
  s.need_rank(in[0], 1, "counts");
  s.number(in[0].dims[0], "the number of counts");
  return {};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut, const Attrs&) {
  const Tensor counts = in[0].contiguous();
  const int64_t n = counts.count();
  if (n != static_cast<int64_t>(context.borne.size())) {
    fail_check("sizes: {} counts for {} sizes", n, context.borne.size());
  }
  std::copy_n(counts.data<int64_t>(), n, context.borne.begin());
}

constexpr graph::Sample samples[] = {{"i64[8] counts of 40"},
                                     {"i64[3] counts of u0"},
                                     {"i64[1] counts of 5"},
                                     {"i64[4] counts of 0"}};

}  // namespace

extern const graph::OpDef sizes_op{.name = "sizes",
                                   .about = "counts as sizes of the graph, read to the host",
                                   .syntax = graph::Syntax::sizes,
                                   .may_fail = true,
                                   .unique = true,
                                   .infer = infer,
                                   .eval = {eval, eval},
                                   .cost = touch_cost,
                                   .samples = samples};

// The fact: the counts add up to `total`. That each is at most `total` follows.
std::vector<Expr> sizes(Here h, Value counts_E, std::string_view prefix, const Expr& total) {
  Builder& b = h.builder;
  const auto count = b.rank(counts_E) == 1 ? b.facts().number(b.dim(counts_E, 0)) : std::nullopt;
  if (!count) {
    base::fail_user(base::Exit::config,
                    "sizes: counts must be i64[E] with a number for E, found {}",
                    graph::display_type(b.graph(), b.type(counts_E)));
  }
  const std::vector<Expr> u = b.add_sizes(h, sizes_op, counts_E, *count, prefix);
  const graph::NodeId node{static_cast<uint32_t>(b.graph().nodes.size() - 1)};
  b.add_facts(node, {{sym::sum(u), Fact::Relation::equal, total}});
  return u;
}

}  // namespace ops
