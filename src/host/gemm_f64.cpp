// f64 tiles by Eigen, whose kernels use AVX2 and fma explicitly.
#include <Eigen/Core>

#include "base/text.h"
#include "host/gemm.h"
#include "host/gemm_tile.h"

namespace host {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColumnMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

template <class Layout>
using ConstMap = Eigen::Map<const Layout, Eigen::Unaligned, Eigen::OuterStride<>>;

// Eigen divides the inner dim by the sizes of the caches it finds: fixed sizes give the same bits
// on every machine. These are the smallest of the machines we know (L1 32 KiB, L2 512 KiB, L3 a
// core).
void fix_blocking() {
  static const bool done = (Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 2 << 20), true);
  (void)done;
}

template <class LayoutA, class LayoutB>
void multiply(const TileProduct<double>& t) {
  const ConstMap<LayoutA> a(t.a.data, t.rows, t.inner, Eigen::OuterStride<>(t.a.stride));
  const ConstMap<LayoutB> b(t.b.data, t.inner, t.columns, Eigen::OuterStride<>(t.b.stride));
  Eigen::Map<RowMajor, Eigen::Unaligned, Eigen::OuterStride<>> c(t.c, t.rows, t.columns,
                                                                 Eigen::OuterStride<>(t.c_stride));
  c.noalias() = a * b;
}

}  // namespace

void multiply_tile(const TileProduct<double>& t) {
  fix_blocking();
  const bool a_rows = t.a.order == Order::row_major, b_rows = t.b.order == Order::row_major;
  if (a_rows && b_rows) return multiply<RowMajor, RowMajor>(t);
  if (a_rows) return multiply<RowMajor, ColumnMajor>(t);
  if (b_rows) return multiply<ColumnMajor, RowMajor>(t);
  multiply<ColumnMajor, ColumnMajor>(t);
}

std::string f64_library() {
  return base::format("Eigen {}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                      EIGEN_MINOR_VERSION);
}

}  // namespace host
