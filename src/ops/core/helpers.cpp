// Functions of several ops that rules and models share.
#include "base/error.h"
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

bool is_one(const Expr& e) { return e.constant() == 1; }

// The common dims of operands aligned at the end: where they differ, a dim that is literally 1
// gives way; two others must be equal, which the op's own rule demands.
std::vector<Expr> common_dims(const Builder& b, ValuesIn values) {
  std::vector<Expr> dims;
  for (const Value v : values) {
    const std::vector<Expr>& more = b.type(v).dims;
    if (more.size() > dims.size()) dims.insert(dims.begin(), more.size() - dims.size(), Expr(1));
    const size_t shift = dims.size() - more.size();
    for (size_t d = 0; d < more.size(); ++d) {
      if (is_one(dims[shift + d])) dims[shift + d] = more[d];
    }
  }
  return dims;
}

}  // namespace

Values broadcast_together(const Here& h, ValuesIn values) {
  const std::vector<Expr> dims = common_dims(h.builder, values);
  Values out;
  for (const Value v : values) {
    const std::vector<Expr>& own = h.builder.type(v).dims;
    bool grows = own.size() != dims.size();
    for (size_t d = 0; d < own.size() && !grows; ++d) grows = is_one(own[d]) && !is_one(dims[d]);
    out.push_back(grows ? broadcast(h, v, dims) : v);
  }
  return out;
}

Value scalar(Here h, DType dtype, double value) { return full(h, {dtype, {}, {}}, value); }

Value mul(Here h, Value a, double b) { return mul(h, a, full(h, h.builder.type(a), b)); }

Value add(Here h, Value a, double b) { return add(h, a, full(h, h.builder.type(a), b)); }

Value zeros_like(Here h, Value x) { return zeros(h, h.builder.type(x)); }

Value or_zeros(Here h, Value maybe, Value like) {
  return maybe.valid() ? maybe : zeros_like(h, like);
}

Value sum_to(Here h, Value x, const Type& type) {
  const Type target = type;  // may stand in the graph, which grows below
  const std::vector<Expr> dims = h.builder.type(x).dims;
  const size_t lead = dims.size() - target.dims.size();
  CHECK(dims.size() >= target.dims.size());
  std::vector<int64_t> summed;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d < lead || (is_one(target.dims[d - lead]) && !is_one(dims[d]))) {
      summed.push_back(static_cast<int64_t>(d));
    }
  }
  if (summed.empty()) return x;
  const Value sum = reduce_sum(h, x, summed);
  const bool dropped_ones = summed.size() > lead;
  return dropped_ones ? reshape(h, sum, target.dims) : sum;
}

Value transpose(Here h, Value x) {
  const size_t rank = h.builder.rank(x);
  if (rank < 2) base::fail_internal("transpose: expected at least 2 dims, found {}", rank);
  std::vector<int64_t> order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = static_cast<int64_t>(d);
  std::swap(order[rank - 1], order[rank - 2]);
  return permute(h, x, std::move(order));
}

}  // namespace ops
