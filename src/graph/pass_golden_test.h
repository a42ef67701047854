// Text tests of passes, without C++: a file NAME.golden beside the pass holds
//
//   pass NAME
//   --- in
//   graph t "" { ... }
//   --- out                 what the pass makes of it, or
//   --- same                it must leave the graph as it is, or
//   --- error "some words"  it must refuse, with these words in its message
//
// with as many pairs as it takes; lines before the first `--- in` are remarks. The pass runs alone
// through the driver, which verifies and re-reads the graph before and after. `./dev golden
// --update` writes what stands below `--- out` anew, and refuses where the graph does not verify.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/run_passes.h"
#include "graph/text.h"
#include "tests/support/golden_file.h"

namespace graph {

struct GoldenSection {
  std::string head;  // "in", "out", "same", "error \"...\""
  std::string text;
  size_t line = 1;  // of the file, where the text starts
};

struct PassGolden {
  std::string pass;
  std::string remarks;  // the lines up to the first section, the first one included
  std::vector<GoldenSection> sections;
};

inline PassGolden read_pass_golden(const std::string& text) {
  PassGolden out;
  size_t line = 0;
  for (size_t at = 0; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string words = text.substr(at, end - at);
    at = end + 1;
    if (words.starts_with("--- ")) {
      out.sections.push_back({words.substr(4), "", line + 2});
    } else if (out.sections.empty()) {
      if (line == 0 && words.starts_with("pass ")) out.pass = words.substr(5);
      out.remarks += words + "\n";
    } else {
      out.sections.back().text += words + "\n";
    }
  }
  return out;
}

// Runs one pair; gives the text that belongs below `--- out`.
inline std::string run_pass_case(const std::string& path, const GoldenSection& in,
                                 const GoldenSection& expected, const Pass& pass, OpTable table) {
  SCOPED_TRACE(path + ":" + std::to_string(in.line));
  Pass alone = pass;
  alone.needs = {};
  const Pass* const list[] = {&alone};
  PassSwitches switches;
  switches.verify = VerifyMode::all;
  std::vector<PassRecord> records;
  try {
    // Blank lines put errors of the text at their line of the file.
    const Graph before = parse(std::string(in.line - 1, '\n') + in.text, path, table);
    const Graph after = run_passes(before, list, table, switches, records);
    if (expected.head == "same") {
      EXPECT_EQ(print(after), print(before)) << "the pass must leave this graph as it is";
    } else if (expected.head != "out") {
      ADD_FAILURE() << "the pass took the graph, expected " << expected.head;
    }
    return print(after);
  } catch (const base::Error& e) {
    const std::string& head = expected.head;
    const bool wanted = head.starts_with("error \"") && head.ends_with("\"");
    const std::string words = wanted ? head.substr(7, head.size() - 8) : "";
    EXPECT_TRUE(wanted && !records.empty() && e.message().find(words) != std::string::npos)
        << e.message();
    return expected.text;
  }
}

// `path` is relative to the root of the repository.
inline void expect_pass_golden(const std::string& path, std::span<const Pass* const> passes,
                               OpTable table) {
  PassGolden golden =
      read_pass_golden(golden::read_file(std::string(HEDDLE_SOURCE_DIR) + "/" + path));
  const auto pass =
      std::ranges::find_if(passes, [&](const Pass* p) { return p->name == golden.pass; });
  ASSERT_NE(pass, passes.end()) << path << ": the first line must be `pass NAME` of a known pass";
  ASSERT_TRUE(!golden.sections.empty() && golden.sections.size() % 2 == 0) << path;
  std::string expected = golden.remarks, actual = golden.remarks;
  for (size_t i = 0; i < golden.sections.size(); i += 2) {
    const GoldenSection& in = golden.sections[i];
    GoldenSection& out = golden.sections[i + 1];
    ASSERT_EQ(in.head, "in") << path << ":" << in.line - 1;
    const std::string result = run_pass_case(path, in, out, **pass, table);
    const std::string heads = "--- in\n" + in.text + "--- " + out.head + "\n";
    expected += heads + out.text;
    actual += heads + (out.head == "out" ? result : out.text);
  }
  if (golden::updating() && !::testing::Test::HasFailure()) {
    std::ofstream(std::string(HEDDLE_SOURCE_DIR) + "/" + path, std::ios::binary) << actual;
    return;
  }
  EXPECT_EQ(expected, actual) << path
                              << " differs; if the new text is right: ./dev golden --update "
                              << ::testing::UnitTest::GetInstance()->current_test_info()->name();
}

// Every NAME.golden of a folder that starts with `pass `.
inline void expect_pass_goldens(const std::string& folder, std::span<const Pass* const> passes,
                                OpTable table) {
  for (const std::string& name : golden::list_files(folder)) {
    const std::string path = folder + "/" + name;
    if (!name.ends_with(".golden")) continue;
    const std::string text = golden::read_file(std::string(HEDDLE_SOURCE_DIR) + "/" + path);
    if (text.starts_with("pass ")) expect_pass_golden(path, passes, table);
  }
}

}  // namespace graph
