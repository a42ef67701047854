// Schema: [parallelism] (reference 4.9). Degrees over 1 are refused in check.cpp.
#include "config/schema_parts.h"

namespace config {
namespace {

const Condition sharded = above("parallelism.data_parallel_shard_degree", 1);
const Condition tensor_parallel = above("parallelism.tensor_parallel_degree", 1);
const Condition pipelined = above("parallelism.pipeline_parallel_degree", 1);
const Condition context_parallel = above("parallelism.context_parallel_degree", 1);
const Condition expert_parallel = above("parallelism.expert_parallel_degree", 1);

Key degree(std::string_view name, std::string_view help) {
  return {.name = name,
          .kind = Kind::integer,
          .fallback = int64_t{1},
          .range = size_from(1),
          .help = help};
}

const Key keys[] = {
    degree("parallelism.data_parallel_replicate_degree", "copies of the model (DDP, outer HSDP)"),
    {.name = "parallelism.data_parallel_shard_degree",
     .kind = Kind::integer,
     .fallback = int64_t{-1},
     .range = {.low = 1, .high = largest_size, .also = -1},
     .help = "ranks that share one copy of the model (FSDP); -1: all that are left"},
    {.name = "parallelism.fsdp_reshard_after_forward",
     .fallback = "default",
     .choices = {"default", "always", "never"},
     .help = "drop gathered parameters between forward and backward",
     .counts_if = sharded},
    degree("parallelism.tensor_parallel_degree", "ranks that share one layer"),
    {.name = "parallelism.disable_loss_parallel",
     .kind = Kind::boolean,
     .fallback = false,
     .help = "keep logits whole on every rank",
     .counts_if = tensor_parallel},
    {.name = "parallelism.enable_async_tensor_parallel",
     .kind = Kind::boolean,
     .fallback = false,
     .help = "overlap tensor-parallel communication with products",
     .counts_if = tensor_parallel},
    degree("parallelism.pipeline_parallel_degree", "pipeline stages in a row of ranks"),
    {.name = "parallelism.module_fqns_per_model_part",
     .kind = Kind::list_of_lists,
     .optional = true,
     .help = "contents of each pipeline stage",
     .counts_if = pipelined},
    {.name = "parallelism.pipeline_parallel_first_stage_less_layers",
     .kind = Kind::integer,
     .fallback = int64_t{1},
     .range = from(0),
     .help = "weight of the embedding, in layers",
     .counts_if = pipelined},
    {.name = "parallelism.pipeline_parallel_last_stage_less_layers",
     .kind = Kind::integer,
     .fallback = int64_t{1},
     .range = from(0),
     .help = "weight of the final norm and the output head, in layers",
     .counts_if = pipelined},
    {.name = "parallelism.pipeline_parallel_layers_per_stage",
     .kind = Kind::integer,
     .optional = true,
     .range = from(1),
     .help = "layers of a virtual stage",
     .counts_if = pipelined},
    {.name = "parallelism.pipeline_parallel_schedule",
     .fallback = "1F1B",
     .help = "name of the pipeline schedule",
     .counts_if = pipelined},
    {.name = "parallelism.pipeline_parallel_schedule_csv",
     .fallback = "",
     .optional = true,
     .help = "file of a custom schedule",
     .counts_if = pipelined},
    {.name = "parallelism.pipeline_parallel_microbatch_size",
     .kind = Kind::integer,
     .fallback = int64_t{1},
     .range = from(1),
     .help = "sequences of a pipeline micro-batch",
     .counts_if = pipelined},
    {.name = "parallelism.pipeline_parallel_expert_parallel_overlap",
     .kind = Kind::boolean,
     .fallback = true,
     .help = "overlap expert and pipeline communication (DualPipeV)",
     .counts_if = pipelined},
    degree("parallelism.context_parallel_degree", "ranks that share one sequence"),
    {.name = "parallelism.context_parallel_load_balancer",
     .fallback = "headtail",
     .optional = true,
     .choices = {"headtail", "ptrr"},
     .help = "how a causal sequence is cut evenly",
     .counts_if = context_parallel},
    {.name = "parallelism.context_parallel_rotate_method",
     .fallback = "allgather",
     .choices = {"allgather", "alltoall"},
     .help = "how keys and values travel",
     .counts_if = context_parallel},
    degree("parallelism.expert_parallel_degree", "ranks that share the experts of a layer"),
    {.name = "parallelism.expert_tensor_parallel_degree",
     .kind = Kind::integer,
     .fallback = int64_t{1},
     .range = size_from(1),
     .help = "ranks that share one expert",
     .counts_if = expert_parallel},
    {.name = "parallelism.expert_parallel_comm_backend",
     .fallback = "standard",
     .choices = {"standard", "deepep"},
     .help = "how tokens travel to their experts",
     .counts_if = expert_parallel}};

}  // namespace

std::span<const Key> parallel_keys() { return keys; }

}  // namespace config
