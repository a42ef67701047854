// From a model to the graph of its training step.
#include "passes/pipeline.h"

#include "autodiff/gradients.h"
#include "ops/ops.h"

namespace passes {

graph::Graph build_step(const std::string& name, const StepFunctions& functions) {
  graph::Builder b(name, "train step", ops::table());
  const graph::Value loss = functions.forward_loss(b);
  const graph::Values gradients = autodiff::gradients(b, loss, functions.parameters());
  functions.add_update(b, gradients);
  return graph::without_dead_nodes(std::move(b).finish());
}

}  // namespace passes
