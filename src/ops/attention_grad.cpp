// attention_grad: the gradients of attention with respect to q, k and v. Operands: q, k, v, out,
// log_sum_exp, d_out, then as far as there are any d_log_sum_exp (float) and documents (i64).
//
// With P = exp(scale q k^T - lse), dP = d_out v^T and delta_i = sum_j out_ij d_out_ij - d_lse_i:
//   dS = P (dP - delta) scale;  dv = P^T d_out;  dq = dS k;  dk = dS^T q.
// Dao et al., arXiv 2205.14135, appendix B.2, with the term of d_lse. By blocks of keys: P of a
// block is computed anew from the queries that see it. A head is one task, its blocks in order.
#include <algorithm>

#include "host/gemm.h"
#include "ops/core/attention.h"
#include "ops/core/elementwise.h"
#include "ops/core/lanes.h"
#include "ops/core/products.h"
#include "ops/ops.h"

namespace ops {
namespace {

enum Operand : size_t { q, k, v, attended, lse, d_attended, optional };

struct Optional {
  size_t d_lse = 0, documents = 0;  // 0: not there
};

template <class Items, class DTypeOf>
Optional optional_operands(const Items& in, const DTypeOf& dtype_of) {
  Optional o;
  for (size_t i = optional; i < in.size(); ++i) {
    (dtype_of(in[i]) == DType::i64 ? o.documents : o.d_lse) = i;
  }
  return o;
}

void need_dims(Shapes& s, const graph::Type& type, const std::vector<Expr>& dims,
               std::string_view operand) {
  s.need_rank(type, dims.size(), operand);
  for (size_t d = 0; d < dims.size(); ++d) {
    s.require_equal(type.dims[d], dims[d], "gradients have the types of the values");
  }
}

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  need_attention_operands(s, in);
  const Optional o = optional_operands(in, [](const graph::Type& t) { return t.dtype; });
  if (o.documents) need_documents(s, in[q], in[o.documents]);
  const size_t given = optional + (o.d_lse != 0) + (o.documents != 0);
  if (given != in.size() || (o.documents && o.documents != in.size() - 1)) {
    s.refuse("expected d_log_sum_exp and then documents at the end, once each");
  }
  std::vector<Expr> out = in[q].dims, row = in[q].dims;
  out[3] = in[v].dims[3];
  row.pop_back();
  need_dims(s, in[attended], out, "out");
  need_dims(s, in[d_attended], out, "d_out");
  need_dims(s, in[lse], row, "log_sum_exp");
  if (o.d_lse) need_dims(s, in[o.d_lse], row, "d_log_sum_exp");
  for (size_t i = attended; i < in.size(); ++i) {
    if (i != o.documents) s.need_same_dtype(in[q], in[i]);
  }
  return {in[q], in[k], in[v]};
}

// One head.
template <class T>
struct Head {
  Tensor q_SK, k_SK, v_SV, out_SV, d_out_SV;
  Tensor dq_SK, dk_SK, dv_SV;
  const int64_t* first;  // of each position
  const T *lse, *d_lse;  // of each position; d_lse may be null
  T scale;
  base::VectorWidth width;
};

template <class T>
std::vector<T> row_deltas(const Head<T>& h) {
  const int64_t width = h.out_SV.dim(1);
  std::vector<T> delta(h.out_SV.dim(0));
  for (size_t i = 0; i < delta.size(); ++i) {
    delta[i] = lanes_dot(h.out_SV.template data<T>() + i * h.out_SV.strides()[0],
                         h.d_out_SV.template data<T>() + i * h.d_out_SV.strides()[0], width);
    if (h.d_lse) delta[i] -= h.d_lse[i];
  }
  return delta;
}

template <class T>
void add_rows(const Tensor& from, const Tensor& to) {
  for (int64_t i = 0; i < from.dim(0); ++i) {
    const T* x = from.data<T>() + i * from.strides()[0];
    T* sum = to.data<T>() + i * to.strides()[0];
    for (int64_t j = 0; j < from.dim(1); ++j) sum[j] += x[j];
  }
}

template <class T>
void fill_with_zeros(const Tensor& x) {
  for (int64_t i = 0; i < x.dim(0); ++i) {
    std::fill_n(x.data<T>() + i * x.strides()[0], x.dim(1), T(0));
  }
}

// Memory of one task, reused from block to block.
template <class T>
struct Scratch {
  Scratch(const Head<T>& h, int64_t rows)
      : scores(Tensor::make(h.q_SK.dtype(), {rows, attention_block})),
        d_scores(Tensor::make(h.q_SK.dtype(), {rows, attention_block})),
        dq(Tensor::make(h.q_SK.dtype(), {rows, h.q_SK.dim(1)})),
        begin(rows),
        end(rows),
        delta(row_deltas(h)) {}
  static Tensor part(const Tensor& x, int64_t rows, int64_t columns) {
    return x.view({rows, columns}, {columns, 1}, 0);
  }
  Tensor scores, d_scores, dq;
  std::vector<int64_t> begin, end;
  std::vector<T> delta;
};

// Keys [low, high) of the head.
template <class T>
void differentiate_block(const base::WorkerPool& one_thread, const Head<T>& h, Scratch<T>& scratch,
                         int64_t low) {
  const int64_t positions = h.q_SK.dim(0);
  const int64_t high = std::min(positions, low + attention_block);
  // Queries [low, last) see one of these keys or more.
  const int64_t last = std::lower_bound(h.first + low, h.first + positions, high) - h.first;
  const int64_t rows = last - low, columns = high - low;
  const Tensor q_rows = rows_of(h.q_SK, low, last), d_out_rows = rows_of(h.d_out_SV, low, last);
  const Tensor k_rows = rows_of(h.k_SK, low, high);
  const Tensor p = Scratch<T>::part(scratch.scores, rows, columns);
  const Tensor ds = Scratch<T>::part(scratch.d_scores, rows, columns);
  host::matmul(one_thread, q_rows, host::transposed(k_rows), p);
  host::matmul(one_thread, d_out_rows, host::transposed(rows_of(h.v_SV, low, high)), ds);
  for (int64_t i = 0; i < rows; ++i) {
    scratch.begin[i] = std::max(h.first[low + i], low) - low;
    scratch.end[i] = std::min(low + i + 1, high) - low;
  }
  softmax_grad_rows(h.width, ScoreRows<T>{.rows = rows,
                                          .columns = columns,
                                          .scores = p.data<T>(),
                                          .begin = scratch.begin.data(),
                                          .end = scratch.end.data(),
                                          .scale = h.scale,
                                          .d_scores = ds.data<T>(),
                                          .row_lse = h.lse + low,
                                          .delta = scratch.delta.data() + low});
  host::matmul(one_thread, host::transposed(p), d_out_rows, rows_of(h.dv_SV, low, high));
  host::matmul(one_thread, host::transposed(ds), q_rows, rows_of(h.dk_SK, low, high));
  const Tensor dq = Scratch<T>::part(scratch.dq, rows, h.q_SK.dim(1));
  host::matmul(one_thread, ds, k_rows, dq);
  add_rows<T>(dq, rows_of(h.dq_SK, low, last));
}

template <class T>
void differentiate(const base::WorkerPool& one_thread, const Head<T>& h) {
  const int64_t positions = h.q_SK.dim(0);
  Scratch<T> scratch(h, positions);
  fill_with_zeros<T>(h.dq_SK);
  for (int64_t low = 0; low < positions; low += attention_block) {
    differentiate_block(one_thread, h, scratch, low);
  }
}

template <class T>
void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  const int64_t batches = in[q].dim(0), heads = in[q].dim(1), positions = in[q].dim(2);
  const Optional o = optional_operands(in, [](const Tensor& t) { return t.dtype(); });
  const std::vector<int64_t> first =
      first_visible_keys(o.documents ? in[o.documents] : Tensor(), batches, positions);
  for (size_t r = 0; r < 3; ++r) out[r] = make_like_heads(context, r, in[r]);
  for (const Operand r : {q, k, v, attended, d_attended}) in[r] = with_unit_rows(context, in[r]);
  const Tensor lse_rows = in[lse].contiguous();
  const Tensor d_lse_rows = o.d_lse ? in[o.d_lse].contiguous() : Tensor();
  context.pool.parallel_for(batches * heads, 1, [&](int64_t begin, int64_t end) {
    const base::WorkerPool one_thread(1);
    for (int64_t t = begin; t < end; ++t) {
      const auto head = [&](const Tensor& x) { return head_of(x, t / heads, t % heads); };
      differentiate(one_thread,
                    Head<T>{.q_SK = head(in[q]),
                            .k_SK = head(in[k]),
                            .v_SV = head(in[v]),
                            .out_SV = head(in[attended]),
                            .d_out_SV = head(in[d_attended]),
                            .dq_SK = head(out[q]),
                            .dk_SK = head(out[k]),
                            .dv_SV = head(out[v]),
                            .first = first.data() + t / heads * positions,
                            .lse = lse_rows.data<T>() + t * positions,
                            .d_lse = o.d_lse ? d_lse_rows.data<T>() + t * positions : nullptr,
                            .scale = static_cast<T>(attrs.number("scale")),
                            .width = context.width});
    }
  });
}

