// permute: dim d of the result is dim order[d] of x. A view.
#include <algorithm>

#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  const std::vector<int64_t>& order = attrs.integers("order");
  std::vector<bool> seen(in[0].dims.size());
  bool ok = order.size() == seen.size();
  for (size_t d = 0; d < order.size() && ok; ++d) {
    ok = order[d] >= 0 && order[d] < static_cast<int64_t>(seen.size()) && !seen[order[d]];
    if (ok) seen[order[d]] = true;
  }
  if (!ok) {
    s.refuse("order must name each of the {} dims of {} once, from 0", seen.size(), s.text(in[0]));
  }
  graph::Type type = in[0];
  for (size_t d = 0; d < order.size(); ++d) type.dims[d] = in[0].dims[order[d]];
  return {type};
}

Values grad(Builder& b, ValuesIn, ValuesIn, ValuesIn dy, const Attrs& attrs) {
  const std::vector<int64_t>& order = attrs.integers("order");
  std::vector<int64_t> inverse(order.size());
  for (size_t d = 0; d < order.size(); ++d) inverse[order[d]] = static_cast<int64_t>(d);
  return {permute(b, dy[0], std::move(inverse))};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  const std::vector<int64_t>& order = attrs.integers("order");
  host::Shape strides(order.size());
  for (size_t d = 0; d < order.size(); ++d) strides[d] = in[0].strides()[order[d]];
  out[0] = in[0].view(context.shapes[0], std::move(strides), 0);
}

constexpr graph::AttrSpec attrs[] = {{"order", graph::AttrSpec::Kind::integers}};

constexpr graph::Sample samples[] = {
    {"f32[2,3,4] | order=[1, 2, 0]"},      {"f32[u0,5] | order=[1, 0]"},
    {"f32[0,3] | order=[1, 0]"},           {"f32[4] | order=[0]"},
    {"f32[1,3] | order=[1, 0]"},           {"i64[2,3] | order=[1, 0]"},
    {"f32[2,3,1,4] | order=[0, 2, 1, 3]"},
};

}  // namespace

extern const graph::OpDef permute_op{.name = "permute",
                                     .about = "dims in another order",
                                     .attrs = attrs,
                                     .infer = infer,
                                     .grad = grad,
                                     .eval = {eval, eval},
                                     .cost = view_cost,
                                     .samples = samples};

Value permute(Here h, Value x, std::vector<int64_t> order) {
  return h.builder.add1(h, permute_op, {{x}}, {{"order", std::move(order)}});
}

}  // namespace ops
