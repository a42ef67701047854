// The training step as a graph.
#include "model/step.h"

#include <optional>

#include "base/error.h"

namespace model {

using config::ModelArgs;
using graph::InputKind;
using graph::Type;

namespace {

// Everything a step graph declares before its first node, and the outputs as they come.
class StepWriter {
 public:
  StepWriter(const StepArgs& args, Builder& b)
      : args_(args),
        b_(b),
        s_(declare_sizes(b_, args.model, args.batch, args.seq_len)),
        parameters_(list_parameters(args.model, s_)) {
    for (const Parameter& p : parameters_) {
      params_.push_back(
          b_.input(InputKind::param, text_name(p.name), {args.dtype, p.dims, {}}, p.name));
    }
    if (!args.model.moe_args.load_balance_coeff) return;
    for (int64_t i = args.model.n_dense_layers; i < args.model.n_layers; ++i) {
      bias_.push_back(
          buffer(base::format("layers.{}.moe.expert_bias", i), {args.dtype, {s_.moe.E}, {}}));
    }
  }

  void declare_moments() {
    for (const Parameter& p : parameters_) {
      exp_avg_.push_back(buffer("exp_avg." + p.name, {args_.dtype, p.dims, {}}));
      exp_avg_sq_.push_back(buffer("exp_avg_sq." + p.name, {args_.dtype, p.dims, {}}));
    }
  }

  // Sums over micro-batches, for the two-graph form.
  void declare_sums() {
    for (const Parameter& p : parameters_) {
      grad_sums_.push_back(buffer("grad." + p.name, {args_.dtype, p.dims, {}}));
    }
    for (int64_t i = args_.model.n_dense_layers; i < args_.model.n_layers; ++i) {
      count_sums_.push_back(buffer(counts_label(i), {DType::i64, {s_.moe.E}, {}}));
    }
  }

  // Forward and loss; the loss is a sum over this micro-batch divided by the step's valid tokens.
  Value forward_loss() {
    const std::vector<Expr> rope_dims = {s_.S, s_.P}, batch_dims = {s_.B, s_.S};
    ModelInputs in{.parameters = params_, .expert_bias = bias_};
    in.rope = {buffer("rope.cos", {args_.dtype, rope_dims, {}}),
               buffer("rope.sin", {args_.dtype, rope_dims, {}})};
    in.tokens_BS = b_.input(InputKind::in, "tokens", {DType::i64, batch_dims, {}}, "tokens");
    const Value labels_BS =
        b_.input(InputKind::in, "labels", {DType::i64, batch_dims, {}}, "labels");
    if (args_.model.masks_documents()) {
      in.documents_BS =
          b_.input(InputKind::in, "documents", {DType::i64, batch_dims, {}}, "documents");
    }
    const Value valid_tokens = scalar_input("valid_tokens");
    result_ = forward(b_, args_.model, s_, parameters_, in);
    const graph::Scope scope(b_, "loss");
    const Value sum = cross_entropy_sum(b_, result_.logits_TV, ops::reshape(b_, labels_BS, {s_.T}));
    loss_ = b_.named("loss", ops::div(b_, sum, valid_tokens));
    output("loss", loss_);
    return loss_;
  }

  void take_gradients(graph::ValuesIn gradients) {
    grads_.assign(gradients.begin(), gradients.end());
  }
  const Values& parameters() const { return params_; }
  const std::vector<std::string>& outputs() const { return outputs_; }

  // Adds this micro-batch's gradients and counts to the sums.
  void accumulate() {
    const graph::Scope scope(b_, "accumulate");
    ops::check_value(b_, ops::is_finite(b_, loss_), "the loss is not finite", "numerics");
    for (size_t i = 0; i < grads_.size(); ++i) {
      grads_[i] = ops::add(b_, grad_sums_[i], grads_[i]);
      ops::update(b_, grad_sums_[i], grads_[i]);
    }
    for (size_t i = 0; i < count_sums_.size(); ++i) {
      ops::update(b_, count_sums_[i], ops::add(b_, count_sums_[i], result_.routing[i].counts_E));
    }
  }

  // Takes the sums as the step's gradients and counts, and empties them.
  void take_sums() {
    grads_ = grad_sums_;
    result_.routing.resize(count_sums_.size());
    for (size_t i = 0; i < count_sums_.size(); ++i) result_.routing[i].counts_E = count_sums_[i];
  }

  void empty_sums() {
    for (const Value v : grad_sums_) ops::update(b_, v, ops::zeros_like(b_, v));
    for (const Value v : count_sums_) ops::update(b_, v, ops::zeros_like(b_, v));
  }

