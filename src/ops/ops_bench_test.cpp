// The test program's main: with `--bench [OP [THREADS]]` it times the samples of ops instead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/error.h"
#include "base/text.h"
#include "ops/core/interpret.h"
#include "ops/core/sample.h"
#include "ops/ops.h"

namespace ops {
namespace {

using host::Tensor;
double now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Least times of a run, on the wall and of all threads' processor time (waiting threads spin),
// after at least 20 runs and 0.3 s. On a busy machine the processor time of one thread is what
// compares.
struct Least {
  double wall = 1e9, processor = 1e9;
};
Least least_seconds(const Program& program, const std::vector<Tensor>& inputs,
                    const base::WorkerPool& pool) {
  const RunOptions options{.width = base::vector_width(), .account = {}};
  Least least;
  const double start = now(CLOCK_MONOTONIC);
  for (int i = 0; i < 20 || now(CLOCK_MONOTONIC) < start + 0.3; ++i) {
    std::vector<Tensor> in = inputs;
    const double wall = now(CLOCK_MONOTONIC), processor = now(CLOCK_PROCESS_CPUTIME_ID);
    program.run(pool, in, {}, options);
    least.wall = std::min(least.wall, now(CLOCK_MONOTONIC) - wall);
    least.processor = std::min(least.processor, now(CLOCK_PROCESS_CPUTIME_ID) - processor);
  }
  return least;
}

void time_sample(const graph::OpDef& op, const graph::Sample& sample,
                 const base::WorkerPool& pool) {
  const SampleProblem p = read_sample(op, sample);
  Builder b = start_graph(p, table());
  const Values in = add_inputs(b, p);
  const graph::NodeId node = add_sample_node(b, op, p, in);
  graph::Types in_types, out_types;
  for (const Value v : in) in_types.push_back(b.type(v));
  for (const Value v : b.graph().node(node).out) out_types.push_back(b.type(v));
  const graph::Cost cost = op.cost(in_types, out_types, b.graph().node(node).attrs);
  const graph::Graph g = std::move(b).finish();
  const std::vector<int64_t> sizes(p.sizes.size(), 0);
  std::vector<Tensor> inputs;
  for (const SampleInput& i : p.inputs) inputs.push_back(fill_input(i, sizes, inputs.size()));
  const Least s = least_seconds(Program(g), inputs, pool);
  const auto zero = [](sym::Leaf) { return 0; };
  std::printf("%-22s %9.1f us %9.1f us cpu %7.1f GFLOP/s %7.1f GB/s  %s\n",
              std::string(op.name).c_str(), s.wall * 1e6, s.processor * 1e6,
              sym::evaluate(cost.flops, zero) / s.wall * 1e-9,
              sym::evaluate(cost.bytes, zero) / s.wall * 1e-9, std::string(sample.problem).c_str());
}

int bench(std::string_view pattern, int threads) {
  host::keep_freed_memory();
  const base::WorkerPool pool(threads);
  std::printf("%d threads, %s\n", pool.threads(), to_text(base::vector_width()).c_str());
  for (const graph::OpDef* op : table()) {
    if (op->name.find(pattern) == std::string_view::npos) continue;
    for (const graph::Sample& sample : op->samples) {
      if (sample.bench) time_sample(*op, sample, pool);
    }
  }
  return 0;
}

}  // namespace
}  // namespace ops

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--bench") == 0) {
    return ops::bench(argc > 2 ? argv[2] : "",
                      argc > 3 ? std::atoi(argv[3]) : base::usable_cores());
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
