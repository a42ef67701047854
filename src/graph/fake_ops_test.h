// Ops for the tests of the room `graph`, which names no op: shape rules only, each attribute kind
// and each syntax, and all that the MoE layer of the design needs.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "graph/builder.h"
#include "graph/op.h"

namespace graph::fake {

using Kind = AttrSpec::Kind;

inline Types first_type(Shapes&, TypesIn in, const Attrs&) { return {in[0]}; }
inline Types given(Shapes& s, TypesIn, const Attrs&) { return {s.given_type()}; }
inline Types nothing(Shapes&, TypesIn, const Attrs&) { return {}; }

// The second operand's dims align at the end.
inline Types infer_elementwise(Shapes& s, TypesIn in, const Attrs&) {
  s.need_same_dtype(in[0], in[1]);
  const size_t rank = in[0].dims.size(), other = in[1].dims.size();
  if (other > rank) s.refuse("{} has more dims than {}", s.text(in[1]), s.text(in[0]));
  for (size_t d = 0; d < other; ++d) {
    s.require_equal(in[0].dims[d + rank - other], in[1].dims[d], "operands differ in shape");
  }
  return {in[0]};
}

inline Types infer_matmul(Shapes& s, TypesIn in, const Attrs& attrs) {
  const size_t rank = in[0].dims.size();
  if (rank < 2) s.refuse("lhs must have at least 2 dims, found {}", s.text(in[0]));
  s.need_rank(in[1], rank, "rhs");
  const auto dim = [&](size_t operand, size_t from_end, bool transpose) {
    return in[operand].dims[rank - (transpose ? 3 - from_end : from_end)];
  };
  const bool a = attrs.flag("transpose_a"), b = attrs.flag("transpose_b");
  for (size_t d = 0; d + 2 < rank; ++d) {
    s.require_equal(in[0].dims[d], in[1].dims[d], "batch dims differ");
  }
  s.require_equal(dim(0, 1, a), dim(1, 2, b), "inner sizes differ");
  Type out = in[0];
  out.dims[rank - 2] = dim(0, 2, a);
  out.dims[rank - 1] = dim(1, 1, b);
  return {out};
}

inline Types infer_reshape(Shapes& s, TypesIn in, const Attrs&) {
  const Type& to = s.given_type();
  s.need_same_dtype(in[0], to);
  s.require_equal(sym::product(in[0].dims), sym::product(to.dims), "element counts differ");
  return {to};
}

inline Types infer_slice(Shapes& s, TypesIn in, const Attrs& attrs) {
  Type out = in[0];
  const size_t d = s.need_dim(out, attrs.integer("dim"));
  const Expr size = out.dims[d];
  out.dims[d] = sym::min(attrs.dim("stop"), size) - sym::min(attrs.dim("start"), size);
  return {out};
}

inline Types infer_split(Shapes& s, TypesIn in, const Attrs& attrs) {
  const size_t d = s.need_dim(in[0], attrs.integer("dim"));
  s.require_equal(sym::sum(attrs.dims("sizes")), in[0].dims[d], "sizes do not sum to the dim");
  Types out;
  for (const Expr& e : attrs.dims("sizes")) {
    out.push_back(in[0]);
    out.back().dims[d] = e;
  }
  return out;
}

inline Types infer_unbind(Shapes& s, TypesIn in, const Attrs& attrs) {
  const size_t d = s.need_dim(in[0], attrs.integer("dim"));
  const int64_t count = s.number(in[0].dims[d], "the dim");
  if (count > 100000) s.refuse("too many parts: {}", count);
  Type part = in[0];
  part.dims.erase(part.dims.begin() + static_cast<std::ptrdiff_t>(d));
  return Types(static_cast<size_t>(count), part);
}

inline Types infer_concat(Shapes& s, TypesIn in, const Attrs& attrs) {
  Type out = in[0];
  const size_t d = s.need_dim(out, attrs.integer("dim"));
  std::vector<Expr> sizes;
  for (const Type& t : in) {
    s.need_rank(t, out.dims.size(), "operand");
    sizes.push_back(t.dims[d]);
  }
  out.dims[d] = sym::sum(sizes);
  return {out};
}

inline Types infer_topk(Shapes& s, TypesIn in, const Attrs& attrs) {
  Type values = in[0];
  values.dims[s.need_dim(values, attrs.integer("dim"))] = attrs.dim("k");
  Type indices = values;
  indices.dtype = DType::i64;
  return {values, indices};
}

inline Types infer_gather(Shapes&, TypesIn in, const Attrs&) {
  return {{in[0].dtype, in[1].dims, {}}};
}

inline Types infer_histogram(Shapes&, TypesIn, const Attrs& attrs) {
  return {{DType::i64, {attrs.dim("bins")}, {}}};
}

inline Types infer_rows(Shapes& s, TypesIn in, const Attrs&) {
  s.need_rank(in[1], 1, "rows");
  Type out = in[0];
  if (out.dims.empty()) s.refuse("the table has no dims: {}", s.text(out));
  out.dims[0] = in[1].dims[0];
  return {out};
}

inline Types infer_scatter_rows(Shapes& s, TypesIn in, const Attrs& attrs) {
  Type out = in[0];
  if (out.dims.empty()) s.refuse("x has no dims: {}", s.text(out));
  out.dims[0] = attrs.dim("rows");
  return {out};
}

inline Types infer_permute(Shapes& s, TypesIn in, const Attrs& attrs) {
  const std::vector<int64_t>& order = attrs.integers("order");
  s.need_rank(in[0], order.size(), "operand");
  Type out = in[0];
  for (size_t i = 0; i < order.size(); ++i) out.dims[i] = in[0].dims[s.need_dim(in[0], order[i])];
  return {out};
}

inline constexpr AttrSpec dim_attr[] = {{"dim", Kind::integer}};
inline constexpr AttrSpec matmul_attrs[] = {{"transpose_a", Kind::flag},
                                            {"transpose_b", Kind::flag}};
inline constexpr AttrSpec full_attrs[] = {{"value", Kind::number}};
inline constexpr AttrSpec scale_attrs[] = {{"by", Kind::number, false, 1}};
inline constexpr AttrSpec floordiv_attrs[] = {{"by", Kind::dim}};
inline constexpr AttrSpec histogram_attrs[] = {{"bins", Kind::dim}};
inline constexpr AttrSpec scatter_attrs[] = {{"rows", Kind::dim}};
inline constexpr AttrSpec argsort_attrs[] = {{"stable", Kind::flag}};
inline constexpr AttrSpec topk_attrs[] = {{"k", Kind::dim}, {"dim", Kind::integer}};
inline constexpr AttrSpec permute_attrs[] = {{"order", Kind::integers}};
inline constexpr AttrSpec slice_attrs[] = {{"dim", Kind::integer},
                                           {"start", Kind::dim},
                                           {"stop", Kind::dim},
                                           {"step", Kind::integer, false, 1}};
inline constexpr AttrSpec split_attrs[] = {{"dim", Kind::integer}, {"sizes", Kind::dims}};
inline constexpr AttrSpec tag_attrs[] = {{"note", Kind::text, false},
                                         {"order", Kind::integers, false},
                                         {"dims", Kind::dims, false},
                                         {"when", Kind::fact, false},
                                         {"level", Kind::integer, false, 3}};
inline constexpr AttrSpec check_attrs[] = {
    {"fact", Kind::fact, false}, {"msg", Kind::text, false}, {"kind", Kind::text, false}};

inline const OpDef add{.name = "add", .min_inputs = 2, .max_inputs = 2, .infer = infer_elementwise};
inline const OpDef argsort{.name = "argsort", .attrs = argsort_attrs, .infer = first_type};
inline const OpDef check{.name = "check",
                         .syntax = Syntax::check,
                         .min_inputs = 0,
                         .attrs = check_attrs,
                         .has_effect = true,
                         .infer = nothing};
inline const OpDef concat{
    .name = "concat", .max_inputs = -1, .attrs = dim_attr, .infer = infer_concat};
inline const OpDef floordiv{.name = "floordiv", .attrs = floordiv_attrs, .infer = first_type};
inline const OpDef full{.name = "full",
                        .min_inputs = 0,
                        .max_inputs = 0,
                        .attrs = full_attrs,
                        .type_is_attribute = true,
                        .infer = given};
inline const OpDef gather{
    .name = "gather", .min_inputs = 2, .max_inputs = 2, .attrs = dim_attr, .infer = infer_gather};
inline const OpDef gather_rows{
    .name = "gather_rows", .min_inputs = 2, .max_inputs = 2, .infer = infer_rows};
inline const OpDef histogram{
    .name = "histogram", .attrs = histogram_attrs, .infer = infer_histogram};
inline const OpDef matmul{.name = "matmul",
                          .min_inputs = 2,
                          .max_inputs = 2,
                          .attrs = matmul_attrs,
                          .infer = infer_matmul};
inline const OpDef mul{.name = "mul", .min_inputs = 2, .max_inputs = 2, .infer = infer_elementwise};
inline const OpDef permute{.name = "permute", .attrs = permute_attrs, .infer = infer_permute};
inline const OpDef reshape{.name = "reshape", .type_is_attribute = true, .infer = infer_reshape};
inline const OpDef scale{.name = "scale", .attrs = scale_attrs, .infer = first_type};
inline const OpDef scatter_rows{.name = "scatter_rows",
                                .min_inputs = 2,
                                .max_inputs = 2,
                                .attrs = scatter_attrs,
                                .infer = infer_scatter_rows};
inline const OpDef silu{.name = "silu", .infer = first_type};
inline const OpDef sizes{
    .name = "sizes", .syntax = Syntax::sizes, .has_effect = true, .unique = true, .infer = nothing};
inline const OpDef slice{.name = "slice", .attrs = slice_attrs, .infer = infer_slice};
inline const OpDef softmax{.name = "softmax", .attrs = dim_attr, .infer = first_type};
inline const OpDef split{.name = "split", .attrs = split_attrs, .infer = infer_split};
inline const OpDef tag{.name = "tag", .attrs = tag_attrs, .infer = first_type};
inline const OpDef topk{.name = "topk", .attrs = topk_attrs, .infer = infer_topk};
inline const OpDef unbind{.name = "unbind", .attrs = dim_attr, .infer = infer_unbind};
inline const OpDef update{.name = "update",
                          .syntax = Syntax::update,
                          .min_inputs = 2,
                          .max_inputs = 2,
                          .has_effect = true,
                          .infer = nothing};
inline const OpDef zeros{
    .name = "zeros", .min_inputs = 0, .max_inputs = 0, .type_is_attribute = true, .infer = given};

inline OpTable table() {
  static const std::vector<const OpDef*> list = [] {
    std::vector<const OpDef*> ops{&add,  &argsort, &check,       &concat,    &floordiv,
                                  &full, &gather,  &gather_rows, &histogram, &matmul,
                                  &mul,  &permute, &reshape,     &scale,     &scatter_rows,
                                  &silu, &sizes,   &slice,       &softmax,   &split,
                                  &tag,  &topk,    &unbind,      &update,    &zeros};
    std::ranges::sort(ops, {}, &OpDef::name);
    return ops;
  }();
  return list;
}

}  // namespace graph::fake
