// update: the graph input `target` holds `value` after the run. Takes effect when the whole graph
// has run, so a failed check leaves every input untouched; the interpreter applies it.
#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  if (in[0].dtype != in[1].dtype || in[0].dims.size() != in[1].dims.size()) {
    s.refuse("the value must be of the target's type {}, found {}", s.text(in[0]), s.text(in[1]));
  }
  for (size_t d = 0; d < in[0].dims.size(); ++d) {
    s.require_equal(in[0].dims[d], in[1].dims[d], "the value has the target's dims");
  }
  return {};
}

constexpr graph::Sample samples[] = {
    {"f32[3,4], f32[3,4]"}, {"f32[u0], f32[u0]"}, {"i64[2], i64[2]"}, {"f32[], f32[]"}};

}  // namespace

extern const graph::OpDef update_op{.name = "update",
                                    .about = "target holds value after the run",
                                    .syntax = graph::Syntax::update,
                                    .min_inputs = 2,
                                    .max_inputs = 2,
                                    .has_effect = true,
                                    .infer = infer,
                                    .cost = touch_cost,
                                    .samples = samples};

void update(Here h, Value target, Value value) { h.builder.add(h, update_op, {{target, value}}); }

}  // namespace ops
