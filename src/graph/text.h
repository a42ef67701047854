// The text form of a graph: canonical to print, read back exactly (design: graph text).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"

namespace graph {

enum class Fold : uint8_t { none, folded };  // folded: `each` blocks, in the text only

std::string print(const Graph& g, Fold fold = Fold::folded);

// What a text may expand to; a text that asks for more is an error.
struct ReadLimits {
  int64_t statements = 4'000'000;  // loops expanded
  int64_t members = 16'000'000;    // of all ranges, loops expanded
};

// Throws UserError (exit 2) with file:line:column, the line and a caret.
Graph parse(std::string_view text, std::string_view file, OpTable table,
            const ReadLimits& limits = {});
// A file may hold several graphs.
std::vector<Graph> parse_all(std::string_view text, std::string_view file, OpTable table,
                             const ReadLimits& limits = {});

}  // namespace graph
