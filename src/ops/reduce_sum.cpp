// reduce_sum: the sum over some dims, in the dtype of x.
//
// The order of additions is part of the op's meaning (architecture decision 11), and depends on
// shapes only. Neighbouring reduced dims count as one. Runs of reduced dims are summed from the
// last run to the first:
// - a run with no kept dim behind it: blocks of 8192 elements; in a block, lane i % 16 adds its
//   elements in order; lanes join as i + 8, i + 4, i + 2, i + 1; block sums add up in order;
// - any other run: blocks of 64 rows; in a block rows add up in order, and so do the blocks.
// Every sum starts from +0.
#include "ops/core/elementwise.h"
#include "ops/core/lanes.h"
#include "ops/core/reduce.h"
#include "ops/ops.h"

namespace ops {
namespace {

constexpr int64_t row_block = 8192;    // elements
constexpr int64_t column_block = 64;   // rows
constexpr int64_t column_tile = 2048;  // columns summed at once: the sums stay in the first cache
constexpr int64_t grain_elements = 16384;  // work of one call on one thread, at least

// Work of one call, [begin, end) of the tasks that the fold is cut into.
template <class T>
struct Task {
  const Fold& fold;
  int64_t blocks, tiles;  // a row's blocks; a block of rows' tiles of columns
  T* out;                 // one sum, or `inner` sums, for each (outer, block)
  int64_t begin, end;
};

template <int vector_bytes, class T>
[[gnu::always_inline]] inline void sum_rows(const Task<T>& t) {
  const T* base = t.fold.tensor.template data<T>();
  for (int64_t i = t.begin; i < t.end; ++i) {
    const int64_t start = i % t.blocks * row_block;
    const T* x = base + i / t.blocks * t.fold.outer_stride + start;
    t.out[i] = lanes_sum<vector_bytes>(x, std::min(row_block, t.fold.folded - start));
  }
}

template <class T>
[[gnu::always_inline]] inline void sum_columns(const Task<T>& t) {
  const T* base = t.fold.tensor.template data<T>();
  const int64_t stride = t.fold.folded_stride, inner = t.fold.inner;
  for (int64_t i = t.begin; i < t.end; ++i) {
    const int64_t part = i / t.tiles, column = i % t.tiles * column_tile;
    const int64_t row = part % t.blocks * column_block;
    const int64_t rows = std::min(column_block, t.fold.folded - row);
    const int64_t n = std::min(column_tile, inner - column);
    const T* x = base + part / t.blocks * t.fold.outer_stride + row * stride + column;
    T* sum = t.out + part * inner + column;
    for (int64_t k = 0; k < n; ++k) sum[k] = 0;
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4, x += 4 * stride) {
#pragma GCC ivdep
      for (int64_t k = 0; k < n; ++k) {
        sum[k] = sum[k] + x[k] + x[stride + k] + x[2 * stride + k] + x[3 * stride + k];
      }
    }
    for (; r < rows; ++r, x += stride) {
#pragma GCC ivdep
      for (int64_t k = 0; k < n; ++k) sum[k] += x[k];
    }
  }
}

template <class T>
void sum_rows_avx2(const Task<T>& t) {
  sum_rows<32>(t);
}
template <class T>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]]  //
void sum_rows_avx512(const Task<T>& t) {
  sum_rows<64>(t);
}
template <class T>
void sum_columns_avx2(const Task<T>& t) {
  sum_columns(t);
}
template <class T>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]]  //
void sum_columns_avx512(const Task<T>& t) {
  sum_columns(t);
}

// Sums the folded dim into out, [outer][inner].
template <class T>
void sum_fold(const EvalContext& context, const Fold& f, T* out) {
  const int64_t block = f.by_rows ? row_block : column_block;
  const int64_t blocks = std::max<int64_t>(1, (f.folded + block - 1) / block);
  const int64_t tiles = f.by_rows ? 1 : (f.inner + column_tile - 1) / column_tile;
  const int64_t width = f.by_rows ? 1 : f.inner;
  std::vector<T> partial(blocks > 1 ? f.outer * blocks * width : 0);
  T* to = blocks > 1 ? partial.data() : out;
  const bool wide = context.width == base::VectorWidth::avx512;
  const auto run = f.by_rows ? (wide ? sum_rows_avx512<T> : sum_rows_avx2<T>)
                             : (wide ? sum_columns_avx512<T> : sum_columns_avx2<T>);
  const int64_t tasks = f.outer * blocks * tiles;
  const int64_t task_elements =
      std::min(block, f.folded) * (f.by_rows ? 1 : std::min(column_tile, f.inner));
  const int64_t grain = std::max<int64_t>(1, grain_elements / std::max<int64_t>(1, task_elements));
  context.pool.parallel_for(
      tasks, grain, [&](int64_t begin, int64_t end) { run({f, blocks, tiles, to, begin, end}); });
  if (blocks == 1) return;
  for (int64_t o = 0; o < f.outer; ++o) {
    for (int64_t k = 0; k < width; ++k) {
      T sum = 0;
      for (int64_t b = 0; b < blocks; ++b) sum += partial[(o * blocks + b) * width + k];
      out[o * width + k] = sum;
    }
  }
}

