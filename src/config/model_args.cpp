// The flavor table (reference 1.2) and the counts that follow from model arguments (1.3, 1.11).
#include "config/model_args.h"

#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace config {
namespace {

// What the flavors share: score_before_experts is off in all of them, the rest are the defaults.
ModelArgs common() {
  ModelArgs args;
  args.moe_args.score_before_experts = false;
  return args;
}

ModelArgs debugmodel() {
  ModelArgs args = common();
  args.vocab_size = 2048;
  args.dim = 256;
  args.inter_dim = 1024;
  args.moe_inter_dim = 256;
  args.n_layers = 6;
  args.mscale = 0.70;
  args.moe_args.num_shared_experts = 2;
  args.moe_args.top_k = 3;
  args.moe_args.score_func = "softmax";
  return args;
}

ModelArgs with_document_mask(ModelArgs args) {
  args.attn_type = "flex";
  args.attn_mask_type = "block_causal";
  return args;
}

ModelArgs debugmodel_flex_attn() { return with_document_mask(debugmodel()); }

ModelArgs flavor_16b() {
  ModelArgs args = with_document_mask(common());
  args.mscale = 0.70;
  args.moe_args.num_experts = 64;
  args.moe_args.num_shared_experts = 2;
  args.moe_args.top_k = 6;
  args.moe_args.score_func = "softmax";
  return args;
}

ModelArgs flavor_236b() {
  ModelArgs args = with_document_mask(common());
  args.dim = 5120;
  args.inter_dim = 12288;
  args.moe_inter_dim = 1536;
  args.n_layers = 60;
  args.n_heads = 128;
  args.q_lora_rank = 1536;
  args.moe_args.num_experts = 160;
  args.moe_args.num_shared_experts = 2;
  args.moe_args.top_k = 6;
  args.moe_args.score_func = "softmax";
  args.moe_args.route_scale = 16.0;
  args.moe_args.num_expert_groups = 8;
  args.moe_args.num_limited_groups = 3;
  return args;
}

ModelArgs flavor_671b() {
  ModelArgs args = with_document_mask(common());
  args.vocab_size = 129280;
  args.dim = 7168;
  args.inter_dim = 18432;
  args.moe_inter_dim = 2048;
  args.n_layers = 61;
  args.n_dense_layers = 3;
  args.n_heads = 128;
  args.q_lora_rank = 1536;
  args.moe_args.num_experts = 256;
  args.moe_args.top_k = 8;
  args.moe_args.route_norm = true;
  args.moe_args.route_scale = 2.5;
  args.moe_args.num_expert_groups = 8;
  args.moe_args.num_limited_groups = 4;
  return args;
}

struct Flavor {
  std::string_view name;
  ModelArgs (*args)();
};
constexpr Flavor flavors[] = {{"debugmodel", debugmodel},
                              {"debugmodel_flex_attn", debugmodel_flex_attn},
                              {"16B", flavor_16b},
                              {"236B", flavor_236b},
                              {"671B", flavor_671b}};

using Wide = __int128;  // products of five sizes, each at most 2^24

Wide attention_parameters(const ModelArgs& a) {
  const Wide qk = a.qk_nope_head_dim + a.qk_rope_head_dim;
  const Wide query = a.q_lora_rank == 0 ? a.n_heads * qk * a.dim
                                        : Wide(a.q_lora_rank) * a.dim + a.q_lora_rank +
                                              a.n_heads * qk * a.q_lora_rank;
  const Wide latent = Wide(a.kv_lora_rank + a.qk_rope_head_dim) * a.dim + a.kv_lora_rank;
  const Wide key_value = Wide(a.n_heads) * (a.qk_nope_head_dim + a.v_head_dim) * a.kv_lora_rank;
  return query + latent + key_value + Wide(a.dim) * a.n_heads * a.v_head_dim;
}

struct WideCounts {
  Wide embedding, dense, router, shared, experts;
  Wide active_sparse(const MoeArgs& moe) const {
    return router + shared + experts * moe.top_k / moe.num_experts;
  }
};

WideCounts wide_counts(const ModelArgs& a) {
  const Wide moe_layers = a.n_moe_layers();
  const Wide dense_layers = a.n_layers - moe_layers;
  const Wide expert = Wide(3) * a.moe_inter_dim * a.dim;
  WideCounts counts;
  counts.embedding = Wide(a.vocab_size) * a.dim;
  counts.dense = 2 * counts.embedding + a.dim + a.n_layers * (attention_parameters(a) + 2 * a.dim) +
                 dense_layers * 3 * a.inter_dim * a.dim;
  counts.router = moe_layers * a.moe_args.num_experts * a.dim;
  counts.shared = moe_layers * a.moe_args.num_shared_experts * expert;
  counts.experts = moe_layers * a.moe_args.num_experts * expert;
  return counts;
}

}  // namespace

std::span<const std::string> flavor_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Flavor& flavor : flavors) list.emplace_back(flavor.name);
    return list;
  }();
  return names;
}

ModelArgs flavor_args(std::string_view flavor, int64_t seq_len) {
  for (const Flavor& known : flavors) {
    if (known.name != flavor) continue;
    ModelArgs args = known.args();
    args.max_seq_len = seq_len;
    return args;
  }
  base::fail_user(base::Exit::config, "model.flavor is \"{}\": expected one of {}", flavor,
                  base::join(flavor_names(), ", "));
}

ParameterCounts count_parameters(const ModelArgs& args) {
  const WideCounts wide = wide_counts(args);
  const Wide total = wide.dense + wide.router + wide.shared + wide.experts;
  if (total > (Wide(1) << 62)) {
    base::fail_user(base::Exit::config,
                    "model.args: the model would have more than 2^62 parameters; "
                    "make dim, n_layers, num_experts or vocab_size smaller");
  }
  return {.embedding = static_cast<int64_t>(wide.embedding),
          .dense = static_cast<int64_t>(wide.dense),
          .router = static_cast<int64_t>(wide.router),
          .shared = static_cast<int64_t>(wide.shared),
          .experts = static_cast<int64_t>(wide.experts),
          .total = static_cast<int64_t>(total),
          .active = static_cast<int64_t>(wide.dense + wide.active_sparse(args.moe_args))};
}

double flops_per_token(const ModelArgs& args, int64_t seq_len) {
  const WideCounts wide = wide_counts(args);
  const Wide head = args.qk_nope_head_dim + args.qk_rope_head_dim + args.v_head_dim;
  const Wide flops = 6 * (wide.dense - wide.embedding + wide.active_sparse(args.moe_args)) +
                     Wide(6) * args.n_layers * args.n_heads * head * seq_len;
  return static_cast<double>(flops);
}

}  // namespace config
