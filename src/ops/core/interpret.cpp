// The reference interpreter.
#include "ops/core/interpret.h"

#include <cerrno>
#include <cstring>
#include <new>

#include "base/error.h"
#include "graph/op.h"
#include "ops/core/eval.h"

namespace ops {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SizeKind;
using graph::Syntax;
using graph::Value;

int64_t EvalContext::number(const sym::Expr& e) const {
  if (const auto c = e.constant()) return *c;
  if (const auto leaf = e.leaf()) return sizes[leaf->id];
  return sym::evaluate(e, [this](sym::Leaf leaf) { return sizes[leaf.id]; });
}

bool EvalContext::holds(const graph::Fact& fact) const {
  const int64_t left = number(fact.left), right = number(fact.right);
  switch (fact.relation) {
    case graph::Fact::Relation::equal:
      return left == right;
    case graph::Fact::Relation::at_most:
      return left <= right;
    case graph::Fact::Relation::at_least:
      return left >= right;
  }
  return false;
}

Tensor EvalContext::make(size_t result) const {
  Tensor t = Tensor::make(dtypes[result], shapes[result], account);
  if (poison && t.bytes() > 0) std::memset(t.raw(), 0xFF, t.bytes());
  return t;
}

Tensor EvalContext::reuse_or_make(size_t result, const Tensor& operand) const {
  const bool fits = operand.is_sole_owner() && operand.is_contiguous() &&
                    operand.dtype() == dtypes[result] && operand.shape() == shapes[result];
  return fits ? operand : make(result);
}

namespace {

constexpr uint32_t none = UINT32_MAX;

bool may_fail(const Node& n) {
  return n.op->may_fail || n.op->syntax == Syntax::check || n.op->syntax == Syntax::sizes;
}

}  // namespace

Program::Program(const Graph& g) : g_(g), input_of_(g.values.size(), none) {
  for (uint32_t i = 0; i < g.inputs.size(); ++i) input_of_[g.inputs[i].value.id] = i;
  // Backwards: the first time a value is seen is its last use.
  std::vector<bool> used(g.values.size());
  for (const Value v : g.returns) used[v.id] = true;
  last_.resize(g.nodes.size());
  dead_results_.resize(g.nodes.size());
  for (size_t i = g.nodes.size(); i-- > 0;) {
    const Node& n = g.nodes[i];
    if (commit_ == 0 && may_fail(n)) commit_ = static_cast<uint32_t>(i + 1);
    for (uint32_t r = 0; r < n.out.size(); ++r) {
      if (!used[n.out[r].id]) dead_results_[i].push_back(r);
    }
    last_[i].resize(n.in.size());
    for (size_t k = n.in.size(); k-- > 0;) {
      if (!used[n.in[k].id]) last_[i][k] = 1, used[n.in[k].id] = true;
    }
  }
}

// One run of a program.
class Run {
 public:
  Run(const Program& p, const base::WorkerPool& pool, std::vector<Tensor>& inputs,
      const RunOptions& options)
      : p_(p),
        g_(p.g_),
        pool_(pool),
        inputs_(inputs),
        options_(options),
        values_(g_.values.size()) {}

  void set_sizes(const std::map<std::string, int64_t>& run_sizes) {
    sizes_.resize(g_.sizes.size());
    size_t named = 0;
    for (uint32_t i = 0; i < g_.sizes.size(); ++i) {
      const graph::SizeInfo& s = g_.sizes[i];
      if (s.kind == SizeKind::constant || s.kind == SizeKind::run) sizes_[i] = s.number;
      if (s.kind == SizeKind::run && run_sizes.contains(s.name)) {
        sizes_[i] = run_sizes.at(s.name), ++named;
      }
      if (s.kind == SizeKind::let) sizes_[i] = context({}, {}).number(s.expression);
    }
    if (named != run_sizes.size()) {
      base::fail_internal("graph {}: a run size that the graph does not have", g_.name);
    }
  }

  void bind_inputs() {
    if (inputs_.size() != g_.inputs.size()) {
      base::fail_internal("graph {} has {} inputs, {} tensors given", g_.name, g_.inputs.size(),
                          inputs_.size());
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Value v = g_.inputs[i].value;
      const graph::Type& type = g_.type(v);
      if (inputs_[i].dtype() != type.dtype || inputs_[i].shape() != shape_of(type)) {
        base::fail_internal("graph {}: input {} is {}, the tensor given is {} with {} elements",
                            g_.name, graph::display_name(g_, v), graph::display_type(g_, type),
                            inputs_[i].dtype(), inputs_[i].count());
      }
      values_[v.id] = inputs_[i];
    }
  }

  std::vector<Tensor> go() {
    for (uint32_t i = 0; i < g_.nodes.size(); ++i) {
      try {
        step(i);
      } catch (base::Error& e) {
        e.add_note(base::format("at {}", graph::describe_node(g_, {i})));
        throw;
      } catch (const std::bad_alloc&) {
        throw base::SystemError(base::Exit::memory,
                                base::format("out of memory at {}", graph::describe_node(g_, {i})),
                                ENOMEM);
      }
    }
    for (const auto& [input, value] : deferred_) inputs_[input] = value;
    std::vector<Tensor> out;
    for (const Value v : g_.returns) out.push_back(values_[v.id]);
    return out;
  }