template <class T>
void eval_as(const EvalContext& context, const Tensor& x, const Tensor& out,
             const std::vector<int64_t>& dims) {
  const std::vector<DimRun> runs = runs_of(dims, x.rank());
  if (runs.empty()) return copy_elements(context, x, out);
  Tensor from = x;
  for (size_t r = runs.size(); r-- > 0;) {
    const Fold fold = make_fold(context, from, runs[r]);
    host::Shape shape = from.shape();
    for (size_t d = runs[r].first; d < runs[r].last; ++d) shape[d] = 1;
    const bool last = r == 0;
    Tensor to = last ? out : Tensor::make(x.dtype(), shape, context.account);
    sum_fold(context, fold, to.data<T>());
    from = to;
  }
}

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  need_number(s, in[0], "operand");
  return {reduced_type(s, in[0], attrs.integers("dims"), attrs)};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs& attrs) {
  const graph::Type x = b.type(in[0]);
  return {broadcast(b, with_reduced_dims(b, dy[0], x, attrs.integers("dims")), x.dims)};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  out[0] = context.make(0);
  const std::vector<int64_t>& dims = attrs.integers("dims");
  switch (in[0].dtype()) {
    case base::DType::f32:
      return eval_as<float>(context, in[0], out[0], dims);
    case base::DType::f64:
      return eval_as<double>(context, in[0], out[0], dims);
    case base::DType::i64:
      return eval_as<int64_t>(context, in[0], out[0], dims);
    case base::DType::i32:
      return eval_as<int32_t>(context, in[0], out[0], dims);
    case base::DType::bf16:
    case base::DType::f16:
    case base::DType::u8:
    case base::DType::boolean:
      base::fail_internal("reduce_sum: no kernel for {}", in[0].dtype());
  }
}

constexpr graph::AttrSpec attrs[] = {{"dims", graph::AttrSpec::Kind::integers},
                                     {"keep", graph::AttrSpec::Kind::flag, false}};

// Relative to the sum of magnitudes: ulps times additions, over 16 lanes.
constexpr graph::Sample samples[] = {
    {"f32[70] | dims=[0]", 2e-6},
    {"f32[9000] | dims=[0]", 2e-5},
    {"f32[3,37] | dims=[1]", 2e-6},
    {"f32[37,3] | dims=[0]", 2e-6},
    {"f32[150,5] | dims=[0]", 5e-6},
    {"f32[u0,6] | dims=[0]", 2e-6},
    {"f32[u0,6] | dims=[1], keep", 2e-6},
    {"f32[4,5,6] | dims=[1]", 2e-6},
    {"f32[4,5,6] | dims=[0, 2]", 2e-6},
    {"f32[4,5,6] | dims=[0, 1, 2]", 4e-6},
    {"f32[2,3,4,5] | dims=[1, -1], keep", 2e-6},
    {"f32[0,3] | dims=[0]"},
    {"f32[3,0] | dims=[0]"},
    {"f32[1,1] | dims=[0, 1]", 1e-7},
    {"f32[5] | dims=[]", 1e-7},
    {"i64[70,3] below 9 | dims=[0]"},
    {"i32[7,3] below 9 | dims=[1]"},
    {.problem = "f32[256,2048] | dims=[1]", .bench = true},
    {.problem = "f32[1048576] | dims=[0]", .bench = true},
    {.problem = "f32[2048,256] | dims=[0]", .bench = true},
};

}  // namespace

extern const graph::OpDef reduce_sum_op{.name = "reduce_sum",
                                        .about = "sum over dims, in a fixed order",
                                        .attrs = attrs,
                                        .infer = infer,
                                        .grad = grad,
                                        .eval = {eval, eval},
                                        .cost = operand_cost<1>,
                                        .samples = samples};

Value reduce_sum(Here h, Value x, std::vector<int64_t> dims, Keep keep) {
  return h.builder.add1(h, reduce_sum_op, {{x}},
                        {{"dims", std::move(dims)}, {"keep", keep == Keep::yes}});
}

}  // namespace ops
