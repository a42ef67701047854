// The state of a training run and its step graphs.
#include "trainer/step_runner.h"

#include <chrono>
#include <cmath>
#include <optional>

#include "base/cpu.h"
#include "base/error.h"
#include "graph/size_facts.h"
#include "host/safetensors.h"
#include "model/init.h"
#include "model/step.h"
#include "ops/core/interpret.h"
#include "passes/pipeline.h"

namespace trainer {

using base::DType;
using host::Tensor;
using model::StepGraph;

namespace {

StepGraph build_graph(const model::StepArgs& args, model::Step::Form form) {
  model::Step step(args, form);
  graph::Graph g = passes::build_step(
      form == model::Step::Form::whole ? "step" : "accumulate",
      {.forward_loss = [&](graph::Builder& b) { return step.forward_loss(b); },
       .parameters = [&] { return step.parameters(); },
       .add_update = [&](graph::Builder& b, graph::ValuesIn g) { step.add_update(b, g); }});
  return {std::move(g), step.outputs()};
}

// A step graph with everything that running it needs.
struct Runnable {
  explicit Runnable(StepGraph g) : step(std::move(g)), program(step.graph) {}
  StepGraph step;
  ops::Program program;
};

model::StepArgs step_args(const config::JobConfig& job) {
  using Kind = model::OptimizerArgs::Kind;
  model::StepArgs args;
  args.model = job.model.args;
  args.optimizer = {job.optimizer.name == "Adam" ? Kind::adam : Kind::adamw,
                    job.optimizer.beta1,
                    job.optimizer.beta2,
                    job.optimizer.eps,
                    job.optimizer.weight_decay,
                    job.training.max_norm};
  args.dtype = job.training.dtype == "float64" ? DType::f64 : DType::f32;
  args.batch = job.training.local_batch_size;
  args.seq_len = job.training.seq_len;
  return args;
}

double scalar_of(const Tensor& t) {
  return t.dtype() == DType::f64 ? *t.data<double>() : static_cast<double>(*t.data<float>());
}

Tensor make_scalar(DType dtype, double value) {
  Tensor t = Tensor::make(dtype, {});
  if (dtype == DType::f64) {
    *t.data<double>() = value;
  } else {
    *t.data<float>() = static_cast<float>(value);
  }
  return t;
}

int64_t count_valid(const Tensor& labels) {
  int64_t count = 0;
  for (int64_t i = 0; i < labels.count(); ++i) count += labels.data<int64_t>()[i] != -100;
  return count;
}

}  // namespace

struct StepRunner::State {
  State(const config::JobConfig& job_config, const base::WorkerPool& worker_pool)
      : job(job_config), pool(worker_pool), args(step_args(job_config)) {
    first.emplace(build_graph(args, form()));
    if (accumulates()) update.emplace(model::build_update(args));
  }

  // The graphs of the dump step return more; built when a dump is asked for.
  void build_debug() {
    args.extra = model::StepArgs::Extra::debug;
    debug_first.emplace(build_graph(args, form()));
    if (accumulates()) debug_update.emplace(model::build_update(args));
  }

  bool accumulates() const { return job.training.accumulation_steps > 1; }
  model::Step::Form form() const {
    return accumulates() ? model::Step::Form::accumulate : model::Step::Form::whole;
  }

  const config::JobConfig& job;
  const base::WorkerPool& pool;
  model::StepArgs args;
  std::optional<Runnable> first, update, debug_first, debug_update;
  NamedTensors tensors;  // params and buffers by label
  int64_t earlier_optimizer_steps = 0;

  // Shapes of the graphs' params and buffers.
  std::vector<std::pair<graph::Input, host::Shape>> state_inputs() const {
    std::vector<std::pair<graph::Input, host::Shape>> out;
    std::map<std::string, bool> seen;
    for (const auto* r : {&first, &update}) {
      if (!*r) continue;
      const graph::Graph& g = (*r)->step.graph;
      for (const graph::Input& input : g.inputs) {
        if (input.kind == graph::InputKind::in || seen[input.label]) continue;
        seen[input.label] = true;
        out.emplace_back(input, shape_of(g, input.value));
      }
    }
    return out;
  }

  static host::Shape shape_of(const graph::Graph& g, graph::Value v) {
    const auto value = [&](auto&& self, const sym::Expr& e) -> int64_t {
      return sym::evaluate(e, [&](sym::Leaf leaf) {
        const graph::SizeInfo& s = g.sizes[leaf.id];
        return s.kind == graph::SizeKind::let ? self(self, s.expression) : s.number;
      });
    };
    host::Shape shape;
    for (const sym::Expr& d : g.type(v).dims) shape.push_back(value(value, d));
    return shape;
  }

