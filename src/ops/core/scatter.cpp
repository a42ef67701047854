// The shape rule that scatter_rows and scatter_add_rows share.
#include "ops/core/scatter.h"

#include "ops/core/indices.h"

namespace ops {

graph::Types infer_scatter_rows(graph::Shapes& s, graph::TypesIn in, const graph::Attrs& attrs) {
  if (in[0].dims.empty()) s.refuse("x must have rows, found {}", s.text(in[0]));
  need_indices(s, in[1], "rows");
  s.need_rank(in[1], 1, "rows");
  s.require_equal(in[0].dims[0], in[1].dims[0], "each row of x has one index");
  s.require({attrs.dim("rows"), graph::Fact::Relation::at_least, 0}, "rows is at least 0");
  graph::Type out = in[0];
  out.dims[0] = attrs.dim("rows");
  return {out};
}

}  // namespace ops
