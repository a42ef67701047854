// philox: uniform random numbers in [0, 1), a function of the key and of each element's index:
// Philox4x32-10 (base/philox.h) with seed key[0] and stream key[1]; 24 bits for f32, 53 for f64.
#include "base/philox.h"

#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  s.need_dtype(in[0], DType::i64, "key");
  s.need_rank(in[0], 1, "key");
  s.require_equal(in[0].dims[0], 2, "the key is seed and stream");
  s.need_float(s.given_type(), "result");
  need_sizes(s, s.given_type());
  return {s.given_type()};
}

float uniform(const std::array<uint32_t, 4>& words, float) { return base::uniform_f32(words); }
double uniform(const std::array<uint32_t, 4>& words, double) {
  return base::uniform_f64(words[0], words[1]);
}

template <class T>
void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  out[0] = context.make(0);
  const Tensor key = packed(context, in[0]);
  const uint64_t seed = key.data<int64_t>()[0], stream = key.data<int64_t>()[1];
  T* to = out[0].data<T>();
  context.pool.parallel_for(out[0].count(), grain_of(64), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      to[i] = uniform(base::philox_at(seed, stream, i), T(0));
    }
  });
}

// f32 keeps the first 24 of the same bits.
constexpr graph::Sample samples[] = {{"i64[2] | | f32[37]", 6e-8},
                                     {"i64[2] | | f32[u0,3]", 6e-8},
                                     {"i64[2] | | f32[0,3]"},
                                     {"i64[2] | | f32[]", 6e-8},
                                     {"i64[2] | | f32[1,1]", 6e-8}};

}  // namespace

extern const graph::OpDef philox_op{.name = "philox",
                                    .about = "uniform in [0, 1): Philox4x32-10 of key and index",
                                    .type_is_attribute = true,
                                    .infer = infer,
                                    .eval = {eval<float>, eval<double>},
                                    .cost = copy_cost,
                                    .samples = samples};

Value philox(Here h, Type type, Value key_i64_2) {
  return h.builder.add1(h, philox_op, {{key_i64_2}}, {}, {std::move(type)});
}

}  // namespace ops