  // Runs one graph over the state. Tensors move in and out, so that an update frees the old memory.
  std::map<std::string, Tensor> run(const Runnable& r, const std::map<std::string, Tensor>& ins) {
    const graph::Graph& g = r.step.graph;
    std::vector<Tensor> inputs;
    for (const graph::Input& input : g.inputs) {
      const bool is_state = input.kind != graph::InputKind::in;
      inputs.push_back(is_state ? std::move(tensors.at(input.label)) : ins.at(input.label));
    }
    const auto give_back = [&] {
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (g.inputs[i].kind != graph::InputKind::in) {
          tensors[g.inputs[i].label] = std::move(inputs[i]);
        }
      }
    };
    std::vector<Tensor> returned;
    try {
      returned = r.program.run(pool, inputs, {}, {.width = base::vector_width(), .account = {}});
    } catch (...) {
      give_back();
      throw;
    }
    give_back();
    std::map<std::string, Tensor> out;
    for (size_t i = 0; i < returned.size(); ++i) out[r.step.outputs[i]] = std::move(returned[i]);
    return out;
  }

  StepRecord step(int64_t number, std::span<const MicroBatch> micro_batches, double lr,
                  NamedTensors* dump);
  void reset_state();
};

namespace {

void add_to_dump(std::map<std::string, Tensor>& outputs, NamedTensors* dump) {
  if (!dump) return;
  for (auto& [name, tensor] : outputs) {
    const bool wanted = name == "logits" || name.starts_with("block.") ||
                        name.starts_with("router.") || name.starts_with("grad.");
    if (wanted) dump->emplace(name, tensor);
  }
}

// "layers.12.moe.expert_bias" -> 12.
int64_t layer_of(const std::string& label) { return std::stoll(label.substr(7)); }

}  // namespace

StepRecord StepRunner::State::step(int64_t number, std::span<const MicroBatch> micro_batches,
                                   double lr, NamedTensors* dump) {
  const auto start = std::chrono::steady_clock::now();
  CHECK(static_cast<int64_t>(micro_batches.size()) == job.training.accumulation_steps);
  StepRecord record{.step = number, .lr = lr, .single = args.dtype == DType::f32};
  for (const MicroBatch& m : micro_batches) record.valid_tokens += count_valid(m.labels);
  if (record.valid_tokens == 0) {
    base::fail_user(base::Exit::data, "step {}: every label of the batch is ignored (-100)",
                    number);
  }
  if (dump && !debug_first) build_debug();
  const double t = static_cast<double>(number + earlier_optimizer_steps);
  std::map<std::string, Tensor> ins;
  ins["valid_tokens"] = make_scalar(args.dtype, static_cast<double>(record.valid_tokens));
  ins["lr"] = make_scalar(args.dtype, lr);
  ins["bias_correction1"] = make_scalar(args.dtype, 1.0 - std::pow(args.optimizer.beta1, t));
  ins["bias_correction2"] = make_scalar(args.dtype, 1.0 - std::pow(args.optimizer.beta2, t));
  std::map<std::string, Tensor> outputs;
  for (const MicroBatch& m : micro_batches) {
    ins["tokens"] = m.tokens;
    ins["labels"] = m.labels;
    ins["documents"] = m.documents;
    outputs = run(dump ? *debug_first : *first, ins);
    record.loss += scalar_of(outputs.at("loss"));
    add_to_dump(outputs, dump);  // the first micro-batch's: emplace keeps it
  }
  if (accumulates()) {
    outputs = run(dump ? *debug_update : *update, ins);
    add_to_dump(outputs, dump);
  }
  record.grad_norm = scalar_of(outputs.at("grad_norm"));
  for (const auto& [name, tensor] : outputs) {
    if (!name.ends_with(".moe.tokens_per_expert")) continue;
    const int64_t* n = tensor.data<int64_t>();
    record.tokens_per_expert[layer_of(name)].assign(n, n + tensor.count());
  }
  for (const auto& [name, tensor] : tensors) {
    if (!name.ends_with(".moe.expert_bias")) continue;
    const Tensor wide = host::cast(tensor, DType::f64);
    record.expert_bias_after[layer_of(name)].assign(wide.data<double>(),
                                                    wide.data<double>() + wide.count());
  }
  record.step_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return record;
}

// Moments, sums and expert bias at zero, the RoPE table; parameters are the caller's.
void StepRunner::State::reset_state() {
  const model::RopeTable rope = model::rope_table(args.model, args.dtype);
  for (const auto& [input, shape] : state_inputs()) {
    if (input.kind == graph::InputKind::param) continue;
    const DType dtype = input.label.ends_with("tokens_per_expert") ? DType::i64 : args.dtype;
    tensors[input.label] = input.label == "rope.cos"   ? rope.cos
                           : input.label == "rope.sin" ? rope.sin
                                                       : Tensor::zeros(dtype, shape);
  }
}

