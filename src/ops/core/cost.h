// Cost rules that ops share. Bytes: every operand and result moved once.
#pragma once

#include "graph/op.h"

namespace ops {

graph::Expr element_count(const graph::Type& type);
graph::Expr byte_count(const graph::Type& type);

// `flops` operations per element of the first result.
graph::Cost cost_per_element(int64_t flops, graph::TypesIn in, graph::TypesIn out);

template <int64_t flops>
graph::Cost elementwise_cost(graph::TypesIn in, graph::TypesIn out, const graph::Attrs&) {
  return cost_per_element(flops, in, out);
}

// As above, per element of the first operand: reductions.
template <int64_t flops>
graph::Cost operand_cost(graph::TypesIn in, graph::TypesIn out, const graph::Attrs&) {
  graph::Cost cost = cost_per_element(0, in, out);
  cost.flops = element_count(in[0]) * flops;
  return cost;
}

// A view: nothing moves.
graph::Cost view_cost(graph::TypesIn in, graph::TypesIn out, const graph::Attrs& attrs);
// A copy into the results: they are written, and as much is read.
graph::Cost copy_cost(graph::TypesIn in, graph::TypesIn out, const graph::Attrs& attrs);

}  // namespace ops
