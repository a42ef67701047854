// The shape rule that scatter_rows and scatter_add_rows share.
#pragma once

#include "graph/builder.h"

namespace ops {

inline constexpr graph::AttrSpec scatter_rows_attrs[] = {{"rows", graph::AttrSpec::Kind::dim}};

// x [N, ...], rows i64[N] -> [rows, ...].
graph::Types infer_scatter_rows(graph::Shapes& s, graph::TypesIn in, const graph::Attrs& attrs);

}  // namespace ops
