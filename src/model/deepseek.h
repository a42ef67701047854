// DeepSeek-V3 (and V2) as a graph: the forward pass over the parameters of a ModelArgs.
// Names of parameters and formulas: reference section 1; DeepSeek-V3, arXiv 2412.19437,
// section 2.1.
#pragma once

#include <string>
#include <vector>

#include "config/model_args.h"
#include "model/moe.h"

namespace model {

// Named sizes of the model and of the batch, as the graph declares them.
struct Sizes {
  Expr B, S, T;
  Expr V, D, H, N, P, C, L, Q, F, M, shared;
  MoeDims moe;
  Expr R() const { return 2 * P; }
};
Sizes declare_sizes(Builder& b, const config::ModelArgs& args, int64_t batch, int64_t seq_len);

// One trained tensor of the model.
struct Parameter {
  std::string name;  // torchtitan's: "layers.0.attention.wq.weight"
  std::vector<Expr> dims;
};
// In the reference's order; shapes from its 1.3.
std::vector<Parameter> list_parameters(const config::ModelArgs& args, const Sizes& sizes);
// "layers.1.attention.wq.weight" -> "layers_1_attention_wq", a name for the text form.
std::string text_name(const std::string& label);

// What the forward pass reads, as inputs of the graph.
struct ModelInputs {
  Values parameters;   // in the order of list_parameters
  Values expert_bias;  // by MoE layer; empty without load balancing
  Value tokens_BS;     // i64
  Value documents_BS;  // i64 ids, ascending; only with document masks
  RopeTables rope;     // [S, R/2] each
};

struct ForwardResult {
  Value logits_TV;
  Values block_out_TD;           // by layer
  std::vector<Routing> routing;  // by MoE layer
};
ForwardResult forward(Builder& b, const config::ModelArgs& args, const Sizes& sizes,
                      const std::vector<Parameter>& parameters, const ModelInputs& inputs);

// Scale of the attention scores: (N + R)^-0.5, with YaRN's m^2 past original_seq_len
// (reference 1.5).
double attention_scale(const config::ModelArgs& args);

}  // namespace model
