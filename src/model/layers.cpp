// Layers as functions over ops.
#include "model/layers.h"

namespace model {

Value linear(Builder& b, Value x_TI, Value w_OI) { return ops::matmul(b, x_TI, w_OI, {.b = true}); }

Value rms_norm(Builder& b, Value x, Value w, double eps) {
  const size_t last = b.rank(x) - 1;
  const DType dtype = b.type(x).dtype;
  const Value square = ops::mul(b, x, x);
  const Value sum = ops::reduce_sum(b, square, {static_cast<int64_t>(last)}, ops::Keep::yes);
  const double width = static_cast<double>(b.facts().number(b.dim(x, last)).value());
  const Value mean = ops::div(b, sum, ops::scalar(b, dtype, width));
  const Value scale = b.named("rstd", ops::rsqrt(b, ops::add(b, mean, eps)));
  return ops::mul(b, ops::mul(b, x, scale), w);
}

Value swiglu(Builder& b, Value x_TD, const FeedForwardWeights& w) {
  const Value gate = b.named("g", linear(b, x_TD, w.w1));
  const Value act = b.named("a", ops::silu(b, gate));
  const Value up = b.named("v", linear(b, x_TD, w.w3));
  const Value hidden = b.named("h", ops::mul(b, act, up));
  return b.named("y", linear(b, hidden, w.w2));
}

Value softmax(Builder& b, Value x, int64_t dim) {
  const Value shift = ops::detach(b, ops::reduce_max(b, x, dim, ops::Keep::yes));
  const Value e = ops::exp(b, ops::sub(b, x, shift));
  return ops::div(b, e, ops::reduce_sum(b, e, {dim}, ops::Keep::yes));
}

Value rope(Builder& b, Value x_BShR, const RopeTables& tables) {
  const std::vector<Expr> dims = b.type(x_BShR).dims;
  const Expr S = b.dim(tables.cos_SP, 0), P = b.dim(tables.cos_SP, 1);
  const Value cos = ops::reshape(b, tables.cos_SP, {S, 1, P});
  const Value sin = ops::reshape(b, tables.sin_SP, {S, 1, P});
  const Values pair =
      ops::unbind(b, ops::reshape(b, x_BShR, {dims[0], dims[1], dims[2], P, 2}), -1);
  const Value re = ops::sub(b, ops::mul(b, pair[0], cos), ops::mul(b, pair[1], sin));
  const Value im = ops::add(b, ops::mul(b, pair[0], sin), ops::mul(b, pair[1], cos));
  const std::vector<Expr> single = {dims[0], dims[1], dims[2], P, 1};
  const Value parts[] = {ops::reshape(b, re, single), ops::reshape(b, im, single)};
  return ops::reshape(b, ops::concat(b, parts, -1), dims);
}

Value cross_entropy_sum(Builder& b, Value logits_TV, Value labels_T) {
  const Expr T = b.dim(labels_T, 0);
  const DType dtype = b.type(logits_TV).dtype;
  const Value ignored = ops::scalar(b, DType::i64, -100);
  const Value counts_T =
      b.named("counts", ops::compare(b, labels_T, ignored, ops::Order::not_equal));
  const Value safe_T = ops::select(b, counts_T, labels_T, ops::zeros(b, {DType::i64, {T}, {}}));
  const Value shift = ops::detach(b, ops::reduce_max(b, logits_TV, 1, ops::Keep::yes));
  const Value z_TV = ops::sub(b, logits_TV, shift);
  const Value sum_T1 = ops::reduce_sum(b, ops::exp(b, z_TV), {1}, ops::Keep::yes);
  const Value picked_T1 = ops::gather(b, z_TV, ops::reshape(b, safe_T, {T, 1}), 1);
  const Value nll_T =
      b.named("nll", ops::reshape(b, ops::sub(b, ops::log(b, sum_T1), picked_T1), {T}));
  const Value kept_T = ops::select(b, counts_T, nll_T, ops::zeros(b, {dtype, {T}, {}}));
  return ops::reduce_sum(b, kept_T, {0});
}

}  // namespace model
