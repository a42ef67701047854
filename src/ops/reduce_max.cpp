// reduce_max: the greatest element along one dim; NaN if there is one. The dim must not be empty: a
// check fails then.
#include "ops/core/elementwise.h"
#include "ops/core/lanes.h"
#include "ops/core/layout.h"
#include "ops/core/reduce.h"
#include "ops/ops.h"

namespace ops {
namespace {

constexpr int64_t grain_elements = 16384;  // work of one call on one thread, at least

template <class T>
struct Task {
  const Fold& fold;
  T* out;              // [outer][inner]
  int64_t begin, end;  // of outer
};

template <class T>
[[gnu::always_inline]] inline void max_fold(const Task<T>& t) {
  const Fold& f = t.fold;
  for (int64_t o = t.begin; o < t.end; ++o) {
    const T* x = f.tensor.template data<T>() + o * f.outer_stride;
    T* out = t.out + o * f.inner;
    if (f.by_rows) {
      *out = join_row<Greater, 32>(x, f.folded);
      continue;
    }
    for (int64_t k = 0; k < f.inner; ++k) out[k] = x[k];
    for (int64_t r = 1; r < f.folded; ++r) {
      x += f.folded_stride;
#pragma GCC ivdep
      for (int64_t k = 0; k < f.inner; ++k) Greater::join(out[k], x[k]);
    }
  }
}

template <class T>
void max_avx2(const Task<T>& t) {
  max_fold(t);
}
template <class T>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]]  //
void max_avx512(const Task<T>& t) {
  max_fold(t);
}

template <class T>
void eval_as(const EvalContext& context, const Fold& f, const Tensor& out) {
  CHECK(f.folded > 0);  // the shape rule required it
  const int64_t work = std::max<int64_t>(1, f.folded * f.inner);
  const auto run = context.width == base::VectorWidth::avx512 ? max_avx512<T> : max_avx2<T>;
  context.pool.parallel_for(
      f.outer, std::max<int64_t>(1, grain_elements / work),
      [&](int64_t begin, int64_t end) { run({f, out.data<T>(), begin, end}); });
}

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  need_number(s, in[0], "operand");
  const size_t d = s.need_dim(in[0], attrs.integer("dim"));
  s.require({in[0].dims[d], Fact::Relation::at_least, 1}, "the dim has an element");
  return {reduced_type(s, in[0], {attrs.integer("dim")}, attrs)};
}

// Elements equal to the greatest share the gradient; none has any where the greatest is NaN.
Values grad(Builder& b, ValuesIn in, ValuesIn out, ValuesIn dy, const Attrs& attrs) {
  const std::vector<int64_t> dims = {attrs.integer("dim")};
  const graph::Type x = b.type(in[0]);
  const Value is_max = compare(b, in[0], with_reduced_dims(b, out[0], x, dims), Order::equal);
  const Value count = reduce_sum(b, cast(b, is_max, x.dtype), dims, Keep::yes);
  const Value share = div(b, with_reduced_dims(b, dy[0], x, dims), count);
  return {select(b, is_max, share, zeros_like(b, in[0]))};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  out[0] = context.make(0);
  const size_t d = dim_of(attrs, in[0].rank());
  const Fold fold = make_fold(context, in[0], {d, d + 1});
  switch (in[0].dtype()) {
    case base::DType::f32:
      return eval_as<float>(context, fold, out[0]);
    case base::DType::f64:
      return eval_as<double>(context, fold, out[0]);
    case base::DType::i64:
      return eval_as<int64_t>(context, fold, out[0]);
    case base::DType::i32:
      return eval_as<int32_t>(context, fold, out[0]);
    case base::DType::bf16:
    case base::DType::f16:
    case base::DType::u8:
    case base::DType::boolean:
      base::fail_internal("reduce_max: no kernel for {}", in[0].dtype());
  }
}

constexpr graph::AttrSpec attrs[] = {{"dim", graph::AttrSpec::Kind::integer},
                                     {"keep", graph::AttrSpec::Kind::flag, false}};

constexpr graph::Sample samples[] = {
    {"f32[70] | dim=0"},           {"f32[3,37] | dim=1"},  {"f32[u0,9] | dim=-1, keep"},
    {"f32[37,3] | dim=0"},         {"f32[4,5,6] | dim=1"}, {"f32[4,5,6] | dim=1, keep"},
    {"f32[0,3] | dim=1"},          {"f32[1,1] | dim=0"},   {"i64[7,3] below 90 | dim=0"},
    {"i32[3,7] below 90 | dim=1"},
};

}  // namespace

extern const graph::OpDef reduce_max_op{.name = "reduce_max",
                                        .about = "greatest element along dim; NaN if there is one",
                                        .attrs = attrs,
                                        .infer = infer,
                                        .grad = grad,
                                        .eval = {eval, eval},
                                        .cost = operand_cost<1>,
                                        .samples = samples};

Value reduce_max(Here h, Value x, int64_t dim, Keep keep) {
  return h.builder.add1(h, reduce_max_op, {{x}}, {{"dim", dim}, {"keep", keep == Keep::yes}});
}

}  // namespace ops
