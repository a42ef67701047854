// Elementwise ops: their shape rules, and kernels made of a functor on lanes.
//
// A functor is compiled twice for each type, for AVX2 and for AVX-512; the machine's width picks
// one when it runs. Each element goes through the same operations in the same order in both, so the
// bits are the same. A functor's call operator is always_inline: left as a call, its loop would not
// vectorise. Everything that does not depend on the functor is in elementwise.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/builder.h"
#include "graph/op.h"
#include "ops/core/cost.h"
#include "ops/core/eval.h"
#include "ops/core/lane_math.h"

namespace ops {

using graph::Attrs;
using graph::Shapes;
using graph::Types;
using graph::TypesIn;

// Shape rules: one dtype, equal dims. "float" is f32 or f64, "number" also i64 and i32.
Types infer_unary_float(Shapes& s, TypesIn in, const Attrs& attrs);
Types infer_unary_number(Shapes& s, TypesIn in, const Attrs& attrs);
Types infer_binary_float(Shapes& s, TypesIn in, const Attrs& attrs);
Types infer_binary_number(Shapes& s, TypesIn in, const Attrs& attrs);
void need_number(const Shapes& s, const graph::Type& type, std::string_view operand);
void need_same_dims(Shapes& s, const graph::Type& a, const graph::Type& b);

// The operands of a builder function with one set of dims: `broadcast` nodes where one has fewer
// dims, or a dim that is literally 1 where another has more.
graph::Values broadcast_together(const graph::Here& h, graph::ValuesIn values);

// A block of a kernel's work: `rows` rows of `count` elements. The result's elements are adjacent;
// so are an operand's, or a row has one (`scalar`). Row distances are in bytes.
struct Strip {
  int64_t rows, count;
  std::byte* out;
  int64_t out_row;
  const std::byte* in[3];
  int64_t in_row[3];
  bool scalar[3];  // never all operands; never of a functor of one or three operands
};

struct StripKernel {
  void (*avx2)(const Strip& strip) = nullptr;
  void (*avx512)(const Strip& strip) = nullptr;
  int weight = 1;  // time an element takes, against that of an addition in the second cache
};

// One kernel per dtype of the last operand; none: refused by the shape rule.
struct DTypeKernels {
  StripKernel f32, f64, i64, i32;
};

// Runs the kernel over operands of equal dims and any strides, on all threads when the result is
// large; the result takes an operand's memory when it can.
void run_strips(const EvalContext& context, const StripKernel& kernel, TensorsIn in, Tensor& out);
void run_by_dtype(const EvalContext& context, const DTypeKernels& kernels, TensorsIn in,
                  Tensor& out);

// Copies, on all threads when large.
void copy_elements(const EvalContext& context, const Tensor& from, const Tensor& to);
Tensor packed(const EvalContext& context, const Tensor& x);  // itself when row-major, else a copy
// `parts` behind one another along dim d of `out`, whose other dims are theirs.
void join(const EvalContext& context, TensorsIn parts, size_t d, const Tensor& out);

// Rows: how many times the inner loop below runs; ivdep: the result may be an operand's memory, but
// then at the same place, so no iteration reads what another one writes.
template <class F, class Out, class A>
[[gnu::always_inline]] inline void run_strip(const Strip& s) {
  for (int64_t row = 0; row < s.rows; ++row) {
    const int64_t count = s.count;  // a local: stores of bytes may change what s points to
    Out* out = reinterpret_cast<Out*>(s.out + row * s.out_row);
    const A* a = reinterpret_cast<const A*>(s.in[0] + row * s.in_row[0]);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) out[i] = F{}(a[i]);
  }
}

template <class F, class Out, class A, class B>
[[gnu::always_inline]] inline void run_strip(const Strip& s) {
  for (int64_t row = 0; row < s.rows; ++row) {
    const int64_t count = s.count;  // a local: stores of bytes may change what s points to
    Out* out = reinterpret_cast<Out*>(s.out + row * s.out_row);
    const A* a = reinterpret_cast<const A*>(s.in[0] + row * s.in_row[0]);
    const B* b = reinterpret_cast<const B*>(s.in[1] + row * s.in_row[1]);
    if (s.scalar[0]) {
      const A first = *a;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) out[i] = F{}(first, b[i]);
    } else if (s.scalar[1]) {
      const B second = *b;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) out[i] = F{}(a[i], second);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) out[i] = F{}(a[i], b[i]);
    }
  }
}

template <class F, class Out, class A, class B, class C>
[[gnu::always_inline]] inline void run_strip(const Strip& s) {
  for (int64_t row = 0; row < s.rows; ++row) {
    const int64_t count = s.count;  // a local: stores of bytes may change what s points to
    Out* out = reinterpret_cast<Out*>(s.out + row * s.out_row);
    const A* a = reinterpret_cast<const A*>(s.in[0] + row * s.in_row[0]);
    const B* b = reinterpret_cast<const B*>(s.in[1] + row * s.in_row[1]);
    const C* c = reinterpret_cast<const C*>(s.in[2] + row * s.in_row[2]);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) out[i] = F{}(a[i], b[i], c[i]);
  }
}

template <class F, class Out, class... In>
void strip_avx2(const Strip& s) {
  run_strip<F, Out, In...>(s);
}

template <class F, class Out, class... In>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]]  //
void strip_avx512(const Strip& s) {
  run_strip<F, Out, In...>(s);
}

template <class F, class Out, class... In>
constexpr StripKernel strip_kernel() {
  int weight = 1;
  if constexpr (requires { F::weight; }) weight = F::weight;
  return {strip_avx2<F, Out, In...>, strip_avx512<F, Out, In...>, weight};
}

enum class Dtypes : uint8_t { floats, numbers };

template <class F, Dtypes dtypes>
constexpr DTypeKernels unary_strips() {
  DTypeKernels k{.f32 = strip_kernel<F, float, float>(), .f64 = strip_kernel<F, double, double>()};
  if constexpr (dtypes == Dtypes::numbers) {
    k.i64 = strip_kernel<F, int64_t, int64_t>();
    k.i32 = strip_kernel<F, int32_t, int32_t>();
  }
  return k;
}

template <class F, Dtypes dtypes>
constexpr DTypeKernels binary_strips() {
  DTypeKernels k{.f32 = strip_kernel<F, float, float, float>(),
                 .f64 = strip_kernel<F, double, double, double>()};
  if constexpr (dtypes == Dtypes::numbers) {
    k.i64 = strip_kernel<F, int64_t, int64_t, int64_t>();
    k.i32 = strip_kernel<F, int32_t, int32_t, int32_t>();
  }
  return k;
}

template <class F, Dtypes dtypes>
void unary_eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  static constexpr DTypeKernels kernels = unary_strips<F, dtypes>();
  run_by_dtype(context, kernels, in, out[0]);
}

template <class F, Dtypes dtypes>
void binary_eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  static constexpr DTypeKernels kernels = binary_strips<F, dtypes>();
  run_by_dtype(context, kernels, in, out[0]);
}

// F{}(x) with F's call operator a template over float and double (and the integers).
template <class F, Dtypes dtypes = Dtypes::floats>
constexpr graph::OpDef::Kernels unary_kernels() {
  return {unary_eval<F, dtypes>, unary_eval<F, dtypes>};
}
template <class F, Dtypes dtypes = Dtypes::floats>
constexpr graph::OpDef::Kernels binary_kernels() {
  return {binary_eval<F, dtypes>, binary_eval<F, dtypes>};
}

}  // namespace ops
