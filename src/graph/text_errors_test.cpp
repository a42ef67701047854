// What the reader says of texts that are wrong: place, line, caret, and what to do.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "graph/fake_ops_test.h"
#include "graph/text.h"
#include "tests/support/golden_file.h"

namespace graph {
namespace {

// The error that `text` ends in; every error has a place, a line and a caret.
std::string error_of(const std::string& text) {
  try {
    parse(text, "t.graph", fake::table());
  } catch (const base::UserError& e) {
    EXPECT_EQ(e.exit(), base::Exit::config);
    EXPECT_EQ(e.message().find("t.graph:"), 0u) << e.message();
    EXPECT_EQ(base::split(e.message(), '\n').size(), 3u) << e.message();
    EXPECT_EQ(e.message().back(), '^');
    EXPECT_TRUE(base::is_valid_utf8(e.message()));
    return e.message() + "\n";
  }
  ADD_FAILURE() << "read without an error: " << text.substr(0, 2000);
  return "";
}

std::string wrap(const std::string& body) {
  return "graph t \"\" {\nconst D=4, E=3\nsize N=6\nin %x : f32[N,D]\nin %n : i64[E]\n" + body +
         "\nreturn %x\n}\n";
}

// text_errors.golden: "=== text", a body (or a whole graph), "=== error", the message.
TEST(TextErrors, Golden) {
  const std::string path = "src/graph/text_errors.golden";
  const std::string golden = golden::read_file(std::string(HEDDLE_SOURCE_DIR) + "/" + path);
  std::string actual, body;
  bool in_body = false;
  int count = 0;
  for (const std::string& line : base::split(golden, '\n')) {
    if (line == "=== text") {
      in_body = true;
      body.clear();
    }
    if (line == "=== error") {
      in_body = false;
      ++count;
      const std::string text = body.substr(body.find('\n') + 1);
      actual += body + "=== error\n" + error_of(text.starts_with("graph") ? text : wrap(text));
    }
    if (in_body) body += line + "\n";
  }
  EXPECT_GE(count, 90);
  golden::expect_golden(path, actual);
}

// A text cut anywhere, or with any byte changed, gives an error with a place, or a graph.
TEST(TextErrors, EveryCutAndEveryByte) {
  for (const std::string& name : golden::list_files("src/graph/texts")) {
    const std::string text =
        golden::read_file(std::string(HEDDLE_SOURCE_DIR) + "/src/graph/texts/" + name);
    int errors = 0;
    const size_t step = text.size() < 1000 ? 1 : 3;  // each cut reads half of the text anew
    for (size_t i = 0; i + 2 < text.size(); i += step) {
      error_of(text.substr(0, i));
    }
    const std::string bytes("\0{$9%\xff\n\"", 8);
    for (size_t i = 0; i < text.size(); ++i) {
      std::string changed = text;
      changed[i] = bytes[i % bytes.size()];
      try {
        parse(changed, "t.graph", fake::table());
      } catch (const base::UserError& e) {
        ++errors;
        ASSERT_EQ(e.message().find("t.graph:"), 0u) << changed << "\n" << e.message();
      }
    }
    EXPECT_GT(errors, 0);
  }
}

// Texts that ask for too much are refused at once, not after an hour or with a full stack.
TEST(TextErrors, TooMuch) {
  const auto repeat = [](const std::string& s, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += s;
    return out;
  };
  const auto expect = [](const std::string& body, const std::string& words) {
    const auto start = std::chrono::steady_clock::now();
    const std::string message = error_of(wrap(body));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_LT(message.size(), 2000u);
    EXPECT_LT(seconds.count(), 20) << words;  // far above: a hang, not a measure
  };
  expect("let A = " + repeat("(", 100000) + "1", "nested too deeply");
  expect("let A = " + repeat("fdiv(N, ", 100000) + "1", "nested too deeply");
  expect("let A = " + repeat("sel(N == ", 100000) + "1", "nested too deeply");
  expect(repeat("@a { ", 100000), "nested too deeply");
  expect(repeat("each e in 0..0 { ", 100000), "already the number of an outer loop");
  expect("each e in 0..1000000000000 { }", "more than 4,000,000 statements");
  expect("each a in 0..99999 { each b in 0..99999 { each c in 0..9 { } } }",
         "more than 4,000,000 statements");
  expect("let A = sum(N0..N99999999999999)", "members");
  expect("%y0..%y999999999999999999 : f32[N] = silu(%x)", "members");
  expect("u0..u100000 = sizes(%n)", "there must be one for each element");
  expect("each e in 0..100000 { let A$e = sum(N0..N9999) }", "unknown size N0");
  expect("let A = 1" + repeat("*N", 20000), "more than 1,000 sizes");
  std::string product = "size s0=1", factors = "s0";
  for (int i = 1; i < 30; ++i) {
    product += base::format(", s{}={}", i, i);
    factors += base::format("*(s{} + 1)", i);
  }
  expect(product + "\nlet A = " + factors, "too many parts");
  std::string lets = "let A0 = N\n";
  for (int i = 1; i < 2000; ++i) {
    lets += base::format("let A{} = fdiv(A{}, 2) + 1\n", i, i - 1);
  }
  expect(lets, "lets use one another");
  expect("%" + repeat("x", 1000000) + " : f32[N,D] = silu(%y)", "unknown value %y");
  expect("%y : f32[N,D] = silu(%" + repeat("x", 1000000) + ")", "unknown value %xxx");
  expect("%y : f32[N,D] = " + repeat("o", 1000000) + "(%x)", "unknown op ooo");
  expect("%y : f32[N,D] = silu(" + repeat("%x, ", 100000) + "%x)", "expected 1 operands");
  expect("let A = 99999999999999999999", "beyond 64 bits");
  expect("let A = N*9223372036854775807*3", "exceeds 64 bits");
  expect("const S = " + repeat("9", 1000000), "beyond 64 bits");
  expect("check(N >= 9223372036854775807, msg=\"" + repeat("a", 1000000) + "\"",
         "expected ',' or ')'");
}

}  // namespace
}  // namespace graph
