// Runs passes over a graph: verifies, times, keeps text before and after, disables by name, stops
// after one, counts rewrites. A pass itself does none of this.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"

namespace graph {

// What a pass sees besides the graph. A pass asks `rewrite` before every single rewrite and leaves
// the place alone when the answer is no: bisecting counts these.
struct PassContext {
  OpTable table;
  std::function<bool(std::string_view what)> rewrite;
};

struct Pass {
  std::string_view name;
  Graph (*run)(Graph g, const PassContext& context);
  std::span<const std::string_view> needs = {};  // properties some earlier pass gives
  std::span<const std::string_view> gives = {};
  bool exact = false;  // the graph computes the same bits before and after
};

enum class VerifyMode : uint8_t { off, change, all };  // all: also print and re-read between passes

struct PassSwitches {
  std::string dump;        // pass name or "all": its text goes to the records
  std::string stop_after;  // pass name
  std::set<std::string> disable;
  int64_t rewrite_limit = -1;  // over all passes; -1: none
  VerifyMode verify = VerifyMode::change;
};

struct PassRecord {
  std::string name;
  double seconds = 0;
  int64_t rewrites = 0;
  size_t nodes_before = 0, nodes_after = 0;
  bool changed = false, skipped = false;
  std::string before, after;  // text, when dumped; `before` also when the pass failed
};

// Called around a pass that changed the graph; tests run both graphs and compare.
using PassHook = std::function<void(const Pass& pass, const Graph& before, const Graph& after)>;

// Throws UserError for an unknown pass name in the switches (with the nearest), InternalError with
// a note naming the pass when it breaks the graph, changes it without asking, or needs what no pass
// gives. Errors of a pass get the note and pass on.
Graph run_passes(Graph g, std::span<const Pass* const> passes, OpTable table,
                 const PassSwitches& switches, std::vector<PassRecord>& records,
                 const PassHook& hook = {});

}  // namespace graph