 private:
  host::Shape shape_of(const graph::Type& type) const {
    host::Shape shape;
    for (const sym::Expr& d : type.dims) shape.push_back(context({}, {}).number(d));
    return shape;
  }

  EvalContext context(std::span<const base::DType> dtypes,
                      std::span<const host::Shape> shapes) const {
    return {pool_, options_.width, sizes_, dtypes, shapes, {}, options_.account, options_.poison};
  }

  void step(uint32_t i) {
    const Node& n = g_.nodes[i];
    in_.clear();
    for (size_t k = 0; k < n.in.size(); ++k) {
      Tensor& slot = values_[n.in[k].id];
      if (p_.last_[i][k]) {
        in_.push_back(std::move(slot));
        slot = Tensor();
      } else {
        in_.push_back(slot);
      }
    }
    if (n.op->syntax == Syntax::update) return update(i, n);
    dtypes_.clear();
    shapes_.clear();
    for (const Value v : n.out) {
      dtypes_.push_back(g_.type(v).dtype);
      shapes_.push_back(shape_of(g_.type(v)));
    }
    EvalContext c = context(dtypes_, shapes_);
    std::vector<int64_t> borne(n.sizes.size());
    c.borne = borne;
    out_.assign(n.out.size(), Tensor());
    kernel_of(n)(c, in_, out_, n.attrs);
    for (size_t r = 0; r < n.out.size(); ++r) {
      if (!out_[r].defined() || out_[r].shape() != shapes_[r] || out_[r].dtype() != dtypes_[r]) {
        base::fail_internal("kernel of {} gave another type than inferred for {}", n.op->name,
                            graph::display_name(g_, n.out[r]));
      }
      values_[n.out[r].id] = std::move(out_[r]);
    }
    for (const uint32_t r : p_.dead_results_[i]) values_[n.out[r].id] = Tensor();
    bear(n, borne);
  }

  // Data sizes are facts about data only once they have been read: each fact is verified here.
  void bear(const Node& n, std::span<const int64_t> borne) {
    for (size_t k = 0; k < borne.size(); ++k) {
      sizes_[n.sizes[k]] = borne[k];
      if (borne[k] < 0) fail_check("size {} is {}", g_.sizes[n.sizes[k]].name, borne[k]);
    }
    const EvalContext c = context({}, {});
    for (const graph::Fact& f : n.facts) {
      if (!c.holds(f)) {
        fail_check("{} is {}, expected {} {} = {}", graph::display_dim(g_, f.left),
                   c.number(f.left),
                   f.relation == graph::Fact::Relation::equal     ? ""
                   : f.relation == graph::Fact::Relation::at_most ? "at most"
                                                                  : "at least",
                   graph::display_dim(g_, f.right), c.number(f.right));
      }
    }
  }

  // Updates take effect at the end of the graph. After the last node that can fail, the end is
  // certain, and taking effect at once gives the old value's memory back early.
  void update(uint32_t i, const Node& n) {
    const uint32_t input = p_.input_of_[n.in[0].id];
    if (input == none) base::fail_internal("update of a value that is not an input");
    Tensor value = std::move(in_[1]);
    in_.clear();
    if (!value.is_sole_owner() || !value.is_contiguous()) value = value.clone();
    if (i >= p_.commit_) {
      inputs_[input] = std::move(value);
    } else {
      deferred_.emplace_back(input, std::move(value));
    }
  }

  // The float64 kernel where an operand or a result is f64.
  graph::OpDef::Kernel kernel_of(const Node& n) const {
    bool wide = false;
    for (const Tensor& t : in_) wide |= t.dtype() == base::DType::f64;
    for (const base::DType d : dtypes_) wide |= d == base::DType::f64;
    const auto kernel = wide ? n.op->eval.f64 : n.op->eval.f32;
    if (!kernel) base::fail_internal("op {} has no {} kernel", n.op->name, wide ? "f64" : "f32");
    return kernel;
  }

  const Program& p_;
  const Graph& g_;
  const base::WorkerPool& pool_;
  std::vector<Tensor>& inputs_;
  const RunOptions& options_;
  std::vector<Tensor> values_;
  std::vector<int64_t> sizes_;
  std::vector<std::pair<uint32_t, Tensor>> deferred_;
  // Scratch of one node, kept to spare allocations.
  std::vector<Tensor> in_, out_;
  std::vector<base::DType> dtypes_;
  std::vector<host::Shape> shapes_;
};

std::vector<Tensor> Program::run(const base::WorkerPool& pool, std::vector<Tensor>& inputs,
                                 const std::map<std::string, int64_t>& run_sizes,
                                 const RunOptions& options) const {
  Run run(*this, pool, inputs, options);
  run.set_sizes(run_sizes);
  run.bind_inputs();
  return run.go();
}

}  // namespace ops