StepRunner::StepRunner(const config::JobConfig& job, const base::WorkerPool& pool)
    : state_(std::make_unique<State>(job, pool)) {}
StepRunner::~StepRunner() = default;

void StepRunner::start_from_seed(uint64_t seed) { restore({}, seed); }

void StepRunner::start_from_file(const std::string& path) {
  State& s = *state_;
  s.reset_state();
  const host::SafetensorsFile file(path, base::Exit::checkpoint);
  std::string problems;
  std::map<std::string, bool> wanted;
  const auto shape_text = [](const host::Shape& shape) {
    std::string out = "[";
    for (size_t i = 0; i < shape.size(); ++i) out += base::format("{}{}", i ? ", " : "", shape[i]);
    return out + "]";
  };
  for (const auto& [input, shape] : s.state_inputs()) {
    const bool is_param = input.kind == graph::InputKind::param;
    if (!is_param && !input.label.ends_with(".moe.expert_bias")) continue;
    wanted[input.label] = true;
    const host::TensorEntry* entry = file.find(input.label);
    if (!entry) {
      // A file without balancing state starts balancing from zero.
      if (is_param) problems += base::format("\n  missing: {} {}", input.label, shape_text(shape));
    } else if (entry->shape != shape) {
      problems += base::format("\n  {}: expected {}, found {}", input.label, shape_text(shape),
                               shape_text(entry->shape));
    } else {
      s.tensors[input.label] = file.get(input.label, s.args.dtype, shape).clone();
    }
  }
  for (const host::TensorEntry& entry : file.entries()) {
    if (!wanted[entry.name]) problems += "\n  not in the model: " + entry.name;
  }
  if (!problems.empty()) {
    base::fail_user(base::Exit::checkpoint, "{}: does not fit the model:{}", path, problems);
  }
}

StepRecord StepRunner::step(int64_t number, std::span<const MicroBatch> micro_batches, double lr) {
  return state_->step(number, micro_batches, lr, nullptr);
}

StepRecord StepRunner::step_with_dump(int64_t number, std::span<const MicroBatch> micro_batches,
                                      double lr, NamedTensors& dump) {
  StepRecord record = state_->step(number, micro_batches, lr, &dump);
  dump["rope.cos"] = state_->tensors.at("rope.cos");
  dump["rope.sin"] = state_->tensors.at("rope.sin");
  return record;
}

NamedTensors StepRunner::weights() const {
  NamedTensors out;
  for (const auto& [input, shape] : state_->state_inputs()) {
    if (input.kind == graph::InputKind::param || input.label.ends_with(".moe.expert_bias")) {
      out[input.label] = state_->tensors.at(input.label);
    }
  }
  return out;
}

std::vector<StateTensor> StepRunner::saved_state() const {
  std::vector<StateTensor> out;
  for (const auto& [input, shape] : state_->state_inputs()) {
    const bool is_weight =
        input.kind == graph::InputKind::param || input.label.ends_with(".moe.expert_bias");
    const bool is_moment = !is_weight && input.label.starts_with("exp_avg");
    if (!is_weight && !is_moment) continue;  // the RoPE table; sums, which are zero between steps
    out.push_back({input.label, shape, state_->args.dtype,
                   is_weight ? StateTensor::Part::weights : StateTensor::Part::moments});
  }
  return out;
}

NamedTensors StepRunner::moments() const {
  NamedTensors out;
  for (const StateTensor& t : saved_state()) {
    if (t.part == StateTensor::Part::moments) out[t.name] = state_->tensors.at(t.name);
  }
  return out;
}

void StepRunner::restore(const NamedTensors& tensors, uint64_t seed) {
  State& s = *state_;
  s.reset_state();
  for (const auto& [input, shape] : s.state_inputs()) {
    const auto given = tensors.find(input.label);
    if (given != tensors.end()) {
      CHECK(given->second.shape() == shape && given->second.dtype() == s.args.dtype);
      s.tensors[input.label] = given->second;
    } else if (input.kind == graph::InputKind::param) {
      s.tensors[input.label] =
          model::start_weight(s.pool, input.label, shape, s.args.dtype, seed, s.args.model);
    }
  }
}

void StepRunner::set_earlier_optimizer_steps(int64_t count) {
  state_->earlier_optimizer_steps = count;
}

size_t StepRunner::node_count() const {
  size_t count = state_->first->step.graph.nodes.size();
  if (state_->update) count += state_->update->step.graph.nodes.size();
  return count;
}

}  // namespace trainer
