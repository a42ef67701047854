// argsort: the indices that put x in ascending order. Always stable (equals keep their order),
// which the flag says in the text; NaN comes last, -0 equals +0.
#include <algorithm>
#include <numeric>
#include <vector>

#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  need_number(s, in[0], "x");
  s.need_rank(in[0], 1, "x");
  if (!attrs.flag("stable")) s.refuse("write stable: there is no other order");
  return {{DType::i64, in[0].dims, {}}};
}

// Counting sort, where the keys span few numbers: ids of experts do.
void sort_by_counting(const int64_t* x, int64_t n, int64_t low, int64_t span, int64_t* order) {
  std::vector<int64_t> next(span + 1);
  for (int64_t i = 0; i < n; ++i) ++next[x[i] - low + 1];
  for (int64_t v = 0; v < span; ++v) next[v + 1] += next[v];
  for (int64_t i = 0; i < n; ++i) order[next[x[i] - low]++] = i;
}

template <class T>
void sort(const T* x, int64_t n, int64_t* order) {
  if constexpr (std::is_same_v<T, int64_t>) {
    if (n == 0) return;
    const auto [low, high] = std::minmax_element(x, x + n);
    const uint64_t span = static_cast<uint64_t>(*high) - static_cast<uint64_t>(*low) + 1;
    if (span != 0 && span <= static_cast<uint64_t>(4 * n + 64)) {
      return sort_by_counting(x, n, *low, static_cast<int64_t>(span), order);
    }
  }
  std::iota(order, order + n, 0);
  std::stable_sort(order, order + n, [x](int64_t a, int64_t b) {
    const bool a_nan = x[a] != x[a], b_nan = x[b] != x[b];
    return a_nan || b_nan ? !a_nan && b_nan : x[a] < x[b];
  });
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  const Tensor x = packed(context, in[0]);
  out[0] = context.make(0);
  with_number_type(x.dtype(), [&](auto zero) {
    sort(x.data<decltype(zero)>(), x.count(), out[0].data<int64_t>());
  });
}

constexpr graph::AttrSpec attrs[] = {{"stable", graph::AttrSpec::Kind::flag}};

constexpr graph::Sample samples[] = {
    {"i64[37] below 5 | stable"}, {"i64[37] below 1000000 | stable"},
    {"i64[u0] below 3 | stable"}, {"f32[19] | stable"},
    {"i32[9] below 4 | stable"},  {"f32[0] | stable"},
    {"i64[1] below 9 | stable"},  {.problem = "i64[12288] below 64 | stable", .bench = true},
};

}  // namespace

extern const graph::OpDef argsort_op{.name = "argsort",
                                     .about = "indices that sort x, ascending, stable, NaN last",
                                     .attrs = attrs,
                                     .infer = infer,
                                     .eval = {eval, eval},
                                     .cost = touch_cost,
                                     .samples = samples};

Value argsort(Here h, Value x) { return h.builder.add1(h, argsort_op, {{x}}, {{"stable", true}}); }

}  // namespace ops
