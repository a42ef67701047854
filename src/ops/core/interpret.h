// Runs any graph op by op with the reference kernels: the oracle that everything fast is compared
// with.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/worker_pool.h"
#include "graph/graph.h"
#include "host/tensor.h"

namespace ops {

struct RunOptions {
  base::VectorWidth width;
  std::shared_ptr<host::MemoryAccount> account;  // counts the bytes of all results, when set
  bool poison = false;  // fill new memory with NaN bits, so that reading what nobody wrote shows
};

// Everything about a graph that does not change from run to run: the last use of each value, and
// the place from which updates may be applied at once (no check or size birth follows).
class Program {
 public:
  explicit Program(const graph::Graph& g);  // keeps a reference to `g`

  // `inputs`: one tensor per graph input, in order; types and shapes are checked. `run_sizes`:
  // numbers of the `size` sizes by name; empty takes each one's number in the graph. Returns the
  // graph's returns. After a run that threw, the inputs are as they were; after one that succeeded,
  // those that an `update` names hold their new values (a handle to other memory).
  std::vector<host::Tensor> run(const base::WorkerPool& pool, std::vector<host::Tensor>& inputs,
                                const std::map<std::string, int64_t>& run_sizes,
                                const RunOptions& options) const;

 private:
  friend class Run;
  const graph::Graph& g_;
  std::vector<uint32_t> input_of_;                   // by value: graph input, or none
  std::vector<std::vector<uint8_t>> last_;           // by node, by operand: is this its last use
  std::vector<std::vector<uint32_t>> dead_results_;  // by node: results nobody reads
  uint32_t commit_ = 0;                              // from this node on nothing can fail by design
};

}  // namespace ops
