// The index of ops: one builder function each, in the order a newcomer reads them. Each adds one
// node and returns its results; rules and kernels stand in the file of the op's name. Functions of
// several ops (softmax, RMSNorm, SwiGLU, ...) are in model/layers.h, not here.
//
// Two operands of elementwise functions may differ in rank, or in dims that are literally 1: the
// smaller one gets an explicit `broadcast` node. Nothing is broadcast by a run-time size.
#pragma once

#include <span>
#include <string_view>

#include "graph/builder.h"
#include "graph/op.h"

namespace ops {

using graph::Builder;
using graph::DType;
using graph::Expr;
using graph::Fact;
using graph::Here;
using graph::Type;
using graph::Value;
using graph::Values;
using graph::ValuesIn;

graph::OpTable table();  // all ops, sorted by name; written by the build from the file names

// Elementwise; operands and result of one float dtype (min, max, add, sub, mul also i64, i32).
Value add(Here h, Value a, Value b);
Value sub(Here h, Value a, Value b);
Value mul(Here h, Value a, Value b);
Value div(Here h, Value a, Value b);
Value min(Here h, Value a, Value b);  // NaN if either is
Value max(Here h, Value a, Value b);
Value neg(Here h, Value x);
Value exp(Here h, Value x);
Value log(Here h, Value x);
Value sin(Here h, Value x);
Value cos(Here h, Value x);
Value sqrt(Here h, Value x);
Value rsqrt(Here h, Value x);
Value sigmoid(Here h, Value x);
Value silu(Here h, Value x);
Value silu_grad(Here h, Value dy, Value x);
Value floordiv(Here h, Value x, const Expr& by);  // i64, floor
Value mod(Here h, Value x, const Expr& by);       // i64, in [0, by)
enum class Order : uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };
Value compare(Here h, Value a, Value b, Order order);     // bool; text attribute order="lt", ...
Value logical_and(Here h, Value a, Value b);              // bool
Value select(Here h, Value condition, Value a, Value b);  // condition ? a : b
Value is_finite(Here h, Value x);                         // bool
Value cast(Here h, Value x, DType dtype);                 // itself when the dtype is already so
Value detach(Here h, Value x);                            // x, without gradient

// Tensors from nothing.
Value zeros(Here h, Type type);
Value full(Here h, Type type, double value);  // text attribute value=
Value iota(Here h, Type type, int64_t dim);   // i64: index along dim
// Uniform in [0, 1) with 24 (f32) or 53 (f64) bits: Philox4x32-10, key, counter = element index.
Value philox(Here h, Type type, Value key_i64_2);

// Layout: views where memory allows.
Value broadcast(Here h, Value x,
                const std::vector<Expr>& dims);  // dims align at the end; equal or 1
Value reshape(Here h, Value x, const std::vector<Expr>& dims);
Value permute(Here h, Value x, std::vector<int64_t> order);
Value slice(Here h, Value x, int64_t dim, const Expr& start, const Expr& stop,
            int64_t step = 1);  // clamps
Value narrow(Here h, Value x, int64_t dim, const Expr& start,
             const Expr& length);  // exact, checked
Values split(Here h, Value x, int64_t dim, const std::vector<Expr>& sizes);
Values unbind(Here h, Value x, int64_t dim);
Value concat(Here h, ValuesIn parts, int64_t dim);
Value pad(Here h, Value x, int64_t dim, const Expr& before, const Expr& after);  // with zeros

// Rows and indices (all indices i64, checked against their range when they run).
Value gather_rows(Here h, Value table_RD, Value rows_N);  // [N, D]
Value scatter_rows(Here h, Value x_ND, Value rows_N,
                   const Expr& rows);  // y[rows[i]] = x[i]; rest 0
Value scatter_add_rows(Here h, Value x_ND, Value rows_N, const Expr& rows);  // summed in order of i
Value gather(Here h, Value x, Value index, int64_t dim);                     // like torch.gather
Value scatter_add(Here h, Value x, Value index, int64_t dim, const Expr& size);  // its gradient
Value one_hot(Here h, Value index, const Expr& classes, DType dtype);

// Reductions: 16 lanes and a fixed tree; the reduced dim disappears (keep = false) or becomes 1.
enum class Keep : uint8_t { no, yes };
Value reduce_sum(Here h, Value x, std::vector<int64_t> dims, Keep keep = Keep::no);
Value reduce_max(Here h, Value x, int64_t dim, Keep keep = Keep::no);  // empty: a check fails
Value cumsum(Here h, Value x, int64_t dim);                            // inclusive
struct TopK {
  Value values, indices;
};
// Total order: greatest first, ties to the lower index, NaN greatest; k distinct ids for any bits.
TopK topk(Here h, Value x, const Expr& k, int64_t dim);
Value argsort(Here h, Value x);                        // [N] -> i64[N], ascending, stable, NaN last
Value histogram(Here h, Value ids, const Expr& bins);  // i64[bins]; ids in [0, bins), checked

// Products. Batch dims lead and are equal. f32 through the library, f64 through another
// (host/gemm.h).
struct Transpose {
  bool a = false, b = false;  // use the transpose of the last two dims
};
Value matmul(Here h, Value a, Value b, Transpose transpose = {});
// Rows [off[e], off[e+1]) of x times matrix e. off_E1: i64[E+1] from device_sizes.
Value grouped_matmul(Here h, Value x_RK, Value w_EKN, Value off_E1, Transpose transpose = {});
// dw[e] = x[rows of e]^T y[rows of e]: [E, K, N]; zeros where e has no rows.
Value grouped_matmul_weight(Here h, Value x_RK, Value y_RN, Value off_E1);

// Scaled dot-product attention, q_BHSK k_BHSK v_BHSV -> o_BHSV; softmax in the compute dtype.
// Causal always; with documents_BS (i64 ids, ascending) only within one document.
struct Attention {
  Value out, log_sum_exp;  // log_sum_exp_BHS
};
Attention attention(Here h, Value q, Value k, Value v, double scale, Value documents = {});
Values attention_grad(Here h, ValuesIn q_k_v_out_lse_dout, double scale,
                      Value documents = {});  // dq dk dv

// Sizes born from data. `sizes` reads counts_E to the host: E sizes named prefix0...; `facts` from
// them.
std::vector<Expr> sizes(Here h, Value counts_E, std::string_view prefix,
                        const Expr& total);  // where sum == total, each <= ... see sizes.cpp
Value device_sizes(Here h, Value counts_E, const Expr& total);  // i64[E+1], checked prefix offsets

// Effects.
void check(Here h, const Fact& fact, std::string_view message);
void check_value(Here h, Value ok, std::string_view message,
                 std::string_view kind = "internal");  // bool[]
void update(Here h, Value target, Value value);        // takes effect when the graph has run

// Helpers over ops, used by rules and models alike.
Value scalar(Here h, DType dtype, double value);  // full of rank 0
Value mul(Here h, Value a, double b);             // with a scalar of a's dtype
Value add(Here h, Value a, double b);
Value zeros_like(Here h, Value x);
Value or_zeros(Here h, Value maybe, Value like);  // a gradient, or zeros where there is none
Value sum_to(Here h, Value x, const Type& type);  // gradient of broadcast
Value transpose(Here h, Value x);                 // last two dims

}  // namespace ops
