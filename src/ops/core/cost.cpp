// Cost rules that ops share.
#include "ops/core/cost.h"

namespace ops {

using graph::Cost;
using graph::Expr;
using graph::Type;
using graph::TypesIn;

Expr element_count(const Type& type) { return sym::product(type.dims); }

Expr byte_count(const Type& type) { return element_count(type) * base::byte_size(type.dtype); }

Cost cost_per_element(int64_t flops, TypesIn in, TypesIn out) {
  std::vector<Expr> bytes;
  for (const Type& t : in) bytes.push_back(byte_count(t));
  for (const Type& t : out) bytes.push_back(byte_count(t));
  return {element_count(out[0]) * flops, sym::sum(bytes)};
}

Cost view_cost(TypesIn, TypesIn, const graph::Attrs&) { return {0, 0}; }

Cost copy_cost(TypesIn, TypesIn out, const graph::Attrs&) {
  std::vector<Expr> bytes;
  for (const Type& t : out) bytes.push_back(byte_count(t) * 2);
  return {0, sym::sum(bytes)};
}

}  // namespace ops