// Three products of width K and two of width V, of half the pairs.
graph::Cost cost(TypesIn in, TypesIn out, const Attrs&) {
  const std::vector<Expr>& dims = in[q].dims;
  const Expr factors[] = {dims[0], dims[1], dims[2], dims[2], dims[3] * 3 + in[v].dims[3] * 2};
  graph::Cost c = product_cost(factors, in, out);
  c.flops = sym::fdiv(c.flops, 2);
  return c;
}

constexpr graph::AttrSpec attrs[] = {{"scale", graph::AttrSpec::Kind::number}};

// log_sum_exp from 2 up keeps exp(score - log_sum_exp) small, though it belongs to other operands.
constexpr graph::Sample samples[] = {
    {"f32[1,2,5,4], f32[1,2,5,4], f32[1,2,5,3], f32[1,2,5,3], f32[1,2,5] in 2..3, f32[1,2,5,3] "
     "| scale=0.5",
     1e-5},
    {"f32[u0,2,u1,4], f32[u0,2,u1,4], f32[u0,2,u1,3], f32[u0,2,u1,3], f32[u0,2,u1] in 2..3, "
     "f32[u0,2,u1,3], f32[u0,2,u1] | scale=0.5",
     1e-5},
    {"f32[1,1,150,4], f32[1,1,150,4], f32[1,1,150,3], f32[1,1,150,3], f32[1,1,150] in 2..3, "
     "f32[1,1,150,3], f32[1,1,150], i64[1,150] ascending | scale=0.5",
     1e-5},
    {"f32[2,1,u0,2], f32[2,1,u0,2], f32[2,1,u0,3], f32[2,1,u0,3], f32[2,1,u0] in 2..3, "
     "f32[2,1,u0,3], i64[2,u0] ascending | scale=0.5",
     1e-5},
    {"f32[1,1,0,2], f32[1,1,0,2], f32[1,1,0,3], f32[1,1,0,3], f32[1,1,0], f32[1,1,0,3] | scale=1"},
    {"f32[1,1,1,1], f32[1,1,1,1], f32[1,1,1,1], f32[1,1,1,1], f32[1,1,1], f32[1,1,1,1] | scale=1",
     1e-5},
    {.problem = "f32[1,16,256,192], f32[1,16,256,192], f32[1,16,256,128], f32[1,16,256,128], "
                "f32[1,16,256] in 5..6, f32[1,16,256,128] | scale=0.07",
     .bench = true},
};

}  // namespace

extern const graph::OpDef attention_grad_op{.name = "attention_grad",
                                            .about = "gradients of attention: dq, dk, dv",
                                            .min_inputs = 6,
                                            .max_inputs = 8,
                                            .attrs = attrs,
                                            .may_fail = true,
                                            .infer = infer,
                                            .eval = {eval<float>, eval<double>},
                                            .cost = cost,
                                            .samples = samples};

Values attention_grad(Here h, ValuesIn q_k_v_out_lse_dout, double scale, Value documents) {
  Values in(q_k_v_out_lse_dout.begin(), q_k_v_out_lse_dout.end());
  if (documents.valid()) in.push_back(documents);
  return h.builder.add(h, attention_grad_op, in, {{"scale", scale}});
}

}  // namespace ops
