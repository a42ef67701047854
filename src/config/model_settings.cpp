// model.args.* in the table: filled from the flavor where nobody set them, checked against each
// other (reference 1.1, 2.1, 2.2), and read back as ModelArgs.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "config/model_args.h"
#include "config/problems.h"

namespace config {
namespace {

// Every field that a key of [model.args] names, with the name below that section.
template <class Args, class Visit>
void visit_fields(Args& a, Visit&& visit) {
  visit("max_seq_len", a.max_seq_len);
  visit("vocab_size", a.vocab_size);
  visit("dim", a.dim);
  visit("inter_dim", a.inter_dim);
  visit("moe_inter_dim", a.moe_inter_dim);
  visit("n_layers", a.n_layers);
  visit("n_dense_layers", a.n_dense_layers);
  visit("n_heads", a.n_heads);
  visit("norm_eps", a.norm_eps);
  visit("q_lora_rank", a.q_lora_rank);
  visit("kv_lora_rank", a.kv_lora_rank);
  visit("qk_nope_head_dim", a.qk_nope_head_dim);
  visit("qk_rope_head_dim", a.qk_rope_head_dim);
  visit("v_head_dim", a.v_head_dim);
  visit("attn_type", a.attn_type);
  visit("attn_mask_type", a.attn_mask_type);
  visit("original_seq_len", a.original_seq_len);
  visit("rope_theta", a.rope_theta);
  visit("rope_factor", a.rope_factor);
  visit("beta_fast", a.beta_fast);
  visit("beta_slow", a.beta_slow);
  visit("mscale", a.mscale);
  visit("moe_args.num_experts", a.moe_args.num_experts);
  visit("moe_args.num_shared_experts", a.moe_args.num_shared_experts);
  visit("moe_args.score_func", a.moe_args.score_func);
  visit("moe_args.route_norm", a.moe_args.route_norm);
  visit("moe_args.route_scale", a.moe_args.route_scale);
  visit("moe_args.score_before_experts", a.moe_args.score_before_experts);
  visit("moe_args.top_k", a.moe_args.top_k);
  visit("moe_args.num_expert_groups", a.moe_args.num_expert_groups);
  visit("moe_args.num_limited_groups", a.moe_args.num_limited_groups);
  visit("moe_args.use_grouped_mm", a.moe_args.use_grouped_mm);
  visit("moe_args.load_balance_coeff", a.moe_args.load_balance_coeff);
}

std::string key_name(std::string_view field) { return "model.args." + std::string(field); }

template <class T>
Value as_value(const T& field) {
  return field;
}
template <class T>
Value as_value(const std::optional<T>& field) {
  return field ? Value(*field) : Value();
}

template <class T>
void from_value(const Value& value, T& field) {
  field = std::get<T>(value);
}
template <class T>
void from_value(const Value& value, std::optional<T>& field) {
  field = std::holds_alternative<std::monostate>(value) ? std::nullopt
                                                        : std::optional(std::get<T>(value));
}

class FieldChecker {
 public:
  FieldChecker(Draft& draft, const Settings& settings, const ModelArgs& args)
      : draft_(draft), settings_(settings), args_(args) {}

  void check_all() {
    check_attention();
    check_router();
    try {
      count_parameters(args_);
    } catch (const base::UserError& error) {
      fail({"dim", "n_layers", "moe_args.num_experts", "vocab_size"}, error.message());
    }
  }

 private:
  void check_attention() {
    if (args_.qk_rope_head_dim % 2 != 0) {
      fail({"qk_rope_head_dim"},
           base::format("model.args.qk_rope_head_dim is {}: expected an even number, since pairs "
                        "are rotated",
                        args_.qk_rope_head_dim));
    }
  }

  void check_router() {
    const MoeArgs& moe = args_.moe_args;
    if (moe.top_k > moe.num_experts) {
      fail({"moe_args.top_k", "moe_args.num_experts"},
           base::format("model.args.moe_args.top_k is {} but there are {} experts; use 1 to {}",
                        moe.top_k, moe.num_experts, moe.num_experts));
    }
    if (moe.num_expert_groups) {
      check_groups(*moe.num_expert_groups);
    } else if (moe.num_limited_groups) {
      fail({"moe_args.num_limited_groups"},
           "model.args.moe_args.num_limited_groups is set but num_expert_groups is not; set both "
           "or neither");
    }
  }

