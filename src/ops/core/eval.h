// What a reference kernel sees when a node runs: numbers for sizes, memory for results, the worker
// pool.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/worker_pool.h"
#include "graph/graph.h"
#include "host/tensor.h"

namespace ops {

using host::Tensor;
using TensorsIn = std::span<Tensor>;   // an operand at its last use is owned by the kernel alone
using TensorsOut = std::span<Tensor>;  // undefined on entry; a kernel sets each one

struct EvalContext {
  const base::WorkerPool& pool;
  base::VectorWidth width;  // widest vectors the machine runs; the bits do not depend on it

  std::span<const int64_t> sizes;       // by leaf id; sizes not born yet are unset
  std::span<const base::DType> dtypes;  // of the results
  std::span<const host::Shape> shapes;  // of the results, in numbers
  std::span<int64_t> borne;             // a node that bears sizes stores them here
  std::shared_ptr<host::MemoryAccount> account;
  bool poison = false;  // fill new memory with NaN bits

  int64_t number(const sym::Expr& e) const;  // value of a size expression in this run
  bool holds(const graph::Fact& fact) const;
  Tensor make(size_t result) const;  // memory for a result, row-major, contents undefined
  // Memory of `operand` when nobody else holds it, it is row-major and of the result's type and
  // shape; else new memory. For kernels that read element i before they write element i.
  Tensor reuse_or_make(size_t result, const Tensor& operand) const;
};

// A check of the graph, a fact about sizes read from data, or an index range that did not hold in a
// run. Exit 1, or 5 when it guards numerics.
class CheckFailure : public base::Error {
  using Error::Error;
};

template <class... Args>
[[noreturn]] void fail_check(std::string_view pattern, const Args&... args) {
  throw CheckFailure(base::Exit::internal, base::format(pattern, args...));
}

}  // namespace ops
