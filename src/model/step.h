// The whole training step as one graph (two with gradient accumulation): forward, loss, backward,
// clipping, optimizer, expert bias. Architecture section 4.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/model_args.h"
#include "model/deepseek.h"

namespace model {

struct OptimizerArgs {
  enum class Kind : uint8_t { adam, adamw };
  Kind kind = Kind::adamw;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
  double max_norm = 1.0;  // of all gradients together; infinite: no clipping
};

struct StepArgs {
  config::ModelArgs model;
  OptimizerArgs optimizer;
  DType dtype = DType::f32;  // of parameters, moments and all arithmetic
  int64_t batch = 1, seq_len = 256;
  enum class Extra : uint8_t {
    none,
    debug
  } extra = Extra::none;  // debug: return what a dump needs
};

// Inputs are found by their labels in the graph:
//   params by name; buffers "exp_avg.NAME", "exp_avg_sq.NAME", "layers.I.moe.expert_bias",
//   "rope.cos", "rope.sin", and with accumulation "grad.NAME" and "layers.I.moe.tokens_per_expert";
//   ins "tokens", "labels", "documents", "valid_tokens", "lr", "bias_correction1",
//   "bias_correction2".
// Outputs: "loss", "grad_norm", "layers.I.moe.tokens_per_expert"; with Extra::debug also "logits",
//   "block.I.out", "router.I.scores|top_scores|ids" and, where gradients are complete, "grad.NAME".
struct StepGraph {
  graph::Graph graph;
  std::vector<std::string> outputs;  // names of the returned values, in order
};

// The model's halves of a graph that trains; what stands between them is the pipeline's.
class Step {
 public:
  enum class Form : uint8_t {
    whole,       // one micro-batch a step: forward, backward, update
    accumulate,  // several: forward, backward, add to the grad buffers and counts
  };
  Step(const StepArgs& args, Form form);
  ~Step();
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Declares the inputs and returns the loss: the sum over this micro-batch divided by the valid
  // tokens of the whole step.
  Value forward_loss(Builder& b);
  const Values& parameters() const;
  // Clipping, expert bias and optimizer; or the additions to the buffers.
  void add_update(Builder& b, graph::ValuesIn gradients);
  const std::vector<std::string>& outputs() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The second graph of a step with accumulation: takes the gradients and counts from their buffers,
// clips, updates, and empties the buffers.
StepGraph build_update(const StepArgs& args);

}  // namespace model