  // Global norm, clipping, expert bias, optimizer. Nothing changes when a number is not finite.
  void update() {
    const Value lr = scalar_input("lr");
    const Value correction1 = scalar_input("bias_correction1");
    const Value correction2 = scalar_input("bias_correction2");
    const Value coefficient = clip(lr);
    for (size_t i = 0; i < bias_.size(); ++i) {
      const graph::Scope scope(b_,
                               base::format("layers.{}.moe.balance",
                                            args_.model.n_dense_layers + static_cast<int64_t>(i)));
      ops::update(b_, bias_[i], balanced_bias(bias_[i], result_.routing[i].counts_E));
    }
    const graph::Scope scope(b_, "optimizer");
    const OptimizerArgs& o = args_.optimizer;
    const Value step_size = b_.named("step_size", ops::div(b_, lr, correction1));
    const Value one = ops::scalar(b_, args_.dtype, 1.0);
    const Value inv_root = b_.named("inv_root", ops::div(b_, one, ops::sqrt(b_, correction2)));
    const Value decay = b_.named("decay", ops::sub(b_, one, ops::mul(b_, lr, o.weight_decay)));
    for (size_t i = 0; i < params_.size(); ++i) {
      const graph::Scope inner(b_, text_name(parameters_[i].name));
      const Value g = ops::mul(b_, grads_[i], coefficient);
      update_parameter(i, g, step_size, inv_root, decay);
    }
  }

  // The counts that a step routed, by layer: an output of every step.
  void output_counts() {
    for (size_t i = 0; i < result_.routing.size(); ++i) {
      output(counts_label(args_.model.n_dense_layers + static_cast<int64_t>(i)),
             result_.routing[i].counts_E);
    }
  }

  void output_debug() {
    if (args_.extra != StepArgs::Extra::debug) return;
    const auto batched = [&](Value x) { return ops::reshape(b_, x, {s_.B, s_.S, b_.dim(x, 1)}); };
    output("logits", batched(result_.logits_TV));
    for (size_t i = 0; i < result_.block_out_TD.size(); ++i) {
      output(base::format("block.{}.out", i), batched(result_.block_out_TD[i]));
    }
    for (size_t i = 0; i < result_.routing.size(); ++i) {
      const Routing& r = result_.routing[i];
      const std::string p =
          base::format("router.{}.", args_.model.n_dense_layers + static_cast<int64_t>(i));
      output(p + "scores", r.scores_TE);
      output(p + "top_scores", r.top_scores_TK);
      output(p + "ids", r.ids_TK);
    }
  }

  void output_gradients() {
    if (args_.extra != StepArgs::Extra::debug) return;
    for (size_t i = 0; i < grads_.size(); ++i) output("grad." + parameters_[i].name, grads_[i]);
  }

 private:
  static std::string counts_label(int64_t layer) {
    return base::format("layers.{}.moe.tokens_per_expert", layer);
  }

  Value buffer(const std::string& label, Type type) {
    return b_.input(InputKind::buffer, text_name(label), std::move(type), label);
  }

  Value scalar_input(const char* label) {
    return b_.input(InputKind::in, label, {args_.dtype, {}, {}}, label);
  }

  void output(std::string label, Value v) {
    outputs_.push_back(std::move(label));
    b_.return_value(v);
  }

  // min(1, max_norm / (norm + 1e-6)): Pascanu et al., arXiv 1211.5063; reference 5.9. The norm that
  // is returned is the one before clipping.
  Value clip(Value like) {
    const graph::Scope scope(b_, "clip");
    Value total = ops::zeros_like(b_, like);
    for (size_t i = 0; i < grads_.size(); ++i) {
      const Value g = grads_[i];
      std::vector<int64_t> all;
      for (size_t d = 0; d < b_.rank(g); ++d) all.push_back(static_cast<int64_t>(d));
      // Named by the parameter, so that the lines of all layers fold in the text.
      const std::string name = text_name(parameters_[i].name);
      const Value square = b_.named("square_" + name, ops::mul(b_, g, g));
      const Value sum = b_.named("sum_" + name, ops::reduce_sum(b_, square, all));
      total = b_.named("total_" + name, ops::add(b_, total, sum));
    }
    const Value norm = b_.named("grad_norm", ops::sqrt(b_, total));
    output("grad_norm", norm);
    Value finite = ops::is_finite(b_, norm);
    if (loss_.valid()) finite = ops::logical_and(b_, finite, ops::is_finite(b_, loss_));
    ops::check_value(b_, finite, "the loss or the gradient norm is not finite", "numerics");
    const Value limit = ops::scalar(b_, args_.dtype, args_.optimizer.max_norm);
    return b_.named("coefficient", ops::min(b_, ops::scalar(b_, args_.dtype, 1.0),
                                            ops::div(b_, limit, ops::add(b_, norm, 1e-6))));
  }

