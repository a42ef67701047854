// The contract of an op. One file in ops/ per op fills one OpDef; the build lists the files and
// writes the table. This header only forward-declares what the rules work on, so that op files stay
// cheap.
#pragma once

#include <span>
#include <string_view>

#include "graph/graph.h"

namespace host {
class Tensor;
}
namespace ops {
struct EvalContext;  // ops/core/eval.h
}

namespace graph {

class Builder;
class Shapes;
struct LoopRule;   // with the compiler: how the op reads as a loop nest
struct ShardRule;  // with the ranks: how placements pass through the op

// How the text form writes a node.
enum class Syntax : uint8_t {
  plain,   // %y : type = op(%x, attr=...)
  sizes,   // u0..u7 = op(%count) where fact, ...
  check,   // check(fact, msg="...")
  update,  // update %target = %value
};

// Work of one node: floating-point operations, and bytes read and written once each.
struct Cost {
  Expr flops;
  Expr bytes;
};

// A problem of the op for the harness: "f32[6,4], i64[9] below 6 | dim=0 | f32[9,4]": inputs with
// how to fill them, attributes, result types (only for ops whose result type is an attribute).
// `tolerance` is the allowed relative error of the float32 kernel against the float64 one; derived,
// 0 means same bits.
struct Sample {
  std::string_view problem;
  double tolerance = 0;
  bool bench = false;  // a large problem: only timed, by ops_test --bench
};

struct OpDef {
  std::string_view name;
  std::string_view about;  // one line: meaning, formula, its source
  Syntax syntax = Syntax::plain;
  int min_inputs = 1;
  int max_inputs = 1;  // -1: any number
  std::span<const AttrSpec> attrs = {};
  bool type_is_attribute = false;  // reshape, zeros, cast, ...: the result type is given
  bool has_effect = false;         // kept although nobody reads a result
  bool may_fail = false;           // its kernel checks data: indices, counts, conditions
  bool unique = false;             // bears sizes or draws state: passes may never clone it

  // Result types from operand types alone: fact-free, deterministic. Conditions go through
  // Shapes::require; what can never hold is refused with a UserError.
  Types (*infer)(Shapes& s, TypesIn in, const Attrs& attrs) = nullptr;

  // Gradient of each input (none: not differentiable), given the gradient of each output (none:
  // zero). nullptr: no input is differentiable.
  Values (*grad)(Builder& b, ValuesIn in, ValuesIn out, ValuesIn dy, const Attrs& attrs) = nullptr;

  // Reference kernels: float32 (also for integer operands) and float64.
  using Kernel = void (*)(const ops::EvalContext& context, std::span<host::Tensor> in,
                          std::span<host::Tensor> out, const Attrs& attrs);
  struct Kernels {
    Kernel f32 = nullptr, f64 = nullptr;
  } eval;

  Cost (*cost)(TypesIn in, TypesIn out, const Attrs& attrs) = nullptr;
  void (*lower)(LoopRule& rule, TypesIn in, const Attrs& attrs) = nullptr;
  void (*shard)(ShardRule& rule, TypesIn in, const Attrs& attrs) = nullptr;  // nullptr: local
  std::span<const Sample> samples = {};
};

using OpTable = std::span<const OpDef* const>;  // sorted by name
const OpDef* find_op(OpTable table, std::string_view name);

}  // namespace graph
