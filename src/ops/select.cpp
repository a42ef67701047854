// select: condition ? a : b, elementwise; a and b of any one dtype.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

// Moves bits, so one kernel serves all dtypes of a width.
struct Select {
  template <class T>
  [[gnu::always_inline]] T operator()(uint8_t condition, T a, T b) const {
    return condition ? a : b;
  }
};

template <class T>
constexpr StripKernel strips() {
  return strip_kernel<Select, T, uint8_t, T, T>();
}

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  s.need_dtype(in[0], graph::DType::boolean, "condition");
  s.need_same_dtype(in[1], in[2]);
  need_same_dims(s, in[1], in[2]);
  need_same_dims(s, in[1], in[0]);
  return {in[1]};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs&) {
  const Value zero = zeros_like(b, dy[0]);
  return {Value{}, select(b, in[0], dy[0], zero), select(b, in[0], zero, dy[0])};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  static constexpr StripKernel one = strips<uint8_t>(), two = strips<uint16_t>(),
                               four = strips<uint32_t>(), eight = strips<uint64_t>();
  const int64_t width = base::byte_size(in[1].dtype());
  run_strips(context, width == 1 ? one : width == 2 ? two : width == 4 ? four : eight, in, out[0]);
}

constexpr graph::Sample samples[] = {
    {"bool[37], f32[37], f32[37]"},    {"bool[u0,3], f32[u0,3], f32[u0,3]"},
    {"bool[5], i64[5], i64[5]"},       {"bool[3,4], i32[3,4], i32[3,4]"},
    {"bool[6], bf16[6], bf16[6]"},     {"bool[6], bool[6], bool[6]"},
    {"bool[0,2], f32[0,2], f32[0,2]"}, {"bool[], f32[], f32[]"}};

}  // namespace

extern const graph::OpDef select_op{.name = "select",
                                    .about = "condition ? a : b",
                                    .min_inputs = 3,
                                    .max_inputs = 3,
                                    .infer = infer,
                                    .grad = grad,
                                    .eval = {eval, eval},
                                    .cost = elementwise_cost<1>,
                                    .samples = samples};

Value select(Here h, Value condition, Value a, Value b) {
  return h.builder.add1(h, select_op, broadcast_together(h, {{condition, a, b}}));
}

}  // namespace ops
