// Batches of tiny matrix products.
#include "ops/core/tiny_products.h"

#include <algorithm>
#include <cmath>

#include "ops/core/indices.h"
#include "ops/core/lanes.h"

namespace ops {
namespace {

// One library call costs about 1 us, the time of some 10,000 operations; see matmul's samples.
constexpr int64_t tiny_flops = 1 << 13;
constexpr int64_t least_batch = 4;

// Strides of the last two dims.
struct Matrix {
  int64_t row, column;
};
Matrix matrix_of(const Tensor& x) { return {x.strides().end()[-2], x.strides().end()[-1]}; }

int64_t batch_offset(const Tensor& x, int64_t index) {
  int64_t offset = 0;
  for (size_t d = x.rank() - 2; d-- > 0; index /= x.dim(d)) {
    offset += index % x.dim(d) * x.strides()[d];
  }
  return offset;
}

struct Problem {
  Matrix a, b;
  int64_t rows, inner, columns;
};

// Each row of c is a sum of rows of b, in order of k.
template <class T>
void add_rows(const Problem& p, const T* a, const T* b, T* c) {
  for (int64_t i = 0; i < p.rows; ++i, c += p.columns) {
    std::fill_n(c, p.columns, T(0));
    for (int64_t k = 0; k < p.inner; ++k) {
      const T factor = a[i * p.a.row + k * p.a.column];
      const T* row = b + k * p.b.row;
      for (int64_t j = 0; j < p.columns; ++j) c[j] = std::fma(factor, row[j], c[j]);
    }
  }
}

// Each element of c is a dot product, in the order of core/lanes.h.
template <class T>
void take_dots(const Problem& p, const T* a, const T* b, T* c) {
  for (int64_t i = 0; i < p.rows; ++i) {
    for (int64_t j = 0; j < p.columns; ++j) {
      *c++ = lanes_dot(a + i * p.a.row, b + j * p.b.column, p.inner);
    }
  }
}

}  // namespace

template <class T>
bool multiply_tiny(const EvalContext& context, const Tensor& a, const Tensor& b, const Tensor& c) {
  const Problem p{matrix_of(a), matrix_of(b), c.shape().end()[-2], a.shape().back(),
                  c.shape().back()};
  const int64_t matrix = p.rows * p.columns;
  if (c.count() == 0 || p.inner == 0 || c.count() / matrix < least_batch) return false;
  if (p.rows > tiny_flops / p.columns || matrix > tiny_flops / (2 * p.inner)) return false;
  const bool dots = p.a.column == 1 && p.b.row == 1 && p.inner > p.columns;
  if (!dots && p.b.column != 1 && p.columns > 1) return false;
  context.pool.parallel_for(c.count() / matrix, grain_of(2 * matrix * p.inner),
                            [&](int64_t begin, int64_t end) {
                              for (int64_t n = begin; n < end; ++n) {
                                const T* left = a.data<T>() + batch_offset(a, n);
                                const T* right = b.data<T>() + batch_offset(b, n);
                                T* to = c.data<T>() + n * matrix;
                                dots ? take_dots(p, left, right, to) : add_rows(p, left, right, to);
                              }
                            });
  return true;
}

template bool multiply_tiny<float>(const EvalContext& context, const Tensor& a, const Tensor& b,
                                   const Tensor& c);
template bool multiply_tiny<double>(const EvalContext& context, const Tensor& a, const Tensor& b,
                                    const Tensor& c);

}  // namespace ops
