// DeepSeek-V3 as a graph.
#include "model/deepseek.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/error.h"

namespace model {

using config::ModelArgs;

Sizes declare_sizes(Builder& b, const ModelArgs& args, int64_t batch, int64_t seq_len) {
  Sizes s;
  s.B = b.size("B", batch);
  s.S = b.size("S", seq_len);
  s.T = b.let("T", s.B * s.S);
  s.V = b.constant("V", args.vocab_size);
  s.D = b.constant("D", args.dim);
  s.H = b.constant("H", args.n_heads);
  s.N = b.constant("N", args.qk_nope_head_dim);
  s.P = b.constant("P", args.qk_rope_head_dim / 2);
  s.C = b.constant("C", args.v_head_dim);
  s.L = b.constant("L", args.kv_lora_rank);
  if (args.q_lora_rank > 0) s.Q = b.constant("Q", args.q_lora_rank);
  if (args.n_dense_layers > 0) s.F = b.constant("F", args.inter_dim);
  if (args.n_moe_layers() == 0) return s;
  const config::MoeArgs& moe = args.moe_args;
  s.M = b.constant("M", args.moe_inter_dim);
  if (moe.num_shared_experts > 0) s.shared = s.M * moe.num_shared_experts;
  s.moe.T = s.T;
  s.moe.D = s.D;
  s.moe.M = s.M;
  s.moe.E = b.constant("E", moe.num_experts);
  s.moe.K = b.constant("K", moe.top_k);
  if (moe.num_expert_groups) {
    s.moe.groups = b.constant("G", *moe.num_expert_groups);
    s.moe.group_size = b.constant("EG", moe.num_experts / *moe.num_expert_groups);
    s.moe.kept_groups = b.constant("KG", *moe.num_limited_groups);
  }
  return s;
}

namespace {

void list_attention(std::vector<Parameter>& out, const std::string& p, const ModelArgs& args,
                    const Sizes& s) {
  const Expr qk = s.H * (s.N + s.R());
  if (args.q_lora_rank == 0) {
    out.push_back({p + "attention.wq.weight", {qk, s.D}});
  } else {
    out.push_back({p + "attention.wq_a.weight", {s.Q, s.D}});
    out.push_back({p + "attention.q_norm.weight", {s.Q}});
    out.push_back({p + "attention.wq_b.weight", {qk, s.Q}});
  }
  out.push_back({p + "attention.wkv_a.weight", {s.L + s.R(), s.D}});
  out.push_back({p + "attention.kv_norm.weight", {s.L}});
  out.push_back({p + "attention.wkv_b.weight", {s.H * (s.N + s.C), s.L}});
  out.push_back({p + "attention.wo.weight", {s.D, s.H * s.C}});
  out.push_back({p + "attention_norm.weight", {s.D}});
  out.push_back({p + "ffn_norm.weight", {s.D}});
}

void list_feed_forward(std::vector<Parameter>& out, const std::string& p, const Expr& hidden,
                       const Expr& D) {
  out.push_back({p + "w1.weight", {hidden, D}});
  out.push_back({p + "w2.weight", {D, hidden}});
  out.push_back({p + "w3.weight", {hidden, D}});
}

}  // namespace

std::vector<Parameter> list_parameters(const ModelArgs& args, const Sizes& s) {
  std::vector<Parameter> out{{"tok_embeddings.weight", {s.V, s.D}}};
  for (int64_t i = 0; i < args.n_layers; ++i) {
    const std::string p = base::format("layers.{}.", i);
    list_attention(out, p, args, s);
    if (i < args.n_dense_layers) {
      list_feed_forward(out, p + "feed_forward.", s.F, s.D);
      continue;
    }
    const Expr& E = s.moe.E;
    out.push_back({p + "moe.experts.w1", {E, s.M, s.D}});
    out.push_back({p + "moe.experts.w2", {E, s.D, s.M}});
    out.push_back({p + "moe.experts.w3", {E, s.M, s.D}});
    out.push_back({p + "moe.router.gate.weight", {E, s.D}});
    if (args.moe_args.num_shared_experts > 0) {
      list_feed_forward(out, p + "moe.shared_experts.", s.shared, s.D);
    }
  }
  out.push_back({"norm.weight", {s.D}});
  out.push_back({"output.weight", {s.V, s.D}});
  return out;
}

std::string text_name(const std::string& label) {
  std::string out = label.ends_with(".weight") ? label.substr(0, label.size() - 7) : label;
  std::ranges::replace(out, '.', '_');
  return out;
}

double attention_scale(const ModelArgs& args) {
  const double width = static_cast<double>(args.qk_nope_head_dim + args.qk_rope_head_dim);
  if (args.max_seq_len <= args.original_seq_len) return std::pow(width, -0.5);
  const double m = 0.1 * args.mscale * std::log(args.rope_factor) + 1.0;
  return std::pow(width, -0.5) * m * m;
}

namespace {

class Forward {
 public:
  Forward(Builder& b, const ModelArgs& args, const Sizes& sizes,
          const std::vector<Parameter>& parameters, const ModelInputs& inputs)
      : b_(b), args_(args), s_(sizes), inputs_(inputs) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      by_name_[parameters[i].name] = inputs.parameters[i];
    }
  }