  // bias + d - mean(d), d = coeff * sign(mean(n) - n): auxiliary-loss-free balancing, Wang et al.,
  // arXiv 2408.15664, algorithm 1, centred as in reference 2.12.
  Value balanced_bias(Value bias_E, Value counts_E) {
    const DType dtype = args_.dtype;
    const double experts = static_cast<double>(args_.model.moe_args.num_experts);
    const Value n_E = ops::cast(b_, counts_E, dtype);
    const auto mean = [&](Value x_E) {
      return ops::div(b_, ops::reduce_sum(b_, x_E, {0}), ops::scalar(b_, dtype, experts));
    };
    const Value gap_E = ops::sub(b_, ops::broadcast(b_, mean(n_E), {s_.moe.E}), n_E);
    const Value zero_E = ops::zeros_like(b_, gap_E);
    const double coeff = *args_.model.moe_args.load_balance_coeff;
    const auto constant_E = [&](double x) { return ops::full(b_, b_.type(gap_E), x); };
    const Value down_E = ops::select(b_, ops::compare(b_, gap_E, zero_E, ops::Order::less),
                                     constant_E(-coeff), zero_E);
    const Value step_E = ops::select(b_, ops::compare(b_, gap_E, zero_E, ops::Order::greater),
                                     constant_E(coeff), down_E);
    return ops::add(b_, bias_E, ops::sub(b_, step_E, mean(step_E)));
  }

  // Adam: Kingma and Ba, arXiv 1412.6980, algorithm 1. AdamW: Loshchilov and Hutter, arXiv
  // 1711.05101, algorithm 2; decay first, eps after the bias correction (reference 5.10).
  void update_parameter(size_t i, Value g, Value step_size, Value inv_root, Value decay) {
    const OptimizerArgs& o = args_.optimizer;
    Value p = params_[i];
    if (o.kind == OptimizerArgs::Kind::adam) {
      g = ops::add(b_, g, ops::mul(b_, p, o.weight_decay));
    } else {
      p = ops::mul(b_, p, decay);
    }
    const Value m =
        ops::add(b_, exp_avg_[i], ops::mul(b_, ops::sub(b_, g, exp_avg_[i]), 1.0 - o.beta1));
    const Value v = ops::add(b_, ops::mul(b_, exp_avg_sq_[i], o.beta2),
                             ops::mul(b_, ops::mul(b_, g, g), 1.0 - o.beta2));
    const Value root = ops::add(b_, ops::mul(b_, ops::sqrt(b_, v), inv_root), o.eps);
    p = ops::sub(b_, p, ops::mul(b_, ops::div(b_, m, root), step_size));
    ops::update(b_, exp_avg_[i], m);
    ops::update(b_, exp_avg_sq_[i], v);
    ops::update(b_, params_[i], p);
  }

  const StepArgs& args_;
  Builder& b_;
  Sizes s_;
  std::vector<Parameter> parameters_;
  Values params_, bias_, exp_avg_, exp_avg_sq_, grad_sums_, count_sums_;
  ForwardResult result_;
  Value loss_;
  Values grads_;
  std::vector<std::string> outputs_;
};

}  // namespace

struct Step::State {
  StepArgs args;
  Form form;
  std::optional<StepWriter> writer;
};

Step::Step(const StepArgs& args, Form form)
    : state_(std::make_unique<State>(State{args, form, std::nullopt})) {}
Step::~Step() = default;

Value Step::forward_loss(Builder& b) {
  StepWriter& w = state_->writer.emplace(state_->args, b);
  if (state_->form == Form::whole) {
    w.declare_moments();
  } else {
    w.declare_sums();
  }
  return w.forward_loss();
}

const Values& Step::parameters() const { return state_->writer.value().parameters(); }

void Step::add_update(Builder&, graph::ValuesIn gradients) {
  StepWriter& w = state_->writer.value();
  w.take_gradients(gradients);
  if (state_->form == Form::whole) {
    w.update();
    w.output_counts();
    w.output_gradients();
  } else {
    w.accumulate();
  }
  w.output_debug();
}

const std::vector<std::string>& Step::outputs() const { return state_->writer.value().outputs(); }

StepGraph build_update(const StepArgs& args) {
  Builder b("update", "train step", ops::table());
  StepWriter w(args, b);
  w.declare_moments();
  w.declare_sums();
  w.take_sums();
  w.update();
  w.output_counts();
  w.output_gradients();
  w.empty_sums();
  return {graph::without_dead_nodes(std::move(b).finish()), w.outputs()};
}

}  // namespace model
