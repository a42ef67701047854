// Dense matrix products on host tensors: oneDNN for f32, Eigen for f64 (architecture decision 5).
// The work divides over tiles of the result whose sizes are constants, and the inner dim is never
// divided, so the bits depend neither on the number of threads nor on who asks.
#pragma once

#include "base/worker_pool.h"
#include "host/tensor.h"

namespace host {

// c[..., M, N] = a[..., M, K] b[..., K, N]; all f32 or all f64. A leading dim of a or b may have
// stride 0. a and b may be any views; cheapest where one of the last two strides is 1 (row- or
// column-major), other views are copied first. c's last stride is 1, and c overlaps neither a nor
// b. M, N, K may be 0; with K = 0, c is filled with zeros.
void matmul(const base::WorkerPool& pool, const Tensor& a, const Tensor& b, const Tensor& c);

// "oneDNN 2.6.3, AVX-512 kernels" and "Eigen 3.4.0".
std::string f32_library();
std::string f64_library();

// A view with the last two dims exchanged: how a transposed operand is written.
Tensor transposed(const Tensor& x);

}  // namespace host