  ForwardResult run() {
    ForwardResult out;
    Value h_TD = b_.named("h", ops::gather_rows(b_, weight("tok_embeddings.weight"),
                                                ops::reshape(b_, inputs_.tokens_BS, {s_.T})));
    for (int64_t i = 0; i < args_.n_layers; ++i) {
      const graph::Scope scope(b_, base::format("layers.{}", i));
      h_TD = layer(i, h_TD, out);
      out.block_out_TD.push_back(h_TD);
    }
    const graph::Scope scope(b_, "output");
    // The reference builds the final norm without an eps: float32's machine epsilon (1.7).
    const Value normed_TD = rms_norm(b_, h_TD, weight("norm.weight"), 1.1920928955078125e-07);
    out.logits_TV = b_.named("logits", linear(b_, normed_TD, weight("output.weight")));
    return out;
  }

 private:
  Value weight(const std::string& name) const { return by_name_.at(name); }

  FeedForwardWeights feed_forward(const std::string& p) const {
    return {weight(p + "w1.weight"), weight(p + "w2.weight"), weight(p + "w3.weight")};
  }

  Value layer(int64_t i, Value x_TD, ForwardResult& out) {
    const std::string p = base::format("layers.{}.", i);
    Value attended_TD;
    {
      const graph::Scope scope(b_, "attention");
      attended_TD =
          attention(p + "attention.",
                    rms_norm(b_, x_TD, weight(p + "attention_norm.weight"), args_.norm_eps));
    }
    const Value mid_TD = b_.named("mid", ops::add(b_, x_TD, attended_TD));
    const Value normed_TD =
        b_.named("normed", rms_norm(b_, mid_TD, weight(p + "ffn_norm.weight"), args_.norm_eps));
    Value y_TD;
    if (i < args_.n_dense_layers) {
      const graph::Scope scope(b_, "feed_forward");
      y_TD = swiglu(b_, normed_TD, feed_forward(p + "feed_forward."));
    } else {
      const size_t at = static_cast<size_t>(i - args_.n_dense_layers);
      MoeWeights w{weight(p + "moe.router.gate.weight"),
                   weight(p + "moe.experts.w1"),
                   weight(p + "moe.experts.w2"),
                   weight(p + "moe.experts.w3"),
                   {},
                   {}};
      if (args_.moe_args.num_shared_experts > 0) w.shared = feed_forward(p + "moe.shared_experts.");
      if (!inputs_.expert_bias.empty()) w.bias_E = inputs_.expert_bias.at(at);
      out.routing.emplace_back();
      y_TD = moe_block(b_, normed_TD, w, s_.moe, args_.moe_args, out.routing.back());
    }
    return b_.named("out", ops::add(b_, mid_TD, y_TD));
  }

  // Multi-head latent attention. DeepSeek-V2, arXiv 2405.04434, eq. 9-19; reference 1.5.
  Value attention(const std::string& p, Value x_TD) {
    const Expr &B = s_.B, &S = s_.S, &H = s_.H, R = s_.R();
    Value q_TO;
    if (args_.q_lora_rank == 0) {
      q_TO = linear(b_, x_TD, weight(p + "wq.weight"));
    } else {
      const Value latent_TQ = linear(b_, x_TD, weight(p + "wq_a.weight"));
      q_TO = linear(b_, rms_norm(b_, latent_TQ, weight(p + "q_norm.weight"), args_.norm_eps),
                    weight(p + "wq_b.weight"));
    }
    const Values q = ops::split(b_, ops::reshape(b_, q_TO, {B, S, H, s_.N + R}), 3, {s_.N, R});
    const Value q_parts[] = {q[0], rope(b_, q[1], inputs_.rope)};
    const Value q_BSHO = b_.named("q", ops::concat(b_, q_parts, 3));

    const Values latent =
        ops::split(b_, linear(b_, x_TD, weight(p + "wkv_a.weight")), 1, {s_.L, R});
    const Value k_rope_BS1R = rope(b_, ops::reshape(b_, latent[1], {B, S, 1, R}), inputs_.rope);
    const Value kv_TO =
        linear(b_, rms_norm(b_, latent[0], weight(p + "kv_norm.weight"), args_.norm_eps),
               weight(p + "wkv_b.weight"));
    const Values kv =
        ops::split(b_, ops::reshape(b_, kv_TO, {B, S, H, s_.N + s_.C}), 3, {s_.N, s_.C});
    const Value k_parts[] = {kv[0], ops::broadcast(b_, k_rope_BS1R, {B, S, H, R})};
    const Value k_BSHO = b_.named("k", ops::concat(b_, k_parts, 3));

    const auto heads_first = [&](Value x) { return ops::permute(b_, x, {0, 2, 1, 3}); };
    const Value out_BHSC = b_.named(
        "o", ops::attention(b_, heads_first(q_BSHO), heads_first(k_BSHO), heads_first(kv[1]),
                            attention_scale(args_), inputs_.documents_BS)
                 .out);
    const Value out_TO = ops::reshape(b_, heads_first(out_BHSC), {s_.T, H * s_.C});
    return linear(b_, out_TO, weight(p + "wo.weight"));
  }

  Builder& b_;
  const ModelArgs& args_;
  const Sizes& s_;
  const ModelInputs& inputs_;
  std::unordered_map<std::string, Value> by_name_;  // looked up only
};

}  // namespace

ForwardResult forward(Builder& b, const ModelArgs& args, const Sizes& sizes,
                      const std::vector<Parameter>& parameters, const ModelInputs& inputs) {
  return Forward(b, args, sizes, parameters, inputs).run();
}

}  // namespace model
