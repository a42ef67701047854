// Model arguments of DeepSeek-V3 under their torchtitan names, the flavors as data, and what
// follows from the arguments alone: parameter counts and FLOPs (reference 1.1, 1.2, 1.11, 2.1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace config {

// Defaults are the reference's (2.1), but for use_grouped_mm: the reference turns it off on a
// machine without SM90, so here it is off unless the user sets it.
struct MoeArgs {
  int64_t num_experts = 8;
  int64_t num_shared_experts = 1;
  std::string score_func = "sigmoid";  // or "softmax"
  bool route_norm = false;
  double route_scale = 1.0;
  bool score_before_experts = true;
  int64_t top_k = 1;
  std::optional<int64_t> num_expert_groups;
  std::optional<int64_t> num_limited_groups;
  bool use_grouped_mm = false;
  std::optional<double> load_balance_coeff = 1e-3;  // unset: no expert bias
  bool debug_force_load_balance = false;            // from debug.moe_force_load_balance
};

struct ModelArgs {
  int64_t max_seq_len = 16384;  // length of the RoPE table: training.seq_len once resolved
  int64_t vocab_size = 102400;
  int64_t dim = 2048;
  int64_t inter_dim = 10944;
  int64_t moe_inter_dim = 1408;
  int64_t n_layers = 27;
  int64_t n_dense_layers = 1;
  int64_t n_heads = 16;
  double norm_eps = 1e-5;  // of every RMSNorm but the final one
  MoeArgs moe_args;
  int64_t q_lora_rank = 0;  // 0: direct query projection
  int64_t kv_lora_rank = 512;
  int64_t qk_nope_head_dim = 128;
  int64_t qk_rope_head_dim = 64;
  int64_t v_head_dim = 128;
  std::string attn_type = "sdpa";         // or "flex"
  std::string attn_mask_type = "causal";  // or "block_causal", which counts only with "flex"
  int64_t original_seq_len = 4096;
  double rope_theta = 10000.0;
  double rope_factor = 40;
  int64_t beta_fast = 32;
  int64_t beta_slow = 1;
  double mscale = 1.0;

  int64_t n_moe_layers() const { return n_layers > n_dense_layers ? n_layers - n_dense_layers : 0; }
  // Attention stays inside documents (reference 1.9: sdpa takes no mask, whatever its type).
  bool masks_documents() const { return attn_type == "flex" && attn_mask_type == "block_causal"; }
};

// "debugmodel", "debugmodel_flex_attn", "16B", "236B", "671B".
std::span<const std::string> flavor_names();

// A flavor with max_seq_len set to `seq_len` (reference 1.1). Throws UserError for an unknown name.
ModelArgs flavor_args(std::string_view flavor, int64_t seq_len);

// Counts of the unsharded model, by the reference's split (1.11); buffers are not counted.
struct ParameterCounts {
  int64_t embedding = 0;
  int64_t dense = 0;   // includes the embedding
  int64_t router = 0;  // these three are the sparse part
  int64_t shared = 0;
  int64_t experts = 0;
  int64_t total = 0;
  int64_t active = 0;  // dense, router, shared and K of E experts
};

// Throws UserError when the model has more than 2^62 parameters.
ParameterCounts count_parameters(const ModelArgs& args);

// Forward and backward of one token at `seq_len` (reference 1.11: causality is not discounted).
double flops_per_token(const ModelArgs& args, int64_t seq_len);

}  // namespace config
