// The mixture-of-experts block of DeepSeek-V3.
#include "model/moe.h"

#include <limits>

#include "base/error.h"

namespace model {

using config::MoeArgs;

namespace {

// Keeps the best groups by the sum of their two best scores, and puts the others at -infinity.
// Node-limited routing: DeepSeek-V3, arXiv 2412.19437, section 2.1.2; reference 2.2 item 3.
Value limit_groups(Builder& b, Value pick_TE, const MoeDims& d) {
  const DType dtype = b.type(pick_TE).dtype;
  const Value pick_TGe = ops::reshape(b, pick_TE, {d.T, d.groups, d.group_size});
  const Value best_TG = ops::reduce_sum(b, ops::topk(b, pick_TGe, 2, 2).values, {2});
  const Value kept_ids = ops::topk(b, best_TG, d.kept_groups, 1).indices;
  const Value kept_TG = ops::reduce_sum(b, ops::one_hot(b, kept_ids, d.groups, dtype), {1});
  const Value kept_TG1 = ops::reshape(b, kept_TG, {d.T, d.groups, 1});
  const Value keep_TGe = ops::compare(b, ops::broadcast(b, kept_TG1, b.type(pick_TGe).dims),
                                      ops::scalar(b, dtype, 0.5), ops::Order::greater);
  const Value dropped = ops::full(b, b.type(pick_TGe), -std::numeric_limits<double>::infinity());
  return ops::reshape(b, ops::select(b, keep_TGe, pick_TGe, dropped), {d.T, d.E});
}

}  // namespace

Routing route(Builder& b, Value x_TD, const MoeWeights& w, const MoeDims& d, const MoeArgs& args) {
  const graph::Scope scope(b, "router");
  const Value logit_TE = b.named("logit", linear(b, x_TD, w.gate_ED));
  const Value score_TE = b.named(
      "score", args.score_func == "sigmoid" ? ops::sigmoid(b, logit_TE) : softmax(b, logit_TE, 1));
  Value pick_TE = ops::detach(b, score_TE);
  if (w.bias_E.valid()) pick_TE = ops::add(b, pick_TE, w.bias_E);
  if (args.num_expert_groups) pick_TE = limit_groups(b, pick_TE, d);
  b.named("pick", pick_TE);
  Value ids_TK;
  if (args.debug_force_load_balance) {
    const Value slot = ops::iota(b, {DType::i64, {d.K * d.T}, {}}, 0);
    ids_TK = ops::reshape(b, ops::mod(b, slot, d.E), {d.T, d.K});
  } else {
    ids_TK = ops::topk(b, pick_TE, d.K, 1).indices;
  }
  b.named("ids", ids_TK);
  Value top_TK = ops::gather(b, score_TE, ids_TK, 1);
  if (args.route_norm) {
    const Value sum_T1 = ops::reduce_sum(b, top_TK, {1}, ops::Keep::yes);
    top_TK = ops::div(b, top_TK, ops::add(b, sum_T1, 1e-20));
  }
  top_TK = b.named("top", ops::mul(b, top_TK, args.route_scale));
  const Value flat = ops::reshape(b, ids_TK, {d.K * d.T});
  return {score_TE, top_TK, ids_TK, b.named("count", ops::histogram(b, flat, d.E))};
}

Value experts_for_loop(Builder& b, Value rows_RD, Value counts_E, const MoeWeights& w) {
  const Expr R = b.dim(rows_RD, 0), D = b.dim(rows_RD, 1);
  const std::vector<Expr> u = ops::sizes(b, counts_E, "u", R);
  const Expr total = sym::sum(u);
  const Value live = b.named("live", ops::slice(b, rows_RD, 0, 0, total));
  const Values x = b.named("x", ops::split(b, live, 0, u));
  const Values w1 = b.named("wg", ops::unbind(b, w.w1_EMD, 0));
  const Values w3 = b.named("wu", ops::unbind(b, w.w3_EMD, 0));
  const Values w2 = b.named("wd", ops::unbind(b, w.w2_EDM, 0));
  Values y;
  for (size_t e = 0; e < u.size(); ++e) {
    const auto name = [e](const char* letter) { return base::format("{}{}", letter, e); };
    const Value g = b.named(name("g"), linear(b, x[e], w1[e]));
    const Value a = b.named(name("a"), ops::silu(b, g));
    const Value v = b.named(name("v"), linear(b, x[e], w3[e]));
    const Value h = b.named(name("h"), ops::mul(b, a, v));
    y.push_back(b.named(name("y"), linear(b, h, w2[e])));
  }
  const Value cat = b.named("cat", ops::concat(b, y, 0));
  const Value pad = b.named("pad", ops::zeros(b, {b.type(rows_RD).dtype, {R - total, D}, {}}));
  const Value parts[] = {cat, pad};
  return b.named("out", ops::concat(b, parts, 0));
}

Value experts_grouped(Builder& b, Value rows_RD, Value counts_E, const MoeWeights& w) {
  const Value off_E1 = b.named("off", ops::device_sizes(b, counts_E, b.dim(rows_RD, 0)));
  const Value gate = b.named("g", ops::grouped_matmul(b, rows_RD, w.w1_EMD, off_E1, {.b = true}));
  const Value up = b.named("v", ops::grouped_matmul(b, rows_RD, w.w3_EMD, off_E1, {.b = true}));
  const Value hidden = b.named("h", ops::mul(b, ops::silu(b, gate), up));
  return b.named("out", ops::grouped_matmul(b, hidden, w.w2_EDM, off_E1, {.b = true}));
}

Value moe_block(Builder& b, Value x_TD, const MoeWeights& w, const MoeDims& d, const MoeArgs& args,
                Routing& routing) {
  const graph::Scope scope(b, "moe");
  routing = route(b, x_TD, w, d, args);
  Value order, rows_RD;
  {
    const graph::Scope inner(b, "reorder");
    order = b.named("order", ops::argsort(b, ops::reshape(b, routing.ids_TK, {d.K * d.T})));
    rows_RD = b.named("rows", ops::gather_rows(b, x_TD, ops::floordiv(b, order, d.K)));
    if (args.score_before_experts) {
      const Value flat_R1 = ops::reshape(b, routing.top_scores_TK, {d.K * d.T, 1});
      rows_RD = ops::mul(b, rows_RD, ops::gather_rows(b, flat_R1, order));
    }
  }
  Value out_RD;
  {
    const graph::Scope inner(b, "experts");
    out_RD = args.use_grouped_mm ? experts_grouped(b, rows_RD, routing.counts_E, w)
                                 : experts_for_loop(b, rows_RD, routing.counts_E, w);
  }
  Value shared_TD;
  if (w.shared.w1.valid()) {
    const graph::Scope inner(b, "shared_experts");
    shared_TD = swiglu(b, x_TD, w.shared);
  }
  const graph::Scope inner(b, "combine");
  const Value back_TKD =
      ops::reshape(b, ops::scatter_rows(b, out_RD, order, d.K * d.T), {d.T, d.K, d.D});
  Value routed_TD;
  if (args.score_before_experts) {
    routed_TD = ops::reduce_sum(b, back_TKD, {1});
  } else {
    const Value top_T1K = ops::reshape(b, routing.top_scores_TK, {d.T, 1, d.K});
    routed_TD = ops::reshape(b, ops::matmul(b, top_T1K, back_TKD), {d.T, d.D});
  }
  b.named("routed", routed_TD);
  return shared_TD.valid() ? ops::add(b, shared_TD, routed_TD) : routed_TD;
}

}  // namespace model
