// unbind: the slices along one dim, without that dim; as many results as the dim's number, which
// constants must give. Views.
#include "ops/core/elementwise.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

constexpr int64_t most_results = 65536;  // of one node; no model has as many experts

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  const size_t d = s.need_dim(in[0], attrs.integer("dim"));
  const int64_t count = s.number(in[0].dims[d], "the dim");
  if (count < 0 || count > most_results) {
    s.refuse("the dim must be from 0 to {}, found {}", most_results, s.text(in[0]));
  }
  graph::Type type = in[0];
  type.dims.erase(type.dims.begin() + static_cast<int64_t>(d));
  return Types(static_cast<size_t>(count), type);
}

// One concat of the slices, with the dim back in its place and under its name.
Values grad(Builder& b, ValuesIn in, ValuesIn out, ValuesIn dy, const Attrs& attrs) {
  const std::vector<Expr> dims = b.type(in[0]).dims;
  const size_t d = dim_of(attrs, dims.size());
  if (dy.empty()) return {zeros_like(b, in[0])};
  std::vector<Expr> piece = dims;
  piece[d] = 1;
  Values parts;
  for (size_t i = 0; i < dy.size(); ++i) {
    parts.push_back(reshape(b, or_zeros(b, dy[i], out[i]), piece));
  }
  const Value whole = concat(b, parts, static_cast<int64_t>(d));
  return {b.type(whole).dims == dims ? whole : reshape(b, whole, dims)};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  const size_t d = dim_of(attrs, in[0].rank());
  host::Shape strides = in[0].strides();
  const int64_t stride = strides[d];
  strides.erase(strides.begin() + static_cast<int64_t>(d));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t offset = host::element_count(context.shapes[i]) == 0 ? 0 : i * stride;
    out[i] = in[0].view(context.shapes[i], strides, offset);
  }
}

constexpr graph::AttrSpec attrs[] = {{"dim", graph::AttrSpec::Kind::integer}};

constexpr graph::Sample samples[] = {
    {"f32[3,4] | dim=0"},   {"f32[3,4] | dim=1"}, {"f32[u0,2] | dim=-1"}, {"f32[1,5] | dim=0"},
    {"f32[2,3,4] | dim=1"}, {"f32[3,0] | dim=0"}, {"i64[3] | dim=0"},
};

}  // namespace

extern const graph::OpDef unbind_op{.name = "unbind",
                                    .about = "slices along one dim, without it",
                                    .attrs = attrs,
                                    .infer = infer,
                                    .grad = grad,
                                    .eval = {eval, eval},
                                    .cost = view_cost,
                                    .samples = samples};

Values unbind(Here h, Value x, int64_t dim) {
  return h.builder.add(h, unbind_op, {{x}}, {{"dim", dim}});
}

}  // namespace ops
