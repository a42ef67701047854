// check: stops the run unless a fact about sizes, or a bool that the graph computed, holds. Exit 1;
// exit 5 with kind="numerics". Nothing that `update` writes changes then.
#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/ops.h"

namespace ops {
namespace {

bool has_fact(const Attrs& attrs) { return std::holds_alternative<Fact>(attrs.values()[0]); }

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  if (in.empty() != has_fact(attrs)) s.refuse("expected either a fact or one operand");
  if (!in.empty()) {
    s.need_dtype(in[0], DType::boolean, "operand");
    s.need_rank(in[0], 0, "operand");
  }
  const std::string& kind = attrs.text("kind");
  if (!kind.empty() && kind != "internal" && kind != "numerics") {
    s.refuse("kind is \"internal\" or \"numerics\", found \"{}\"", kind);
  }
  return {};
}

std::string message_of(const Attrs& attrs) {
  const std::string& message = attrs.text("msg");
  return message.empty() ? "a check failed" : message;
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut, const Attrs& attrs) {
  const base::Exit exit =
      attrs.text("kind") == "numerics" ? base::Exit::numerics : base::Exit::internal;
  if (in.empty()) {
    const Fact& fact = attrs.fact("fact");
    if (context.holds(fact)) return;
    throw CheckFailure(exit, base::format("{}: left side {}, right side {}", message_of(attrs),
                                          context.number(fact.left), context.number(fact.right)));
  }
  if (!*in[0].data<bool>()) throw CheckFailure(exit, message_of(attrs));
}

constexpr graph::AttrSpec attrs[] = {{"fact", graph::AttrSpec::Kind::fact, false},
                                     {"msg", graph::AttrSpec::Kind::text, false},
                                     {"kind", graph::AttrSpec::Kind::text, false}};

constexpr graph::Sample samples[] = {
    {"bool[] true | msg=\"the loss is finite\", kind=\"numerics\""},
    {"bool[] true"},
    {" | fact=u0 <= u0 + u1, msg=\"sizes are not negative\""},
    {" | fact=u0 + 1 >= 1"},
};

}  // namespace

extern const graph::OpDef check_op{.name = "check",
                                   .about = "stops the run unless a fact or a bool holds",
                                   .syntax = graph::Syntax::check,
                                   .min_inputs = 0,
                                   .attrs = attrs,
                                   .has_effect = true,
                                   .may_fail = true,
                                   .infer = infer,
                                   .eval = {eval, eval},
                                   .cost = touch_cost,
                                   .samples = samples};

void check(Here h, const Fact& fact, std::string_view message) {
  Fact checked = fact;
  checked.by_check = true;
  h.builder.add(h, check_op, {}, {{"fact", checked}, {"msg", std::string(message)}});
}

void check_value(Here h, Value ok, std::string_view message, std::string_view kind) {
  h.builder.add(
      h, check_op, {{ok}},
      {{"msg", std::string(message)}, {"kind", std::string(kind == "internal" ? "" : kind)}});
}

}  // namespace ops
