// The test program's main: with `--bench [OP]` it times the samples of ops instead.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "ops/core/interpret.h"
#include "ops/core/sample.h"
#include "ops/ops.h"

namespace ops {
namespace {

using host::Tensor;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Least time of a run, after at least 20 runs and 0.3 s.
double least_seconds(const Program& program, std::vector<Tensor> inputs,
                     const base::WorkerPool& pool) {
  const RunOptions options{.width = base::vector_width(), .account = {}};
  double least = 1e9;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 20 || seconds_since(start) < 0.3; ++i) {
    std::vector<Tensor> in = inputs;
    const Clock::time_point begin = Clock::now();
    program.run(pool, in, {}, options);
    least = std::min(least, seconds_since(begin));
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
  const double s = least_seconds(Program(g), inputs, pool);
  const auto zero = [](sym::Leaf) { return 0; };
  std::printf("%-22s %10.1f us %8.2f GFLOP/s %8.2f GB/s  %s\n", std::string(op.name).c_str(),
              s * 1e6, sym::evaluate(cost.flops, zero) / s * 1e-9,
              sym::evaluate(cost.bytes, zero) / s * 1e-9, std::string(sample.problem).c_str());
}

int bench(std::string_view pattern) {
  const base::WorkerPool pool(base::usable_cores());
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
    return ops::bench(argc > 2 ? argv[2] : "");
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
