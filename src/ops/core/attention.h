// What attention and its gradient share: the visible keys, views of one head, and the row kernels.
//
// Letters: B batch, H heads, S positions, K width of queries and keys, V width of values.
#pragma once

#include <vector>

#include "graph/builder.h"
#include "ops/core/eval.h"

namespace ops {

// Positions of a block of queries (forward) or of keys (gradient). Small blocks waste less of the
// products on what the mask hides, large ones multiply faster: measured, see attention's samples.
constexpr int64_t attention_block = 64;

// For each (b, s) the first key that query s sees; the last one is s itself. Never decreases along
// s. `documents` (i64 [B, S], undefined when there are none) must ascend along s, else
// CheckFailure.
std::vector<int64_t> first_visible_keys(const Tensor& documents, int64_t batch, int64_t positions);

Tensor head_of(const Tensor& x_BHSW, int64_t batch, int64_t head);  // a view [S, W]

// x itself when the elements of a row are neighbours, else a row-major copy.
Tensor with_unit_rows(const EvalContext& context, const Tensor& x);

// Memory for a result [B, H, S, W], its positions outside of its heads when those of `like` are:
// the model's heads are a view of [B, S, H W], and so the way back is one as well.
Tensor make_like_heads(const EvalContext& context, size_t result, const Tensor& like);

// Rows of a block of scores: row i has its visible ones at [begin[i], end[i]) of `columns`, the
// rest is set to 0.
template <class T>
struct ScoreRows {
  int64_t rows, columns;
  T* scores;  // q k^T on entry
  const int64_t *begin, *end;
  T scale;
  T *sum, *log_sum_exp;      // softmax: of exp(scale score - max), and of all that; one a row
  T* d_scores;               // gradient: d loss / d probability on entry
  const T *row_lse, *delta;  // gradient: log_sum_exp, and sum of out * dout - d loss / d lse
};

// scores = exp(scale * score - max of the row), not yet divided by their sum.
template <class T>
void softmax_rows(base::VectorWidth width, const ScoreRows<T>& r);

// scores = probabilities; d_scores = probability * (d_probability - delta) * scale.
template <class T>
void softmax_grad_rows(base::VectorWidth width, const ScoreRows<T>& r);

// Shape rule and refusals of the operands q, k, v; `documents` is none, or the index of an operand.
void need_attention_operands(graph::Shapes& s, graph::TypesIn in);
void need_documents(graph::Shapes& s, const graph::Type& q, const graph::Type& documents);

}  // namespace ops
