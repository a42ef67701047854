// The pass driver: everything about a pass that is the same for all of them.
#include "graph/run_passes.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "graph/builder.h"
#include "graph/text.h"

namespace graph {
namespace {

class Driver {
 public:
  Driver(std::span<const Pass* const> passes, OpTable table, const PassSwitches& switches,
         std::vector<PassRecord>& records, const PassHook& hook)
      : passes_(passes), table_(table), switches_(switches), records_(records), hook_(hook) {}

  Graph run(Graph g) {
    check_switches();
    check_order();
    if (switches_.verify == VerifyMode::all) g = verified_and_reread(std::move(g));
    for (size_t i = 0; i < passes_.size(); ++i) {
      g = run_one(i, std::move(g));
      if (passes_[i]->name == switches_.stop_after) break;
    }
    return g;
  }

 private:
  void check_switches() const {
    if (!switches_.dump.empty() && switches_.dump != "all") need_pass("dump", switches_.dump);
    if (!switches_.stop_after.empty()) need_pass("stop_after", switches_.stop_after);
    for (const std::string& name : switches_.disable) need_pass("disable_passes", name);
  }

  void need_pass(std::string_view key, const std::string& name) const {
    std::vector<std::string> known;
    for (const Pass* p : passes_) known.emplace_back(p->name);
    if (std::ranges::find(known, name) != known.end()) return;
    const std::string nearest = base::nearest(name, known);
    base::fail_user(base::Exit::config, "compile.{}: there is no pass {}; {}", key, name,
                    !nearest.empty() ? "did you mean " + nearest
                    : known.empty()  ? "this graph goes through no passes"
                                     : "there are " + base::join(known, ", "));
  }

  // What a pass needs, an earlier one that runs must give.
  void check_order() const {
    std::map<std::string_view, const Pass*> given;
    for (const Pass* p : passes_) {
      const bool off = disabled(*p);
      for (const std::string_view need : p->needs) {
        const auto giver = given.find(need);
        if (giver == given.end()) {
          base::fail_internal("pass {} needs {}, which no earlier pass gives", p->name, need);
        }
        if (off || !disabled(*giver->second)) continue;
        base::fail_user(base::Exit::config,
                        "compile.disable_passes: pass {} needs {}, which only the disabled pass {} "
                        "gives; disable {} too",
                        p->name, need, giver->second->name, p->name);
      }
      for (const std::string_view gift : p->gives) {
        const auto [at, fresh] = given.emplace(gift, p);
        if (!fresh && disabled(*at->second)) at->second = p;
      }
    }
  }

  bool disabled(const Pass& p) const { return switches_.disable.contains(std::string(p.name)); }
  bool dumped(const Pass& p) const { return switches_.dump == "all" || switches_.dump == p.name; }

  Graph run_one(size_t number, Graph g) {
    const Pass& pass = *passes_[number];
    PassRecord& record = records_.emplace_back();
    record.name = pass.name;
    record.nodes_before = record.nodes_after = g.nodes.size();
    record.skipped = disabled(pass);
    if (record.skipped) return g;
    const Graph before = g;
    if (dumped(pass)) record.before = print(before);
    try {
      const auto start = std::chrono::steady_clock::now();
      g = pass.run(std::move(g), context(record));
      record.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      record.nodes_after = g.nodes.size();
      record.changed = structural_hash(g) != structural_hash(before);
      check_result(pass, record, g);
      if (switches_.verify == VerifyMode::all) g = verified_and_reread(std::move(g));
    } catch (base::Error& e) {
      keep_for_repair(record, before);
      add_note(e, pass, number);
      throw;
    } catch (const std::exception& e) {  // out of memory, or a standard container's complaint
      keep_for_repair(record, before);
      base::InternalError error(e.what());
      add_note(error, pass, number);
      throw error;
    }
    if (dumped(pass)) record.after = print(g);
    if (hook_ && record.changed) hook_(pass, before, g);
    return g;
  }

  // Every rewrite of every pass counts against the one limit, so that halving it finds the one that
  // breaks a run.
  PassContext context(PassRecord& record) {
    return {table_, [this, &record](std::string_view) {
              if (switches_.rewrite_limit >= 0 && rewrites_ >= switches_.rewrite_limit) {
                return false;
              }
              ++rewrites_;
              ++record.rewrites;
              return true;
            }};
  }

  void check_result(const Pass& pass, const PassRecord& record, const Graph& g) const {
    if (!record.changed) return;
    if (record.rewrites == 0) {
      base::fail_internal("pass {} changed the graph without asking for a rewrite", pass.name);
    }
    if (switches_.verify != VerifyMode::off) verify(g, table_);
  }

  // The graph as its own text gives it back, so that nothing survives a pass but what can be seen.
  Graph verified_and_reread(Graph g) const {
    verify(g, table_);
    Graph again = parse(print(g), "graph between two passes", table_);
    if (!same_structure(g, again)) {
      base::fail_internal("graph {} reads back as another graph than it was printed from", g.name);
    }
    // What the text leaves out on purpose: where the model made each node.
    for (size_t i = 0; i < g.nodes.size(); ++i) again.nodes[i].source = g.nodes[i].source;
    again.text_file = std::move(g.text_file);
    return again;
  }

  // The text that goes into the report of a failure: the graph that the pass got. A second failure
  // here must not hide the first.
  static void keep_for_repair(PassRecord& record, const Graph& before) {
    try {
      if (record.before.empty()) record.before = print(before);
    } catch (const std::exception&) {
    }
  }

  void add_note(base::Error& e, const Pass& pass, size_t number) const {
    e.add_note(
        base::format("while running pass {}, {} of {}", pass.name, number + 1, passes_.size()));
  }

  std::span<const Pass* const> passes_;
  OpTable table_;
  const PassSwitches& switches_;
  std::vector<PassRecord>& records_;
  const PassHook& hook_;
  int64_t rewrites_ = 0;
};

}  // namespace

Graph run_passes(Graph g, std::span<const Pass* const> passes, OpTable table,
                 const PassSwitches& switches, std::vector<PassRecord>& records,
                 const PassHook& hook) {
  return Driver(passes, table, switches, records, hook).run(std::move(g));
}

}  // namespace graph
