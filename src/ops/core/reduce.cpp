// What reductions share.
#include "ops/core/reduce.h"

#include <algorithm>
#include <optional>

#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {

using graph::Type;
using graph::Value;

namespace {

std::vector<bool> marked(const std::vector<int64_t>& dims, size_t rank) {
  std::vector<bool> mark(rank);
  for (const int64_t d : dims) mark[d < 0 ? d + static_cast<int64_t>(rank) : d] = true;
  return mark;
}

// The distance between neighbours when dims [first, last) lie in memory like one dim.
std::optional<int64_t> merged_stride(const Tensor& x, size_t first, size_t last) {
  int64_t stride = 0, size = 1;
  for (size_t d = last; d-- > first;) {
    if (x.dim(d) == 1) continue;
    if (size == 1) {
      stride = x.strides()[d];
    } else if (x.strides()[d] != stride * size) {
      return std::nullopt;
    }
    size *= x.dim(d);
  }
  return size == 1 ? 1 : stride;
}

int64_t merged_size(const Tensor& x, size_t first, size_t last) {
  return host::element_count({x.shape().data() + first, last - first});
}

}  // namespace

std::vector<DimRun> runs_of(std::vector<int64_t> dims, size_t rank) {
  const std::vector<bool> mark = marked(dims, rank);
  std::vector<DimRun> runs;
  for (size_t d = 0; d < rank; ++d) {
    if (!mark[d]) continue;
    if (!runs.empty() && runs.back().last == d) {
      ++runs.back().last;
    } else {
      runs.push_back({d, d + 1});
    }
  }
  return runs;
}

Fold make_fold(const EvalContext& context, const Tensor& x, DimRun run) {
  const size_t rank = x.rank();
  const bool by_rows = run.last == rank;
  const auto outer = merged_stride(x, 0, run.first);
  const auto folded = merged_stride(x, run.first, run.last);
  const auto inner = merged_stride(x, run.last, rank);
  const bool fits = outer && folded && inner && (by_rows ? *folded == 1 : *inner == 1);
  if (!fits && !x.is_contiguous()) return make_fold(context, packed(context, x), run);
  return {.tensor = x,
          .by_rows = by_rows,
          .outer = merged_size(x, 0, run.first),
          .folded = merged_size(x, run.first, run.last),
          .inner = merged_size(x, run.last, rank),
          .outer_stride = outer.value_or(0),
          .folded_stride = folded.value_or(0)};
}

Type reduced_type(graph::Shapes& s, const Type& type, const std::vector<int64_t>& dims,
                  const graph::Attrs& attrs) {
  for (const int64_t d : dims) s.need_dim(type, d);
  const std::vector<bool> mark = marked(dims, type.dims.size());
  if (std::ranges::count(mark, true) != static_cast<int64_t>(dims.size())) {
    s.refuse("a dim of {} is named twice", s.text(type));
  }
  Type result{type.dtype, {}, type.placements};
  for (size_t d = 0; d < type.dims.size(); ++d) {
    if (!mark[d]) {
      result.dims.push_back(type.dims[d]);
    } else if (attrs.flag("keep")) {
      result.dims.push_back(1);
    }
  }
  return result;
}

Value with_reduced_dims(graph::Builder& b, Value x, const Type& operand,
                        const std::vector<int64_t>& dims) {
  const std::vector<bool> mark = marked(dims, operand.dims.size());
  std::vector<graph::Expr> kept = operand.dims;
  for (size_t d = 0; d < kept.size(); ++d) {
    if (mark[d]) kept[d] = 1;
  }
  // Leading ones need no place: dims align at the end.
  const std::vector<graph::Expr>& own = b.type(x).dims;
  const size_t lead = kept.size() - own.size();
  const bool leading = std::all_of(mark.begin(), mark.begin() + static_cast<int64_t>(lead),
                                   [](bool reduced) { return reduced; });
  const bool aligned =
      leading && std::equal(own.begin(), own.end(), kept.begin() + static_cast<int64_t>(lead));
  return aligned ? x : reshape(b, x, kept);
}

}  // namespace ops
