// The text form: the example of the design, canonical forms, round trips, names, loops.
#include "graph/text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "graph/fake_ops_test.h"
#include "tests/support/golden_file.h"

namespace graph {
namespace {

Graph read(std::string_view text) { return parse(text, "test.graph", fake::table()); }

// The text inside a graph around `body`.
std::string wrap(const std::string& body) {
  return "graph t \"\" {\n  const D=4\n  size N=6\n  in %x       : f32[N,D]\n" + body +
         "  return %x\n}\n";
}

// src/graph/texts/*.graph are canonical: each reads, verifies and prints as it stands, and reads
// back to the same graph from its full form too.
TEST(Text, CanonicalTexts) {
  int count = 0;
  for (const std::string& name : golden::list_files("src/graph/texts")) {
    SCOPED_TRACE(name);
    ++count;
    const std::string path = "src/graph/texts/" + name;
    const std::string text = golden::read_file(std::string(HEDDLE_SOURCE_DIR) + "/" + path);
    const Graph g = parse(text, path, fake::table());
    verify(g, fake::table());
    golden::expect_golden(path, print(g));
    const std::string full = print(g, Fold::none);
    EXPECT_EQ(full.find("each "), std::string::npos);
    const Graph again = parse(full, "full.graph", fake::table());
    EXPECT_TRUE(same_structure(g, again)) << full;
    EXPECT_TRUE(same_structure(g, parse(print(g), path, fake::table())));
    EXPECT_EQ(structural_hash(g), structural_hash(again));
    EXPECT_EQ(print(again, Fold::none), full);
  }
  EXPECT_GE(count, 8);
}

// The figures of the design: one layer, 8 experts.
TEST(Text, MoeLayerOfTheDesign) {
  const std::string path = std::string(HEDDLE_SOURCE_DIR) + "/src/graph/texts/moe_layer.graph";
  const Graph g = read(golden::read_file(path));
  EXPECT_EQ(std::ranges::count(print(g), '\n'), 55);
  EXPECT_EQ(std::ranges::count(print(g, Fold::none), '\n'), 88);
  EXPECT_EQ(g.nodes.size(), 67u);
}

// The blocks of docs/graph-text.md between ```KIND and ```.
std::vector<std::string> document_blocks(const std::string& kind) {
  const std::string page =
      golden::read_file(std::string(HEDDLE_SOURCE_DIR) + "/docs/graph-text.md");
  const std::string open = "```" + kind + "\n";
  std::vector<std::string> out;
  for (size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
    at += open.size();
    out.push_back(page.substr(at, page.find("```", at) - at));
  }
  return out;
}

TEST(Text, DocumentShowsWhatIsPrinted) {
  const std::vector<std::string> graphs = document_blocks("graph");
  EXPECT_EQ(graphs.size(), 2u);
  for (const std::string& text : graphs) EXPECT_EQ(print(read(text)), text);
  for (const std::string& block : document_blocks("error")) {
    const size_t end = block.find("\n}\n") + 3;
    try {
      parse(block.substr(0, end), "docs/graph-text.md", fake::table());
      ADD_FAILURE() << "no error";
    } catch (const base::UserError& e) {
      EXPECT_EQ(e.message() + "\n", block.substr(end));
    }
  }
}

TEST(Text, ReadsWhatItWouldNotWrite) {
  const std::string nested =
      "graph t \"a title\" { // comments, odd spacing, nested scopes\n"
      "size N = 6 const D=4 in %x : f32[N, (D)]\n"
      "@a { @1.b { %y: f32[6*N*0+N,D] = silu(%x) @c { %z : f32[N,D]=add(%y,%a.1.b:y) } } }"
      "return %z }";
  EXPECT_EQ(print(read(nested)),
            "graph t \"a title\" {\n  size N=6\n  const D=4\n  in %x       : f32[N,D]\n"
            "  @a.1.b {\n    %y       : f32[N,D]         = silu(%x)\n  }\n"
            "  @a.1.b.c {\n    %z       : f32[N,D]         = add(%y, %y)\n  }\n  return %z\n}\n");
  // Types are kept as written when they are provably what the op infers, and printed as kept.
  const std::string kept = wrap(
      "  let M = N*D\n  %a       : f32[M]           = reshape(%x)\n"
      "  %b       : f32[N*D]         = silu(%a)\n");
  EXPECT_EQ(print(read(kept)),
            "graph t \"\" {\n  const D=4\n  size N=6\n  let M = D*N\n  in %x       : f32[N,D]\n"
            "  %a       : f32[M]           = reshape(%x)\n"
            "  %b       : f32[D*N]         = silu(%a)\n  return %x\n}\n");
  EXPECT_EQ(parse_all(kept + nested, "two.graph", fake::table()).size(), 2u);
  EXPECT_TRUE(parse_all("// nothing\n", "none.graph", fake::table()).empty());
}

std::string number_attr(double value) {
  Builder b("t", "", fake::table());
  b.add1(b, fake::full, {}, {{"value", value}}, {{DType::f32, {}, {}}});
  const std::string text = print(std::move(b).finish());
  EXPECT_EQ(print(read(text)), text);
  EXPECT_TRUE(same_structure(read(text), read(text))) << text;
  const size_t at = text.find("value=") + 6;
  return text.substr(at, text.find(')', at) - at);
}

TEST(Text, NumbersReadBack) {
  EXPECT_EQ(number_attr(1), "1");
  EXPECT_EQ(number_attr(0.1), "0.1");
  EXPECT_EQ(number_attr(1e-6), "1e-06");
  EXPECT_EQ(number_attr(1.1920928955078125e-07), "1.1920928955078125e-07");
  EXPECT_EQ(number_attr(-0.0), "-0");
  EXPECT_EQ(number_attr(5e-324), "5e-324");
  EXPECT_EQ(number_attr(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(number_attr(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(number_attr(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(number_attr(std::numeric_limits<double>::quiet_NaN()), "nan");
  // 0 and -0 are different graphs, and -0 is not the default 0.
  EXPECT_FALSE(same_structure(read(wrap("%a : f32[N,D] = scale(%x, by=0)")),
                              read(wrap("%a : f32[N,D] = scale(%x, by=-0)"))));
  EXPECT_EQ(print(read(wrap("%a : f32[N,D] = scale(%x, by=1)"))).find("by="), std::string::npos);
}

}  // namespace
}  // namespace graph
