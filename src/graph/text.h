// The text form of a graph: canonical to print, read back exactly (design: graph text).
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"
#include "graph/op.h"

namespace graph {

enum class Fold : uint8_t { none, folded };  // folded: ranges and `each` blocks, in the text only

std::string print(const Graph& g, Fold fold = Fold::folded);

// Throws UserError (exit 2) with file:line:column, the line and a caret.
Graph parse(std::string_view text, std::string_view file, OpTable table);
// A file may hold several graphs.
std::vector<Graph> parse_all(std::string_view text, std::string_view file, OpTable table);

}  // namespace graph
