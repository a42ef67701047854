// f32 tiles by oneDNN, one thread a call.
#include <oneapi/dnnl/dnnl.h>

#include "base/error.h"
#include "host/gemm.h"
#include "host/gemm_tile.h"

// The packaged oneDNN divides its work through OpenMP. Its team size is a variable of the calling
// thread, so each of our threads sets it once; then a call starts no threads and does not wait.
extern "C" void omp_set_num_threads(int threads);

namespace host {
namespace {

void use_one_thread() {
  static thread_local const bool done = (omp_set_num_threads(1), true);
  (void)done;
}

char flag(Order order) { return order == Order::row_major ? 'N' : 'T'; }

}  // namespace

void multiply_tile(const TileProduct<float>& t) {
  use_one_thread();
  const dnnl_status_t status =
      dnnl_sgemm(flag(t.a.order), flag(t.b.order), t.rows, t.columns, t.inner, 1.0f, t.a.data,
                 t.a.stride, t.b.data, t.b.stride, 0.0f, t.c, t.c_stride);
  if (status == dnnl_success) return;
  if (status == dnnl_out_of_memory) {
    throw base::SystemError(base::Exit::memory, "matmul: out of memory", status);
  }
  base::fail_internal("matmul of {} x {} x {}: dnnl_sgemm returned {}", t.rows, t.inner, t.columns,
                      static_cast<int>(status));
}

std::string f32_library() {
  const dnnl_version_t& v = *dnnl_version();
  const bool wide = dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core;
  return base::format("oneDNN {}.{}.{}, {} kernels", v.major, v.minor, v.patch,
                      wide ? "AVX-512" : "AVX2");
}

}  // namespace host
