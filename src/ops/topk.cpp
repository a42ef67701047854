// topk: the k greatest elements along dim, greatest first, and where they stand.
//
// The order is total: NaN is greatest, NaNs are equal to one another, -0 equals +0, and of equals
// the lower index comes first. So the k indices are distinct for every bit pattern, which buffers
// sized by the routing rely on (design: symbolic shapes, F3).
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  s.need_float(in[0], "x");
  const size_t d = s.need_dim(in[0], attrs.integer("dim"));
  const Expr& k = attrs.dim("k");
  s.require({k, Fact::Relation::at_least, 0}, "k is at least 0");
  s.require({k, Fact::Relation::at_most, in[0].dims[d]}, "k is at most the size of dim");
  graph::Type values = in[0];
  values.dims[d] = k;
  graph::Type indices = values;
  indices.dtype = DType::i64;
  return {values, indices};
}

// The chosen elements get their gradient; the choice itself is piecewise constant.
Values grad(Builder& b, ValuesIn in, ValuesIn out, ValuesIn dy, const Attrs& attrs) {
  const size_t d = dim_of(attrs, b.rank(in[0]));
  return {scatter_add(b, dy[0], out[1], attrs.integer("dim"), b.dim(in[0], d))};
}

// A whole number that orders as the element does: bits of floats order like signed magnitudes.
template <class T>
auto order_key(T x) {
  using Key = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  if (std::isnan(x)) return std::numeric_limits<Key>::max();
  const Key bits = std::bit_cast<Key>(x == T(0) ? T(0) : x);
  return bits < 0 ? static_cast<Key>(bits ^ std::numeric_limits<Key>::max()) : bits;
}

template <class T>
struct Problem {
  const T* x;
  T* values;
  int64_t* indices;
  Around from;
  int64_t k;
};

// The columns [begin, end) of outer x inner.
template <class T>
void choose(const Problem<T>& p, int64_t begin, int64_t end) {
  const int64_t n = p.from.size, inner = p.from.inner;
  std::vector<std::pair<decltype(order_key(T(0))), int64_t>> keyed(n);  // with minus the index
  for (int64_t c = begin; c < end; ++c) {
    const int64_t outer = c / inner, column = c % inner;
    const T* x = p.x + outer * n * inner + column;
    for (int64_t i = 0; i < n; ++i) keyed[i] = {order_key(x[i * inner]), -i};
    std::partial_sort(keyed.begin(), keyed.begin() + p.k, keyed.end(), std::greater<>());
    const int64_t to = outer * p.k * inner + column;
    for (int64_t i = 0; i < p.k; ++i) {
      const int64_t index = -keyed[i].second;
      p.values[to + i * inner] = x[index * inner];
      p.indices[to + i * inner] = index;
    }
  }
}

template <class T>
void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  out[0] = context.make(0);
  out[1] = context.make(1);
  const Tensor x = packed(context, in[0]);
  const size_t d = dim_of(attrs, x.rank());
  const Problem<T> p{x.data<T>(), out[0].data<T>(), out[1].data<int64_t>(), around(x.shape(), d),
                     context.shapes[0][d]};
  const int64_t columns = p.from.outer * p.from.inner;
  context.pool.parallel_for(columns, grain_of(p.from.size * 32),
                            [&p](int64_t begin, int64_t end) { choose(p, begin, end); });
}

constexpr graph::AttrSpec attrs[] = {{"k", graph::AttrSpec::Kind::dim},
                                     {"dim", graph::AttrSpec::Kind::integer}};

constexpr graph::Sample samples[] = {
    {"f32[7,8] | k=3, dim=1"},
    {"f32[u0,8] | k=3, dim=1"},
    {"f32[5,u0 + 1] | k=u0, dim=1"},
    {"f32[2,6,3] | k=2, dim=1"},
    {"f32[2,6,3] | k=2, dim=-3"},
    {"f32[6] | k=6, dim=0"},
    {"f32[6] | k=0, dim=0"},
    {"f32[0,4] | k=2, dim=1"},
    {"f32[3,0] | k=0, dim=1"},
    {"f32[1,1] | k=1, dim=0"},
    {.problem = "f32[2048,64] | k=6, dim=1", .bench = true},
};

}  // namespace

extern const graph::OpDef topk_op{.name = "topk",
                                  .about =
                                      "the k greatest along dim, NaN greatest, ties to the "
                                      "lower index; values and indices",
                                  .attrs = attrs,
                                  .unique = true,
                                  .infer = infer,
                                  .grad = grad,
                                  .eval = {eval<float>, eval<double>},
                                  .cost = touch_cost,
                                  .samples = samples};

TopK topk(Here h, Value x, const Expr& k, int64_t dim) {
  const Values out = h.builder.add(h, topk_op, {{x}}, {{"k", k}, {"dim", dim}});
  return {out[0], out[1]};
}

}  // namespace ops
