// cast: x in another dtype. To bf16 and f16 rounds to nearest, ties to even; float to integer
// truncates towards zero; to bool is x != 0.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

using graph::DType;

template <class To>
struct Convert {
  template <class From>
  [[gnu::always_inline]] To operator()(From x) const {
    return static_cast<To>(x);
  }
};

// The upper half of a float, rounded to nearest with ties to even; NaN keeps its sign and becomes
// quiet.
struct ToBf16 {
  [[gnu::always_inline]] uint16_t operator()(float x) const {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return static_cast<uint16_t>(x != x ? (bits >> 16) | 0x40 : rounded);
  }
};
struct FromBf16 {
  [[gnu::always_inline]] float operator()(uint16_t bits) const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

template <class To, class From>
constexpr StripKernel convert() {
  return strip_kernel<Convert<To>, To, From>();
}

// The pairs that a step runs on large tensors; the others go through host::cast, one thread.
struct Pair {
  DType from, to;
  StripKernel kernel;
};
constexpr Pair fast_pairs[] = {
    {DType::f32, DType::f64, convert<double, float>()},
    {DType::f64, DType::f32, convert<float, double>()},
    {DType::i64, DType::f32, convert<float, int64_t>()},
    {DType::i64, DType::f64, convert<double, int64_t>()},
    {DType::boolean, DType::f32, convert<float, uint8_t>()},
    {DType::boolean, DType::f64, convert<double, uint8_t>()},
    {DType::boolean, DType::i64, convert<int64_t, uint8_t>()},
    {DType::f32, DType::bf16, strip_kernel<ToBf16, uint16_t, float>()},
    {DType::bf16, DType::f32, strip_kernel<FromBf16, float, uint16_t>()},
};

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  graph::Type to = s.given_type();
  if (to.dims.size() != in[0].dims.size()) {
    s.refuse("operand and result must have equally many dims, found {} and {}", s.text(in[0]),
             s.text(to));
  }
  need_same_dims(s, in[0], to);
  return {to};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs&) {
  const DType from = b.type(in[0]).dtype;
  if (!base::is_float(from)) return {Value{}};
  return {cast(b, dy[0], from)};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  const DType from = in[0].dtype(), to = context.dtypes[0];
  for (const Pair& p : fast_pairs) {
    if (p.from == from && p.to == to) return run_strips(context, p.kernel, in, out[0]);
  }
  out[0] = from == to ? in[0] : host::cast(in[0], to);
}

constexpr graph::Sample samples[] = {
    {"i64[37] below 1000 | | f32[37]"}, {"bool[u0,3] | | f32[u0,3]"}, {"bool[9] | | i64[9]"},
    {"i32[9] below 50 | | i64[9]"},     {"bf16[5,7] | | f32[5,7]"},   {"f32[u0,9] | | bf16[u0,9]"},
    {"f32[5,3] | | f64[5,3]"},          {"f32[11] | | f16[11]"},      {"f32[0,4] | | bf16[0,4]"},
    {"i64[] below 9 | | f32[]"},
};

}  // namespace

extern const graph::OpDef cast_op{.name = "cast",
                                  .about = "x in another dtype",
                                  .type_is_attribute = true,
                                  .infer = infer,
                                  .grad = grad,
                                  .eval = {eval, eval},
                                  .cost = elementwise_cost<1>,
                                  .samples = samples};

Value cast(Here h, Value x, DType dtype) {
  graph::Type type = h.builder.type(x);
  if (type.dtype == dtype) return x;
  type.dtype = dtype;
  return h.builder.add1(h, cast_op, {{x}}, {}, {type});
}

}  // namespace ops
