// Reverse-mode differentiation: one sweep over the nodes from the loss back to the parameters.
// Griewank and Walther, Evaluating Derivatives, 2nd ed., section 3.2 (the adjoint program).
#include "autodiff/gradients.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "graph/op.h"
#include "ops/ops.h"

namespace autodiff {

using graph::Builder;
using graph::Node;
using graph::NodeId;
using graph::Type;
using graph::Value;
using graph::Values;
using graph::ValuesIn;

namespace {

class Sweep {
 public:
  Sweep(Builder& b, ValuesIn wrt)
      : b_(b),
        forward_nodes_(b.graph().nodes.size()),
        forward_values_(b.graph().values.size()),
        needed_(forward_values_),
        parts_(forward_values_),
        total_(forward_values_) {
    for (const Value v : wrt) needed_[v.id] = true;
    // A result needs a gradient when some operand does: only those paths are walked back.
    for (const Node& n : b.graph().nodes) {
      const bool needed = n.op->grad != nullptr &&
                          std::ranges::any_of(n.in, [&](Value v) { return needed_[v.id]; });
      for (const Value v : n.out) needed_[v.id] = needed && is_float(b.type(v).dtype);
    }
  }

  void run(Value loss) {
    parts_[loss.id].push_back(ops::scalar(b_, b_.type(loss).dtype, 1.0));
    for (size_t i = forward_nodes_; i-- > 0;) visit({static_cast<uint32_t>(i)});
  }

  // The gradient of v: its parts added up, oldest first; none when nothing reached it.
  Value total(Value v) {
    std::vector<Value>& parts = parts_[v.id];
    if (parts.empty()) return total_[v.id];
    Value sum = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) {
      sum = ops::add(b_, sum, parts[i]);
      if (i + 1 < parts.size()) name_after(v, sum, base::format("_sum{}", i + 1));
    }
    parts.clear();
    name_after(v, sum, "");
    return total_[v.id] = sum;
  }

 private:
  void visit(NodeId id) {
    const Node n = b_.graph().node(id);  // a copy: the graph grows below
    if (!std::ranges::any_of(n.out, [&](Value v) { return needed_[v.id] && has_gradient(v); })) {
      return;
    }
    const graph::ScopeId outer = b_.scope();
    const std::string& path = b_.graph().scopes[n.scope.id];
    b_.set_scope(b_.scope_id(path.empty() ? "grad" : path + "_grad"));
    b_.set_source(n.source);
    Values dy;
    for (const Value v : n.out) dy.push_back(total(v));
    const Values dx = n.op->grad(b_, n.in, n.out, dy, n.attrs);
    CHECK(dx.size() == n.in.size());
    for (size_t k = 0; k < dx.size(); ++k) {
      if (!dx[k].valid() || !needed_[n.in[k].id]) continue;
      check_type(id, n.in[k], dx[k]);
      std::vector<Value>& parts = parts_[n.in[k].id];
      parts.push_back(dx[k]);
      name_after(n.in[k], dx[k], base::format("_{}", parts.size()));
    }
    b_.set_source({});
    b_.set_scope(outer);
  }

  bool has_gradient(Value v) const { return !parts_[v.id].empty() || total_[v.id].valid(); }

  void check_type(NodeId id, Value primal, Value gradient) const {
    const Type &a = b_.type(primal), &g = b_.type(gradient);
    const bool same =
        a.dtype == g.dtype && std::ranges::equal(a.dims, g.dims, [&](const auto& x, const auto& y) {
          return b_.facts().prove_equal(x, y);
        });
    if (same) return;
    base::fail_internal("gradient of {} is {}, expected {}: rule of {}",
                        graph::display_name(b_.graph(), primal), graph::display_type(b_.graph(), g),
                        graph::display_type(b_.graph(), a), graph::describe_node(b_.graph(), id));
  }

  // "dh" for the gradient of "h", "dh_1", "dh_2" for its parts, when the value is new and has no
  // such name yet. Every expert's nodes get like names, so their texts fold.
  void name_after(Value primal, Value gradient, const std::string& suffix) {
    if (gradient.id < forward_values_) return;
    if (named_.size() <= gradient.id) named_.resize(gradient.id + 1, Named::no);
    Named& named = named_[gradient.id];
    if (named == Named::whole || (named == Named::part && !suffix.empty())) return;
    named = suffix.empty() ? Named::whole : Named::part;
    b_.named("d" + b_.graph().info(primal).name + suffix, gradient);
  }

  Builder& b_;
  size_t forward_nodes_, forward_values_;
  std::vector<bool> needed_;
  std::vector<Values> parts_;
  std::vector<Value> total_;
  enum class Named : uint8_t { no, part, whole };
  std::vector<Named> named_;
};

}  // namespace

Values gradients(Builder& b, Value loss, ValuesIn wrt) {
  const Type& type = b.type(loss);
  if (!type.dims.empty() || !is_float(type.dtype)) {
    base::fail_internal("gradients: the loss must be a float scalar, found {}",
                        graph::display_type(b.graph(), type));
  }
  Sweep sweep(b, wrt);
  sweep.run(loss);
  Values out;
  for (const Value v : wrt) {
    const Value g = sweep.total(v);
    out.push_back(g.valid() ? g : ops::zeros(b, b.type(v)));
  }
  return out;
}

}  // namespace autodiff
