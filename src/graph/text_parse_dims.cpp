// Sizes, facts and types of a graph text.
#include "base/text.h"
#include "graph/text_reader.h"

namespace graph::text {
namespace {

constexpr size_t max_factors = 1000;  // a product takes the square of it
constexpr int max_depth = 64;         // of brackets; deeper is no size but an attack on the stack

bool is_size(const Token& t) { return t.kind == Token::Kind::word; }

}  // namespace

Expr Reader::find_size(const Word& word) const { return leaf_of(find(*sizes_, word, false)); }

// sum := ["-"] term (("+" | "-") term)*
Expr Reader::read_dim() {
  blame_ = &peek();
  if (++depth_ > max_depth) source_.fail_at(peek(), "brackets are nested too deeply");
  std::vector<Expr> terms;
  bool minus = take_if("-");
  while (true) {
    // A number keeps its sign: the lowest number has no opposite.
    const bool number = minus && peek().kind == Token::Kind::number && !is("*", 1);
    if (number) --at_;
    Expr term = number ? Expr(take_integer("a whole number")) : read_term();
    terms.push_back(minus && !number ? Expr(-1) * term : std::move(term));
    minus = is("-");
    if (!take_if("+") && !take_if("-")) break;
  }
  --depth_;
  return terms.size() == 1 ? terms[0] : sym::sum(terms);
}

Expr Reader::read_term() {
  const Token& at = peek();
  std::vector<Expr> factors{read_factor()};
  while (take_if("*")) factors.push_back(read_factor());
  if (factors.size() > max_factors) source_.fail_at(at, "a product of more than 1,000 sizes");
  return factors.size() == 1 ? factors[0] : sym::product(factors);
}

Expr Reader::read_factor() {
  if (take_if("(")) {
    Expr inside = read_dim();
    expect(")");
    return inside;
  }
  if (peek().kind == Token::Kind::number) return take_integer("a whole number");
  const std::string_view word = view();
  if (is_size(peek()) && is("(", 1)) return read_function(word);
  if (!is_size(peek()) && !is(":")) fail_here("a size");
  return find_size(take_word("a size"));
}

Expr Reader::read_function(std::string_view name) {
  const Token& at = take();
  expect("(");
  if (name == "sel") {
    if (++depth_ > max_depth) source_.fail_at(at, "brackets are nested too deeply");
    const sym::Condition condition = read_condition();
    --depth_;
    expect(",");
    const std::vector<Expr> branches = read_dim_list(")");
    if (branches.size() != 2) source_.fail_at(at, "sel takes a condition and two sizes");
    blame_ = &at;
    return sym::sel(condition, branches[0], branches[1]);
  }
  if (name != "sum" && name != "min" && name != "max" && name != "fdiv") {
    const std::vector<std::string> known{"fdiv", "max", "min", "sel", "sum"};
    const std::string nearest = base::nearest(name.substr(0, 20), known);
    source_.fail_at(at, base::format("unknown function {} of sizes; {}", source_.describe(at),
                                     nearest.empty() ? "there are fdiv, max, min, sel and sum"
                                                     : "did you mean " + nearest));
  }
  const std::vector<Expr> args = read_dim_list(")");
  blame_ = &at;
  if (name == "fdiv" && args.size() != 2) source_.fail_at(at, "fdiv takes two sizes");
  if (args.empty()) source_.fail_at(at, base::format("{} of nothing", name));
  if (name == "sum") return sym::sum(args);
  if (name == "fdiv") return sym::fdiv(args[0], args[1]);
  return name == "min" ? sym::min(args) : sym::max(args);
}

bool Reader::at_word_range() const {
  return (is_size(peek()) && is("..", 1)) || (is(":") && is_size(peek(1)) && is("..", 2));
}

std::vector<Expr> Reader::read_dim_list(std::string_view close) {
  std::vector<Expr> out;
  if (take_if(close)) return out;
  do {
    if (at_word_range()) {
      std::vector<Word> range;
      Word first = take_word("a size");
      take_range(range, std::move(first), "a size");
      for (const Word& w : range) out.push_back(find_size(w));
    } else {
      out.push_back(read_dim());
    }
  } while (take_if(","));
  if (!take_if(close)) fail_here(base::format("',' or '{}'", close));
  return out;
}

Fact::Relation Reader::take_relation() {
  if (take_if("==")) return Fact::Relation::equal;
  if (take_if("<=")) return Fact::Relation::at_most;
  if (take_if(">=")) return Fact::Relation::at_least;
  fail_here("== or <= or >=");
}

Fact Reader::read_fact() {
  Fact fact;
  fact.left = read_dim();
  fact.relation = take_relation();
  fact.right = read_dim();
  if (is("by") && is("check", 1)) {
    at_ += 2;
    fact.by_check = true;
  }
  return fact;
}

sym::Condition Reader::read_condition() {
  const Expr left = read_dim();
  const bool less = is("<"), greater = is(">");
  if (less || greater) {
    ++at_;
    const Expr right = read_dim();
    return less ? sym::lt(left, right) : sym::lt(right, left);
  }
  const Fact::Relation relation = take_relation();
  return Fact{left, relation, read_dim()}.condition();
}

// type := dtype "[" dim, ... "]" placement*; with a range for one dim, one type for each member.
std::vector<Type> Reader::read_type() {
  const Token& at = peek();
  if (at.kind != Token::Kind::word) fail_here("a type like f32[B,S]");
  const auto dtype = base::parse_dtype(source_.view(at));
  if (!dtype) {
    const std::vector<std::string> known{"f32", "f64", "bf16", "f16", "i64", "i32", "u8", "bool"};
    const std::string nearest = base::nearest(source_.view(at).substr(0, 20), known);
    source_.fail_at(at, base::format("unknown element type {}; {}", source_.describe(at),
                                     nearest.empty() ? "there are " + base::join(known, " ")
                                                     : "did you mean " + nearest));
  }
  ++at_;
  expect("[");
  Type type{*dtype, {}, {}};
  std::vector<Expr> range;
  size_t ranged = 0;
  for (bool first = true; !take_if("]"); first = false) {
    if (!first && !take_if(",")) fail_here("',' or ']'");
    if (!at_word_range()) {
      type.dims.push_back(read_dim());
      continue;
    }
    if (!range.empty()) source_.fail_at(peek(), "a type has at most one range");
    std::vector<Word> words;
    Word begin = take_word("a size");
    take_range(words, std::move(begin), "a size");
    for (const Word& w : words) range.push_back(find_size(w));
    ranged = type.dims.size();
    type.dims.emplace_back();
  }
  type.placements = read_placements();
  if (range.empty()) return {type};
  std::vector<Type> out;
  for (const Expr& e : range) {
    type.dims[ranged] = e;
    out.push_back(type);
  }
  return out;
}

// @axis:dim or @axis:sum, as often as there are axes.
mesh::Placements Reader::read_placements() {
  mesh::Placements out;
  while (peek().kind == Token::Kind::scope) {
    const std::string_view word = view();
    const bool sum = word.ends_with(":sum");
    if (!sum && !is(":", 1)) break;  // the next statement is a scope
    const std::string axis(sum ? word.substr(0, word.size() - 4) : word);
    if (!starts_name(axis[0]) || axis.find_first_of(".:$") != std::string::npos) {
      fail_here("a mesh axis like @ep:0 or @tp:sum");
    }
    ++at_;
    mesh::Placement p{axis, sum ? mesh::Placement::Kind::partial_sum : mesh::Placement::Kind::shard,
                      0};
    if (!sum) {
      expect(":");
      const Token& at = peek();
      const int64_t dim = take_integer("the number of a dim");
      if (dim < 0 || dim > INT32_MAX) source_.fail_at(at, "no dim has this number");
      p.dim = static_cast<int>(dim);
    }
    out.push_back(std::move(p));
  }
  return out;
}

// The types of `values` results: one for all, or one each.
std::vector<Type> Reader::read_types(size_t values) {
  const Token& at = peek();
  std::vector<Type> out;
  do {
    std::vector<Type> more = read_type();
    out.insert(out.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  } while (take_if(","));
  if (out.size() == 1 && values > 1) out.resize(values, out[0]);
  if (out.size() != values) {
    source_.fail_at(at, base::format("expected {}, found {} types",
                                     values == 1 ? std::string("one type")
                                                 : base::format("one type for all {} values or "
                                                                "one for each",
                                                                values),
                                     out.size()));
  }
  return out;
}

// A let that uses lets that use lets ...: shape arithmetic recurses that deep.
uint32_t Reader::depth_of(const Expr& e) const {
  uint32_t depth = 0;
  for (const sym::Leaf leaf : sym::leaves(e)) {
    const auto at = let_depths_.find(leaf.id);
    if (at != let_depths_.end()) depth = std::max(depth, at->second);
  }
  return depth;
}

}  // namespace graph::text
