// From a model to the graph of its training step: forward, then the backward half, then the update.
#pragma once

#include <functional>
#include <string>

#include "graph/builder.h"

namespace passes {

// The halves that only the model knows, handed over as functions.
struct StepFunctions {
  std::function<graph::Value(graph::Builder&)> forward_loss;  // declares inputs; a scalar
  std::function<graph::Values()> parameters;                  // what the loss is differentiated by
  // Takes one gradient per parameter.
  std::function<void(graph::Builder&, graph::ValuesIn gradients)> add_update;
};

// Nodes that nothing needs are dropped.
graph::Graph build_step(const std::string& name, const StepFunctions& functions);

}  // namespace passes