  void check_groups(int64_t groups) {
    const MoeArgs& moe = args_.moe_args;
    const std::string_view name = "model.args.moe_args.num_expert_groups";
    if (moe.num_experts % groups != 0 || moe.num_experts / groups < 2) {
      return fail({"moe_args.num_expert_groups", "moe_args.num_experts"},
                  base::format("{} is {} but there are {} experts: expected a divisor with at "
                               "least 2 experts a group",
                               name, groups, moe.num_experts));
    }
    if (!moe.num_limited_groups) {
      return fail({"moe_args.num_limited_groups", "moe_args.num_expert_groups"},
                  base::format("{} is {} but num_limited_groups is unset; set it to 1 to {}", name,
                               groups, groups));
    }
    const int64_t limited = *moe.num_limited_groups;
    if (limited > groups) {
      return fail({"moe_args.num_limited_groups", "moe_args.num_expert_groups"},
                  base::format("model.args.moe_args.num_limited_groups is {} but there are {} "
                               "groups; use 1 to {}",
                               limited, groups, groups));
    }
    const int64_t reachable = limited * (moe.num_experts / groups);
    if (moe.top_k > reachable && moe.top_k <= moe.num_experts) {
      fail({"moe_args.top_k", "moe_args.num_limited_groups", "moe_args.num_expert_groups"},
           base::format("model.args.moe_args.top_k is {} but {} of {} groups hold {} experts; use "
                        "1 to {}",
                        moe.top_k, limited, groups, reachable, reachable));
    }
  }

  // The place is the first of the fields that the user set.
  void fail(std::initializer_list<std::string_view> fields, std::string message) {
    Problem problem{std::move(message), {}};
    for (const std::string_view field : fields) {
      if (!settings_.given(key_name(field))) continue;
      problem.at = settings_.at(key_name(field)).origin;
      break;
    }
    draft_.problems.push_back(std::move(problem));
  }

  Draft& draft_;
  const Settings& settings_;
  const ModelArgs& args_;
};

void set_from_flavor(Settings& settings, const std::string& flavor, std::string_view key,
                     Value value) {
  Setting& setting = settings.values[key_index(key)];
  if (settings.given(key)) return;
  setting = {std::move(value), {.from = Origin::From::flavor, .name = flavor}};
}

// Without groups there is nothing to limit, whatever the flavor says.
void drop_unused_limit(Settings& settings) {
  const std::string_view limited = "model.args.moe_args.num_limited_groups";
  const Value& groups = settings.at("model.args.moe_args.num_expert_groups").value;
  if (!settings.given(limited) && std::holds_alternative<std::monostate>(groups)) {
    settings.values[key_index(limited)].value = {};
  }
}

// training.seq_len decides (reference 1.1, step 1).
void replace_max_seq_len(Draft& draft, Settings& settings, int64_t seq_len) {
  Setting& setting = settings.values[key_index("model.args.max_seq_len")];
  if (settings.given("model.args.max_seq_len") && setting.value != Value(seq_len)) {
    draft.warnings.push_back(
        base::format("model.args.max_seq_len is {} but training.seq_len {} decides",
                     to_toml(setting.value), seq_len));
    setting.value = seq_len;
  }
}

bool any_field_broken(const Draft& draft) {
  for (const Key& key : all_keys()) {
    if (key.name.starts_with("model.args.") && draft.broken[key_index(key.name)]) return true;
  }
  return false;
}

}  // namespace

ModelArgs model_args(const Settings& settings) {
  ModelArgs args;
  visit_fields(args, [&](std::string_view field, auto& value) {
    from_value(settings.at(key_name(field)).value, value);
  });
  args.moe_args.debug_force_load_balance = settings.flag("debug.moe_force_load_balance");
  return args;
}

void fill_model_args(Draft& draft, Settings& settings) {
  if (draft.broken[key_index("model.flavor")]) return;
  const std::string flavor = settings.text("model.flavor");
  const std::span<const std::string> known = flavor_names();
  if (std::ranges::find(known, flavor) == known.end()) {
    draft.problems.push_back({base::format("model.flavor is {}: expected one of {}", show(flavor),
                                           base::join(known, ", ")),
                              settings.at("model.flavor").origin,
                              did_you_mean(base::nearest(flavor, known))});
    return;
  }
  const int64_t seq_len = settings.integer("training.seq_len");
  const ModelArgs defaults = flavor_args(flavor, seq_len);
  visit_fields(defaults, [&](std::string_view field, const auto& value) {
    set_from_flavor(settings, flavor, key_name(field), as_value(value));
  });
  // Fields that nothing reads; the values are the reference's (1.1).
  set_from_flavor(settings, flavor, "model.args.max_batch_size", int64_t{8});
  set_from_flavor(settings, flavor, "model.args.expert_parallel_comm_backend", "standard");
  replace_max_seq_len(draft, settings, seq_len);
  drop_unused_limit(settings);
  if (any_field_broken(draft) || draft.broken[key_index("training.seq_len")]) return;
  const ModelArgs args = model_args(settings);
  FieldChecker(draft, settings, args).check_all();
}

}  // namespace config
