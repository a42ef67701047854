// The whole training step as one graph (two with gradient accumulation): forward, loss, backward,
// clipping, optimizer, expert bias. Architecture section 4.
#pragma once

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

// A graph with its outputs' names, in order. Inputs are found by their labels in the graph:
//   params by name; buffers "exp_avg.NAME", "exp_avg_sq.NAME", "layers.I.moe.expert_bias",
//   "rope.cos", "rope.sin", and with accumulation "grad.NAME" and "layers.I.moe.tokens_per_expert";
//   ins "tokens", "labels", "documents", "valid_tokens", "lr", "bias_correction1",
//   "bias_correction2".
// Outputs: "loss", "grad_norm", "layers.I.moe.tokens_per_expert"; with Extra::debug also "logits",
//   "block.I.out", "router.I.scores|top_scores|ids" and, where gradients are complete, "grad.NAME".
struct StepGraph {
  graph::Graph graph;
  std::vector<std::string> outputs;
};

// One micro-batch a step: everything in one graph.
StepGraph build_step(const StepArgs& args);
// Several: `accumulate` (forward, backward, add to the grad buffers and counts), run for each
// micro-batch, then `update` (clip, optimizer, expert bias; empties the buffers).
StepGraph build_accumulate(const StepArgs& args);
StepGraph build_update(const StepArgs& args);

}  // namespace model
