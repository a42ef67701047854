// histogram: how often each number of [0, bins) occurs in ids, of any shape.
#include <algorithm>

#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  need_indices(s, in[0], "ids");
  s.require({attrs.dim("bins"), Fact::Relation::at_least, 0}, "bins is at least 0");
  return {{DType::i64, {attrs.dim("bins")}, {}}};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  out[0] = context.make(0);
  const Tensor ids = checked_indices(in[0], out[0].count(), "histogram");
  int64_t* bin = out[0].data<int64_t>();
  std::fill_n(bin, out[0].count(), 0);
  const int64_t* id = ids.data<int64_t>();
  for (int64_t i = 0; i < ids.count(); ++i) ++bin[id[i]];
}

constexpr graph::AttrSpec attrs[] = {{"bins", graph::AttrSpec::Kind::dim}};

constexpr graph::Sample samples[] = {
    {"i64[37] below 8 | bins=8"}, {"i64[u0] below 3 | bins=8"}, {"i64[4,3] below 5 | bins=u0 + 5"},
    {"i64[0] | bins=0"},          {"i64[0] | bins=3"},          {"i64[] below 2 | bins=2"},
    {"i64[1] below 1 | bins=1"},
};

}  // namespace

extern const graph::OpDef histogram_op{.name = "histogram",
                                       .about = "how often each number of [0, bins) occurs",
                                       .attrs = attrs,
                                       .may_fail = true,
                                       .infer = infer,
                                       .eval = {eval, eval},
                                       .cost = touch_cost,
                                       .samples = samples};

Value histogram(Here h, Value ids, const Expr& bins) {
  return h.builder.add1(h, histogram_op, {{ids}}, {{"bins", bins}});
}

}  // namespace ops
