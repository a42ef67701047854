// compare: bool result of a == b, a != b, a < b, a <= b, a > b or a >= b, elementwise, as IEEE has
// it (every order but "ne" is false on NaN).
#include <utility>

#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Equal {
  template <class T>
  [[gnu::always_inline]] uint8_t operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  [[gnu::always_inline]] uint8_t operator()(T a, T b) const {
    return a != b;
  }
};
struct Less {
  template <class T>
  [[gnu::always_inline]] uint8_t operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  [[gnu::always_inline]] uint8_t operator()(T a, T b) const {
    return a <= b;
  }
};

template <class F>
constexpr DTypeKernels strips() {
  return {strip_kernel<F, uint8_t, float, float>(), strip_kernel<F, uint8_t, double, double>(),
          strip_kernel<F, uint8_t, int64_t, int64_t>(),
          strip_kernel<F, uint8_t, int32_t, int32_t>()};
}

constexpr std::string_view order_names[] = {"eq", "ne", "lt", "le", "gt", "ge"};  // as Order

Order parse_order(const std::string& text) {
  for (size_t i = 0; i < std::size(order_names); ++i) {
    if (order_names[i] == text) return static_cast<Order>(i);
  }
  base::fail_user(base::Exit::config, "compare: order is \"{}\", expected eq, ne, lt, le, gt or ge",
                  text);
}

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  parse_order(attrs.text("order"));
  need_number(s, in[0], "first operand");
  s.need_same_dtype(in[0], in[1]);
  need_same_dims(s, in[0], in[1]);
  return {{graph::DType::boolean, in[0].dims, in[0].placements}};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  static constexpr DTypeKernels equal = strips<Equal>(), not_equal = strips<NotEqual>(),
                                less = strips<Less>(), less_equal = strips<LessEqual>();
  const Order order = parse_order(attrs.text("order"));
  if (order == Order::greater || order == Order::greater_equal) std::swap(in[0], in[1]);
  switch (order) {
    case Order::equal:
      return run_by_dtype(context, equal, in, out[0]);
    case Order::not_equal:
      return run_by_dtype(context, not_equal, in, out[0]);
    case Order::less:
    case Order::greater:
      return run_by_dtype(context, less, in, out[0]);
    case Order::less_equal:
    case Order::greater_equal:
      return run_by_dtype(context, less_equal, in, out[0]);
  }
}

constexpr graph::AttrSpec attrs[] = {{"order", graph::AttrSpec::Kind::text}};

constexpr graph::Sample samples[] = {
    {"f32[37], f32[37] | order=\"lt\""},
    {"f32[u0,5], f32[u0,5] | order=\"le\""},
    {"i64[9] below 3, i64[9] below 3 | order=\"eq\""},
    {"i32[9] below 3, i32[9] below 3 | order=\"ne\""},
    {"i64[5,2] below 3, i64[5,2] below 3 | order=\"gt\""},
    {"f32[], f32[] | order=\"ge\""},
    {"f32[0,3], f32[0,3] | order=\"ge\""},
};

}  // namespace

extern const graph::OpDef compare_op{.name = "compare",
                                     .about = "a order b, bool",
                                     .min_inputs = 2,
                                     .max_inputs = 2,
                                     .attrs = attrs,
                                     .infer = infer,
                                     .eval = {eval, eval},
                                     .cost = elementwise_cost<1>,
                                     .samples = samples};

Value compare(Here h, Value a, Value b, Order order) {
  const std::string name(order_names[static_cast<size_t>(order)]);
  return h.builder.add1(h, compare_op, broadcast_together(h, {{a, b}}), {{"order", name}});
}

}  // namespace ops
