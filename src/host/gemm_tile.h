// One tile of a matrix product, run by one thread: the border to the libraries. Private to host.
#pragma once

#include <cstdint>

namespace host {

enum class Order : uint8_t { row_major, column_major };

// Element (i, j) is at i * stride + j when row-major, at i + j * stride when column-major.
template <class T>
struct Operand {
  const T* data;
  int64_t stride;
  Order order;
};

// c (row-major) = a b with positive sizes; the old contents of c are not read.
template <class T>
struct TileProduct {
  Operand<T> a, b;
  T* c;
  int64_t c_stride;
  int64_t rows, columns, inner;
};

void multiply_tile(const TileProduct<float>& tile);   // gemm_f32.cpp
void multiply_tile(const TileProduct<double>& tile);  // gemm_f64.cpp

}  // namespace host
