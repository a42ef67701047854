// Bytes into the reader of graph texts: a graph, which then verifies, prints and reads back, or a
// UserError with a place. Ops are those of the tests: shape rules only.
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "graph/fake_ops_test.h"
#include "graph/text.h"

using graph::Fold;
using graph::Graph;

namespace {

// Small, so that one input is milliseconds.
constexpr graph::ReadLimits limits{.statements = 300, .members = 3000};

void read_back(const Graph& g, Fold fold) {
  const std::string text = graph::print(g, fold);
  const Graph again = graph::parse(text, "again.graph", graph::fake::table());
  CHECK(graph::same_structure(g, again));
  CHECK(graph::structural_hash(g) == graph::structural_hash(again));
  CHECK(graph::print(again, fold) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<Graph> graphs;
  try {
    graphs = graph::parse_all(text, "fuzz.graph", graph::fake::table(), limits);
  } catch (const base::UserError& e) {
    CHECK(e.message().starts_with("fuzz.graph:"));
    return 0;
  }
  for (const Graph& g : graphs) {
    graph::verify(g, graph::fake::table());
    read_back(g, Fold::folded);
    read_back(g, Fold::none);
  }
  return 0;
}
