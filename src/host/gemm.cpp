// Divides a matrix product into tiles and runs them on the worker pool.
#include "host/gemm.h"

#include <algorithm>

#include "base/error.h"
#include "host/gemm_tile.h"

namespace host {
namespace {

// Measured with oneDNN 2.6 (AVX-512, 115 GFLOP/s a core): 128 x 128 reaches 91-115 at inner 256 to
// 2048 and still gives two threads work at 30 x 256; 64 columns lose a quarter, and more when b is
// column-major, since each tile packs its operands anew. Large products can afford large tiles.
struct TileSize {
  int64_t rows, columns;
};
constexpr TileSize small_tile = {128, 128};
constexpr TileSize large_tile = {256, 512};
constexpr int64_t large_result = 128 * small_tile.rows * small_tile.columns;

// Below about 10 us of one core, waking a sleeping worker costs more than it gives.
constexpr int64_t serial_flops = 1 << 20;

int64_t tiles(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

struct View {
  Order order;
  int64_t stride;
};

// The last two dims of x as a matrix that a library takes; nothing when neither stride is 1.
bool as_matrix(const Tensor& x, View& view) {
  const size_t r = x.rank();
  const int64_t rows = x.dim(r - 2), columns = x.dim(r - 1);
  const int64_t down = x.strides()[r - 2], along = x.strides()[r - 1];
  if ((along == 1 || columns == 1) && (rows == 1 || down >= columns)) {
    view = {Order::row_major, rows == 1 ? columns : down};
    return true;
  }
  if ((down == 1 || rows == 1) && (columns == 1 || along >= rows)) {
    view = {Order::column_major, columns == 1 ? rows : along};
    return true;
  }
  return false;
}

template <class T>
Operand<T> part(const T* data, const View& view, int64_t row, int64_t column) {
  const int64_t offset =
      view.order == Order::row_major ? row * view.stride + column : row + column * view.stride;
  return {data + offset, view.stride, view.order};
}

// Offset of batch element `index` in the leading dims of x.
int64_t batch_offset(const Tensor& x, int64_t index) {
  int64_t offset = 0;
  for (size_t d = x.rank() - 2; d-- > 0;) {
    offset += index % x.dim(d) * x.strides()[d];
    index /= x.dim(d);
  }
  return offset;
}

template <class T>
void multiply(const base::WorkerPool& pool, const Tensor& a, const Tensor& b, const Tensor& c) {
  const size_t r = c.rank();
  const int64_t rows = c.dim(r - 2), columns = c.dim(r - 1), inner = a.dim(r - 1);
  View view_a, view_b, view_c;
  CHECK(as_matrix(a, view_a) && as_matrix(b, view_b));
  CHECK(as_matrix(c, view_c) && view_c.order == Order::row_major);
  const int64_t batch = c.count() / (rows * columns);
  const TileSize tile = rows * columns < large_result ? small_tile : large_tile;
  const int64_t down = tiles(rows, tile.rows), along = tiles(columns, tile.columns);
  const int64_t count = batch * down * along;
  const bool serial = 2 * rows * columns * inner < serial_flops / std::min(batch, serial_flops);
  pool.parallel_for(count, serial ? count : 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t element = t / (down * along);
      const int64_t row = t / along % down * tile.rows, column = t % along * tile.columns;
      const T* a_data = a.data<T>() + batch_offset(a, element);
      const T* b_data = b.data<T>() + batch_offset(b, element);
      T* c_data = c.data<T>() + batch_offset(c, element);
      multiply_tile(TileProduct<T>{.a = part(a_data, view_a, row, 0),
                                   .b = part(b_data, view_b, 0, column),
                                   .c = c_data + row * view_c.stride + column,
                                   .c_stride = view_c.stride,
                                   .rows = std::min(tile.rows, rows - row),
                                   .columns = std::min(tile.columns, columns - column),
                                   .inner = inner});
    }
  });
}

template <class T>
void fill_with_zeros(const Tensor& c) {
  const int64_t rows = c.dim(c.rank() - 2), columns = c.dim(c.rank() - 1);
  const int64_t down = c.strides()[c.rank() - 2];
  for (int64_t element = 0; element < c.count() / (rows * columns); ++element) {
    T* data = c.data<T>() + batch_offset(c, element);
    for (int64_t i = 0; i < rows; ++i) std::fill_n(data + i * down, columns, T{0});
  }
}

Tensor with_unit_stride(const Tensor& x) {
  View view;
  return as_matrix(x, view) ? x : x.clone();
}

}  // namespace

void matmul(const base::WorkerPool& pool, const Tensor& a, const Tensor& b, const Tensor& c) {
  const size_t r = c.rank();
  CHECK(r >= 2 && a.rank() == r && b.rank() == r);
  CHECK(a.dtype() == c.dtype() && b.dtype() == c.dtype());
  CHECK(a.dim(r - 2) == c.dim(r - 2) && b.dim(r - 1) == c.dim(r - 1));
  CHECK(a.dim(r - 1) == b.dim(r - 2));
  for (size_t d = 0; d + 2 < r; ++d) CHECK(a.dim(d) == c.dim(d) && b.dim(d) == c.dim(d));
  CHECK(c.dtype() == DType::f32 || c.dtype() == DType::f64);
  if (c.count() == 0) return;
  if (a.dim(r - 1) == 0) {
    return c.dtype() == DType::f32 ? fill_with_zeros<float>(c) : fill_with_zeros<double>(c);
  }
  const Tensor left = with_unit_stride(a), right = with_unit_stride(b);
  if (c.dtype() == DType::f32) return multiply<float>(pool, left, right, c);
  multiply<double>(pool, left, right, c);
}

Tensor transposed(const Tensor& x) {
  CHECK(x.rank() >= 2);
  Shape shape = x.shape(), strides = x.strides();
  std::swap(shape.end()[-1], shape.end()[-2]);
  std::swap(strides.end()[-1], strides.end()[-2]);
  return x.view(std::move(shape), std::move(strides), 0);
}

}  // namespace host
