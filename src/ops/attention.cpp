// attention: softmax(scale q k^T) v for each batch element and head, causal; with documents only
// within one document. Vaswani et al., arXiv 1706.03762, eq. 1. Also log(sum(exp(scale q k^T))) of
// each row, which the gradient needs.
//
// By blocks of queries: their scores against the keys that any of them sees, softmax of whole rows
// (no running maximum is needed), then times v. Sums in the dtype of the operands.
#include "ops/core/attention.h"

#include <algorithm>

#include "host/gemm.h"
#include "ops/core/elementwise.h"
#include "ops/core/products.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  need_attention_operands(s, in);
  if (in.size() == 4) need_documents(s, in[0], in[3]);
  graph::Type out = in[0], lse = in[0];
  out.dims[3] = in[2].dims[3];
  lse.dims.pop_back();
  return {out, lse};
}

Values grad(Builder& b, ValuesIn in, ValuesIn out, ValuesIn dy, const Attrs& attrs) {
  Values operands = {in[0], in[1], in[2], out[0], out[1], or_zeros(b, dy[0], out[0])};
  if (dy[1].valid()) operands.push_back(dy[1]);
  const Value documents = in.size() == 4 ? in[3] : Value();
  Values dx = attention_grad(b, operands, attrs.number("scale"), documents);
  dx.resize(in.size());
  return dx;
}

// One block of queries of one head.
template <class T>
struct Block {
  Tensor q_SK, k_SK, v_SV, out_SV;
  const int64_t* first;  // of each position
  T* log_sum_exp;        // of each position
  T scale;
  int64_t begin, end;
};

template <class T>
void attend(const base::WorkerPool& one_thread, base::VectorWidth width, const Block<T>& b) {
  const int64_t rows = b.end - b.begin, low = b.first[b.begin], columns = b.end - low;
  const Tensor scores = Tensor::make(b.q_SK.dtype(), {rows, columns});
  host::matmul(one_thread, rows_of(b.q_SK, b.begin, b.end),
               host::transposed(rows_of(b.k_SK, low, b.end)), scores);
  int64_t begin[attention_block], end[attention_block];
  T sum[attention_block];
  for (int64_t i = 0; i < rows; ++i) {
    begin[i] = b.first[b.begin + i] - low;
    end[i] = b.begin + i + 1 - low;
  }
  softmax_rows(width, ScoreRows<T>{.rows = rows,
                                   .columns = columns,
                                   .scores = scores.data<T>(),
                                   .begin = begin,
                                   .end = end,
                                   .scale = b.scale,
                                   .sum = sum,
                                   .log_sum_exp = b.log_sum_exp + b.begin});
  const Tensor out = rows_of(b.out_SV, b.begin, b.end);
  host::matmul(one_thread, scores, rows_of(b.v_SV, low, b.end), out);
  for (int64_t i = 0; i < rows; ++i) {
    T* row = out.data<T>() + i * out.strides()[0];
    const T factor = T(1) / sum[i];
    for (int64_t j = 0; j < out.dim(1); ++j) row[j] *= factor;
  }
}

template <class T>
void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  const int64_t heads = in[0].dim(1), positions = in[0].dim(2);
  const std::vector<int64_t> first =
      first_visible_keys(in.size() == 4 ? in[3] : Tensor(), in[0].dim(0), positions);
  out[0] = make_like_heads(context, 0, in[0]);
  out[1] = context.make(1);
  const int64_t blocks = (positions + attention_block - 1) / attention_block;
  const auto body = [&](int64_t begin, int64_t end) {
    const base::WorkerPool one_thread(1);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t batch = t / blocks / heads, head = t / blocks % heads;
      const int64_t start = t % blocks * attention_block;
      attend(one_thread, context.width,
             Block<T>{.q_SK = head_of(in[0], batch, head),
                      .k_SK = head_of(in[1], batch, head),
                      .v_SV = head_of(in[2], batch, head),
                      .out_SV = head_of(out[0], batch, head),
                      .first = first.data() + batch * positions,
                      .log_sum_exp = out[1].data<T>() + (t / blocks) * positions,
                      .scale = static_cast<T>(attrs.number("scale")),
                      .begin = start,
                      .end = std::min(positions, start + attention_block)});
    }
  };
  context.pool.parallel_for(in[0].dim(0) * heads * blocks, 1, body);
}

// Of all pairs, half: the causal mask hides the others.
graph::Cost cost(TypesIn in, TypesIn out, const Attrs&) {
  const std::vector<Expr>& q = in[0].dims;
  const Expr factors[] = {q[0], q[1], q[2], q[2], q[3] + in[2].dims[3]};
  graph::Cost c = product_cost(factors, in, out);
  c.flops = sym::fdiv(c.flops, 2);
  return c;
}

constexpr graph::AttrSpec attrs[] = {{"scale", graph::AttrSpec::Kind::number}};

// Roundings of the score (sqrt(K) half ulps, times scale and the score's size in the exponent) and
// of a convex sum.
constexpr graph::Sample samples[] = {
    {"f32[1,2,5,4], f32[1,2,5,4], f32[1,2,5,3] | scale=0.5", 4e-6},
    {"f32[u0,2,u1,4], f32[u0,2,u1,4], f32[u0,2,u1,3] | scale=0.5", 4e-6},
    {"f32[2,1,7,3], f32[2,1,7,3], f32[2,1,7,5], i64[2,7] ascending | scale=0.7", 4e-6},
    {"f32[2,1,u0,3], f32[2,1,u0,3], f32[2,1,u0,5], i64[2,u0] ascending | scale=0.7", 4e-6},
    {"f32[1,1,150,8], f32[1,1,150,8], f32[1,1,150,4], i64[1,150] ascending | scale=0.3", 4e-6},
    {"f32[1,1,130,2], f32[1,1,130,2], f32[1,1,130,2] | scale=1", 4e-6},
    {"f32[1,2,0,4], f32[1,2,0,4], f32[1,2,0,3] | scale=1"},
    {"f32[0,2,3,4], f32[0,2,3,4], f32[0,2,3,4] | scale=1"},
    {"f32[1,1,1,1], f32[1,1,1,1], f32[1,1,1,1] | scale=1", 4e-6},
    {.problem = "f32[1,16,256,192], f32[1,16,256,192], f32[1,16,256,128] | scale=0.07",
     .bench = true},
};

}  // namespace

extern const graph::OpDef attention_op{
    .name = "attention",
    .about = "softmax(scale q k^T) v, causal, within documents; and the log of each row's sum",
    .min_inputs = 3,
    .max_inputs = 4,
    .attrs = attrs,
    .may_fail = true,
    .infer = infer,
    .grad = grad,
    .eval = {eval<float>, eval<double>},
    .cost = cost,
    .samples = samples};

Attention attention(Here h, Value q, Value k, Value v, double scale, Value documents) {
  Values in = {q, k, v};
  if (documents.valid()) in.push_back(documents);
  const Values out = h.builder.add(h, attention_op, in, {{"scale", scale}});
  return {out[0], out[1]};
}

}  // namespace ops
