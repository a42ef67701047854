// Reverse-mode differentiation of a graph under construction.
#pragma once

#include "graph/builder.h"

namespace autodiff {

// Appends the backward half to the graph in `b` and returns d loss / d wrt[i] for each i, of the
// type of wrt[i]. `loss` is a float scalar. A value that does not reach the loss gets zeros. The
// contributions to one value are added in a fixed order: latest reader first. Nodes of the backward
// of scope P stand in scope P_grad and carry the source line of the node they differentiate. Nodes
// that turn out unneeded are left for graph::without_dead_nodes. Ops without a gradient rule (topk
// ids, histogram, detach, ...) end the paths that lead through them.
graph::Values gradients(graph::Builder& b, graph::Value loss, graph::ValuesIn wrt);

}  // namespace autodiff
