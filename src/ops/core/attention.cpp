// What attention and its gradient share.
#include "ops/core/attention.h"

#include <algorithm>
#include <cmath>

#include "ops/core/elementwise.h"
#include "ops/core/lane_math.h"
#include "ops/core/lanes.h"

namespace ops {
namespace {

template <class T>
[[gnu::always_inline]] inline void softmax_of(const ScoreRows<T>& r) {
  for (int64_t i = 0; i < r.rows; ++i) {
    T* row = r.scores + i * r.columns;
    const int64_t begin = r.begin[i], end = r.end[i], n = end - begin;
    T* x = row + begin;
    for (int64_t k = 0; k < begin; ++k) row[k] = 0;
    for (int64_t k = end; k < r.columns; ++k) row[k] = 0;
    for (int64_t k = 0; k < n; ++k) x[k] *= r.scale;
    const T top = lanes_max(x, n);
    for (int64_t k = 0; k < n; ++k) x[k] = exp_lane(x[k] - top);
    r.sum[i] = lanes_sum(x, n);
    r.log_sum_exp[i] = top + log_lane(r.sum[i]);
  }
}

template <class T>
[[gnu::always_inline]] inline void softmax_grad_of(const ScoreRows<T>& r) {
  for (int64_t i = 0; i < r.rows; ++i) {
    T *row = r.scores + i * r.columns, *d_row = r.d_scores + i * r.columns;
    const int64_t begin = r.begin[i], end = r.end[i];
    for (int64_t k = 0; k < begin; ++k) row[k] = 0, d_row[k] = 0;
    for (int64_t k = end; k < r.columns; ++k) row[k] = 0, d_row[k] = 0;
    const T lse = r.row_lse[i], delta = r.delta[i];
    for (int64_t k = begin; k < end; ++k) {
      const T p = exp_lane(row[k] * r.scale - lse);
      row[k] = p;
      d_row[k] = p * (d_row[k] - delta) * r.scale;
    }
  }
}

template <class T>
void softmax_avx2(const ScoreRows<T>& r) {
  softmax_of(r);
}
template <class T>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]]  //
void softmax_avx512(const ScoreRows<T>& r) {
  softmax_of(r);
}
template <class T>
void softmax_grad_avx2(const ScoreRows<T>& r) {
  softmax_grad_of(r);
}
template <class T>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]]  //
void softmax_grad_avx512(const ScoreRows<T>& r) {
  softmax_grad_of(r);
}

}  // namespace

template <class T>
void softmax_rows(base::VectorWidth width, const ScoreRows<T>& r) {
  width == base::VectorWidth::avx512 ? softmax_avx512(r) : softmax_avx2(r);
}
template <class T>
void softmax_grad_rows(base::VectorWidth width, const ScoreRows<T>& r) {
  width == base::VectorWidth::avx512 ? softmax_grad_avx512(r) : softmax_grad_avx2(r);
}
template void softmax_rows<float>(base::VectorWidth width, const ScoreRows<float>& r);
template void softmax_rows<double>(base::VectorWidth width, const ScoreRows<double>& r);
template void softmax_grad_rows<float>(base::VectorWidth width, const ScoreRows<float>& r);
template void softmax_grad_rows<double>(base::VectorWidth width, const ScoreRows<double>& r);

std::vector<int64_t> first_visible_keys(const Tensor& documents, int64_t batch, int64_t positions) {
  std::vector<int64_t> first(batch * positions, 0);
  if (!documents.defined()) return first;
  const Tensor packed = documents.contiguous();
  const int64_t* id = packed.data<int64_t>();
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t s = 1; s < positions; ++s) {
      const int64_t i = b * positions + s;
      if (id[i] < id[i - 1]) {
        fail_check("attention: documents must ascend, found {} after {} at [{}, {}]", id[i],
                   id[i - 1], b, s);
      }
      first[i] = id[i] == id[i - 1] ? first[i - 1] : s;
    }
  }
  return first;
}

Tensor head_of(const Tensor& x, int64_t batch, int64_t head) {
  return x.view({x.dim(2), x.dim(3)}, {x.strides()[2], x.strides()[3]},
                batch * x.strides()[0] + head * x.strides()[1]);
}

Tensor with_unit_rows(const EvalContext& context, const Tensor& x) {
  return x.strides().back() == 1 ? x : packed(context, x);
}

Tensor make_like_heads(const EvalContext& context, size_t result, const Tensor& like) {
  if (like.strides()[1] >= like.strides()[2]) return context.make(result);
  const host::Shape& shape = context.shapes[result];
  std::vector<host::Shape> shapes(context.shapes.begin(), context.shapes.end());
  shapes[result] = {shape[0], shape[2], shape[1], shape[3]};
  EvalContext inner = context;
  inner.shapes = shapes;
  const Tensor x = inner.make(result);
  return x.view(shape, {x.strides()[0], x.strides()[2], x.strides()[1], 1}, 0);
}

void need_attention_operands(graph::Shapes& s, graph::TypesIn in) {
  constexpr const char* names[] = {"q", "k", "v"};
  s.need_float(in[0], "q");
  for (size_t i = 0; i < 3; ++i) {
    s.need_rank(in[i], 4, names[i]);
    s.need_same_dtype(in[0], in[i]);
    for (size_t d = 0; d < 3; ++d) {
      s.require_equal(in[i].dims[d], in[0].dims[d], "batch, heads and positions are equal");
    }
  }
  s.require_equal(in[0].dims[3], in[1].dims[3], "q and k are equally wide");
}

void need_documents(graph::Shapes& s, const graph::Type& q, const graph::Type& documents) {
  s.need_dtype(documents, base::DType::i64, "documents");
  s.need_rank(documents, 2, "documents");
  s.require_equal(documents.dims[0], q.dims[0], "documents are given for each batch element");
  s.require_equal(documents.dims[1], q.dims[2], "documents are given for each position");
}

}  // namespace ops
