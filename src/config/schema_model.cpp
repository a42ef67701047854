// Schema: [model], [model.args], [model.args.moe_args] (reference 4.5, 1.1, 2.1).
#include "config/schema_parts.h"

namespace config {
namespace {

constexpr std::string_view flavors = "the flavor's";

// One field of the flavor. Sizes stay below 2^20 (vocabulary 2^24), far above any real model.
Key size(std::string_view name, std::string_view help, double low = 1) {
  return {
      .name = name, .kind = Kind::integer, .range = size_from(low), .help = help, .unset = flavors};
}
Key number(std::string_view name, std::string_view help, Range range) {
  return {.name = name, .kind = Kind::real, .range = range, .help = help, .unset = flavors};
}
Key choice(std::string_view name, std::string_view help, std::vector<std::string_view> choices) {
  return {.name = name, .choices = std::move(choices), .help = help, .unset = flavors};
}
Key yes_or_no(std::string_view name, std::string_view help) {
  return {.name = name, .kind = Kind::boolean, .help = help, .unset = flavors};
}
Key optional(Key key) {
  key.optional = true;
  return key;
}
Key inert(Key key, std::string_view why) {
  key.no_effect = why;
  return key;
}

const Key keys[] = {
    {.name = "model.name",
     .fallback = "deepseek_v3",
     .help = "the model: deepseek_v3 or simple_fsdp.deepseek_v3",
     .reference = "the default is deepseek_v3 (torchtitan: llama3)"},
    {.name = "model.flavor", .fallback = "debugmodel", .help = "the size of the model"},
    {.name = "model.hf_assets_path",
     .fallback = "./tests/assets/tokenizer",
     .help = "folder with tokenizer.json"},
    {.name = "model.tokenizer_path",
     .optional = true,
     .help = "old name of model.hf_assets_path, which it replaces when set"},
    {.name = "model.converters",
     .kind = Kind::list,
     .fallback = List{},
     .help = "quantization of some layers, by name",
     .missing_if = nonempty(""),
     .missing = "quantized training yet"},
    {.name = "model.print_after_conversion",
     .kind = Kind::boolean,
     .fallback = false,
     .help = "print the model after the converters",
     .counts_if = nonempty("model.converters")},
    inert(size("model.args.max_batch_size", "largest batch"), "training does not use it"),
    size("model.args.max_seq_len", "length of the RoPE table; training.seq_len replaces it"),
    {.name = "model.args.vocab_size",
     .kind = Kind::integer,
     .range = from(1, 1 << 24),
     .help = "rows of the embedding and of the output head",
     .unset = flavors},
    size("model.args.dim", "width of the model"),
    size("model.args.inter_dim", "hidden width of a dense layer"),
    size("model.args.moe_inter_dim", "hidden width of one routed expert"),
    {.name = "model.args.n_layers",
     .kind = Kind::integer,
     .range = from(1, 4096),
     .help = "layers",
     .unset = flavors},
    size("model.args.n_dense_layers", "layers before the first MoE layer", 0),
    size("model.args.n_heads", "attention heads"),
    number("model.args.norm_eps", "epsilon of every RMSNorm but the final one",
           {.low = 0, .high = 1}),
    inert({.name = "model.args.expert_parallel_comm_backend",
           .choices = {"standard", "deepep"},
           .help = "torchtitan declares it and never reads it",
           .unset = flavors},
          "parallelism.expert_parallel_comm_backend decides"),
    size("model.args.q_lora_rank", "rank of the query projection; 0: no low rank", 0),
    size("model.args.kv_lora_rank", "width of the latent keys and values"),
    size("model.args.qk_nope_head_dim", "query and key width of a head without rotation"),
    size("model.args.qk_rope_head_dim", "query and key width of a head with rotation; even", 2),
    size("model.args.v_head_dim", "value width of a head"),
    choice("model.args.attn_type", "flex takes masks, sdpa is causal", {"sdpa", "flex"}),
    choice("model.args.attn_mask_type",
           "block_causal keeps attention inside documents; counts with attn_type flex",
           {"causal", "block_causal"}),
    {.name = "model.args.original_seq_len",
     .kind = Kind::integer,
     .range = from(1, 1 << 30),
     .help = "sequence length before YaRN; longer runs scale the rotation",
     .unset = flavors},
    number("model.args.rope_theta", "base of the rotation frequencies",
           {.low = 1, .high = 1e300, .above_low = true}),
    number("model.args.rope_factor", "how far YaRN stretches the sequence",
           {.low = 0, .high = 1e300, .above_low = true}),
    size("model.args.beta_fast", "rotations above which YaRN keeps a frequency"),
    size("model.args.beta_slow", "rotations below which YaRN divides a frequency"),
    number("model.args.mscale", "YaRN's attention scale coefficient", {.low = 0, .high = 1e300}),
    {.name = "model.args.moe_args.num_experts",
     .kind = Kind::integer,
     .range = from(1, 1 << 16),
     .help = "routed experts of a layer",
     .unset = flavors},
    {.name = "model.args.moe_args.num_shared_experts",
     .kind = Kind::integer,
     .range = from(0, 1 << 16),
     .help = "experts that every token visits",
     .unset = flavors},
    choice("model.args.moe_args.score_func", "router activation", {"softmax", "sigmoid"}),
    yes_or_no("model.args.moe_args.route_norm", "scale the chosen scores to sum 1"),
    number("model.args.moe_args.route_scale", "factor on the scores after route_norm", finite()),
    yes_or_no("model.args.moe_args.score_before_experts",
              "multiply scores into the experts' inputs, not their outputs"),
    {.name = "model.args.moe_args.top_k",
     .kind = Kind::integer,
     .range = from(1, 1 << 16),
     .help = "experts a token visits",
     .unset = flavors},
    optional(size("model.args.moe_args.num_expert_groups", "groups of experts; divide them")),
    optional(size("model.args.moe_args.num_limited_groups", "groups a token may use")),
    {.name = "model.args.moe_args.use_grouped_mm",
     .kind = Kind::boolean,
     .help = "one grouped product for all experts in place of a loop over them",
     .unset = "false",
     .reference = "off unless set: torchtitan turns it off on machines without SM90"},
    optional(number("model.args.moe_args.load_balance_coeff",
                    "step of the expert bias; none: no bias",
                    {.low = 0, .high = 1e300, .above_low = true}))};

}  // namespace

std::span<const Key> model_keys() { return keys; }

}  // namespace config
