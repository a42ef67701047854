// Statements of a graph text, read into a graph through the builder.
#include <algorithm>

#include "base/text.h"
#include "graph/text.h"
#include "graph/text_reader.h"

namespace graph {
namespace text {
namespace {

constexpr int64_t max_loop_number = 1'000'000'000'000'000;
constexpr int max_depth = 64;            // of blocks
constexpr uint32_t max_let_depth = 500;  // of lets that use lets: shape arithmetic recurses

std::vector<std::string> op_names(OpTable table, Syntax syntax) {
  std::vector<std::string> out;
  for (const OpDef* op : table) {
    if (op->syntax == syntax) out.emplace_back(op->name);
  }
  return out;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string nearest = word.size() <= 64 ? base::nearest(word, known) : "";
  return nearest.empty() ? "" : "; did you mean " + nearest;
}

}  // namespace

Reader::Reader(const Source& source, std::string_view file, OpTable table, const ReadLimits& limits)
    : source_(source), file_(file), table_(table), limits_(limits) {}

Graph Reader::read_graph() {
  blame_ = &peek();
  expect("graph");
  const Word name = take_word("the name of the graph");
  if (name.text.find_first_of(".:") != std::string::npos || !starts_name(name.text[0])) {
    source_.fail_at(*name.token, "the name of a graph has letters, digits and _ only");
  }
  Graph empty;
  empty.name = name.text;
  empty.title = take_string();
  empty.text_file = file_;  // errors name it
  Builder builder(std::move(empty), table_);
  NameTable values, sizes;
  b_ = &builder;
  values_ = &values;
  sizes_ = &sizes;
  scopes_ = {{"", ScopeId{0}}};
  let_depths_.clear();
  expect("{");
  while (!at_return()) read_statement();
  ++at_;
  if (!is("}")) {
    for (const Value v : take_values()) builder.return_value(v);
  }
  expect("}");
  return std::move(builder).finish();
}

bool Reader::at_return() const {
  return is("return") && (is("}", 1) || peek(1).kind == Token::Kind::value);
}

void Reader::read_statements() {
  while (!take_if("}")) {
    if (at_return()) fail_here("'}': a graph returns at its end, outside of all blocks");
    read_statement();
  }
}

// An error that has no place yet gets that of the last word looked at.
void Reader::read_statement() {
  const Token& at = peek();
  blame_ = &at;
  count_step(at);
  try {
    if (at.kind == Token::Kind::scope) return read_scope();
    if (at.kind == Token::Kind::value) return read_results();
    if (is(":")) return read_births();
    if (at.kind == Token::Kind::word) return read_word_statement();
  } catch (const ReadError&) {
    throw;
  } catch (const base::UserError& e) {
    source_.fail_at(*blame_, e.message());
  }
  fail_here(depth_ == 0 ? "a statement or 'return'" : "a statement or '}'");
}

void Reader::count_step(const Token& at) {
  if (++steps_ <= limits_.statements) return;
  source_.fail_at(at, base::format("this text has more than {} statements, its loops expanded",
                                   base::with_commas(static_cast<uint64_t>(limits_.statements))));
}

// What a statement is shows in its first two words; no name is reserved.
void Reader::read_word_statement() {
  if (is("(", 1)) return read_call({}, nullptr, {});
  if (is("=", 1) || is(",", 1) || is("..", 1)) return read_births();
  const bool name = peek(1).kind == Token::Kind::word || is(":", 1);
  if (name && is("const")) return read_constants(false);
  if (name && is("size")) return read_constants(true);
  if (name && is("let")) return read_let();
  if (name && is("each")) return read_each();
  if (peek(1).kind == Token::Kind::value) {
    if (is("in") || is("param") || is("buffer")) return read_input();
    const OpDef* op = find_op(table_, view());
    if (op && op->syntax == Syntax::update) return read_update();
  }
  std::vector<std::string> known{"const", "size", "let", "in", "param", "buffer", "each", "return"};
  for (const Syntax s : {Syntax::check, Syntax::update}) {
    for (std::string& op : op_names(table_, s)) known.push_back(std::move(op));
  }
  source_.fail_at(peek(), base::format("unknown statement {}{}", source_.describe(peek()),
                                       did_you_mean(view(), known)));
}

// @path { ... }, below the scope around it.
void Reader::read_scope() {
  const Token& at = take();
  if (++depth_ > max_depth) source_.fail_at(at, "scopes are nested too deeply");
  const std::string path = expand(at, source_.view(at));
  if (path.find(':') != std::string::npos) source_.fail_at(at, "the path of a scope has no ':'");
  const ScopeId outer = b_->scope();
  const std::string& above = b_->graph().scopes[outer.id];
  const ScopeId inner = enter(at, above.empty() ? path : base::format("{}.{}", above, path));
  expect("{");
  b_->set_scope(inner);
  read_statements();
  b_->set_scope(outer);
  --depth_;
}

// each e in a..b { ... }: the words of the body, read once for each number.
void Reader::read_each() {
  const Token& at = take();
  if (++depth_ > max_depth) source_.fail_at(at, "loops are nested too deeply");
  const Word name = take_word("the name of the loop");
  if (name.text.find_first_of(".:") != std::string::npos) {
    source_.fail_at(*name.token, "the name of a loop has letters, digits and _ only");
  }
  for (const auto& loop : loops_) {
    if (loop.first != name.text) continue;
    source_.fail_at(*name.token,
                    base::format("${} is already the number of an outer loop", name.text));
  }
  expect("in");
  const Token& range = peek();
  const int64_t first = take_integer("the first number");
  expect("..");
  const int64_t last = take_integer("the last number");
  if (std::min(first, last) < 0 || std::max(first, last) > max_loop_number) {
    source_.fail_at(range, "loop numbers go from 0 to 1e15");
  }
  expect("{");
  const size_t body = at_;
  const int64_t direction = first <= last ? 1 : -1;
  for (int64_t i = first;; i += direction) {
    count_step(at);
    at_ = body;
    loops_.emplace_back(name.text, i);
    read_statements();
    loops_.pop_back();
    if (i == last) break;
  }
  --depth_;
}

void Reader::read_constants(bool per_run) {
  ++at_;
  do {
    const Word word = take_word("a name");
    const auto [scope, name] = place_of(word);
    need_new(*sizes_, scope, word, false);
    expect("=");
    const Token& at = peek();
    const int64_t number = take_integer("a whole number");
    if (number < 0) source_.fail_at(at, "a size is never negative");
    const ScopeId outer = b_->scope();
    b_->set_scope(scope);
    const Expr size = per_run ? b_->size(name, number) : b_->constant(name, number);
    b_->set_scope(outer);
    sizes_->define(scope, name, size.leaf()->id);
  } while (take_if(","));
}

void Reader::read_let() {
  ++at_;
  const Word word = take_word("a name");
  const auto [scope, name] = place_of(word);
  need_new(*sizes_, scope, word, false);
  expect("=");
  const Token& at = peek();
  const Expr value = read_dim();
  const uint32_t depth = depth_of(value) + 1;
  if (depth > max_let_depth) {
    source_.fail_at(at, base::format("more than {} lets use one another", max_let_depth));
  }
  const ScopeId outer = b_->scope();
  b_->set_scope(scope);
  const uint32_t id = b_->let(name, value).leaf()->id;
  b_->set_scope(outer);
  let_depths_[id] = depth;
  sizes_->define(scope, name, id);
}

void Reader::read_input() {
  const InputKind kind = is("in")      ? InputKind::in
                         : is("param") ? InputKind::param
                                       : InputKind::buffer;
  const Token& at = take();
  if (!b_->graph().nodes.empty()) {
    source_.fail_at(at, "inputs stand before the first node");
  }
  const Word word = take_value();
  const auto [scope, name] = place_of(word);
  need_new(*values_, scope, word, true);
  expect(":");
  Type type = read_types(1)[0];
  const std::string label = peek().kind == Token::Kind::text ? take_string() : "";
  const ScopeId outer = b_->scope();
  b_->set_scope(scope);
  const Value v = b_->input(kind, name, std::move(type), label);
  b_->set_scope(outer);
  values_->define(scope, name, v.id);
}

// %a, %b : types = op(...)
void Reader::read_results() {
  const std::vector<Word> results = take_words(Token::Kind::value, "a value like %x");
  if (!is(":")) {
    const bool glued = results.back().text.find(':') != std::string::npos;
    fail_here(glued ? "':' with a blank before it, and a type" : "':' and a type");
  }
  ++at_;
  const Token& type_at = peek();
  std::vector<Type> types = read_types(results.size());
  expect("=");
  read_call(results, &type_at, std::move(types));
}

const OpDef& Reader::read_op(Syntax syntax, std::string_view form) {
  if (peek().kind != Token::Kind::word) fail_here("the name of an op");
  const Token& at = take();
  const OpDef* op = find_op(table_, source_.view(at));
  const std::string name = source_.describe(at);
  if (!op) {
    source_.fail_at(at, base::format("unknown op {}{}", name,
                                     did_you_mean(source_.view(at), op_names(table_, syntax))));
  }
  if (op->syntax != syntax) {
    source_.fail_at(at, base::format("{} is not written as \"{}\"", name, form));
  }
  blame_ = &at;
  return *op;
}

void Reader::read_call(const std::vector<Word>& results, const Token* type_at,
                       std::vector<Type> types) {
  const Token& at = peek();
  const OpDef* known = at.kind == Token::Kind::word ? find_op(table_, view()) : nullptr;
  const bool is_check = known && known->syntax == Syntax::check && results.empty();
  Node node;
  node.op = &read_op(is_check ? Syntax::check : Syntax::plain, "%y : type = op(...)");
  node.source = {"", at.line};
  read_arguments(node);
  std::vector<Type> given;
  if (node.op->type_is_attribute) given = types;
  if (node.op->type_is_attribute && types.empty()) {
    source_.fail_at(
        at, base::format("{} gives a result, which needs a name and a type", node.op->name));
  }
  const NodeId id = add_node(at, std::move(node), std::move(given), results);
  for (size_t i = 0; i < results.size(); ++i) {
    check_type(*type_at, b_->graph().node(id).out[i], std::move(types[i]));
  }
}

// Adds the node and gives the results their names.
NodeId Reader::add_node(const Token& at, Node node, std::vector<Type> given,
                        const std::vector<Word>& results) {
  blame_ = &at;
  node.scope = b_->scope();
  std::vector<std::pair<ScopeId, std::string>> places;
  std::vector<std::string> names;
  for (const Word& w : results) {
    places.push_back(place_of(w));
    need_new(*values_, places.back().first, w, true);
    const size_t id = b_->graph().values.size() + names.size();  // checks bear no values
    values_->define(places.back().first, places.back().second, static_cast<uint32_t>(id));
    names.push_back(places.back().second);
  }
  const size_t before = b_->graph().nodes.size();
  const NodeId id = b_->add_node(std::move(node), std::move(given), names);
  const Graph& g = b_->graph();
  if (g.nodes.size() != before + 1) {
    const Node& check = g.nodes[before];
    std::string wanted;
    for (const Attr& a : check.attrs.values()) {
      if (const Fact* f = std::get_if<Fact>(&a)) wanted += display_fact(g, *f);
      if (const auto* s = std::get_if<std::string>(&a)) {
        if (!s->empty()) wanted += base::format(", msg=\"{}\"", *s);
      }
    }
    source_.fail_at(at, base::format("{} needs what is not known here; write before it: {}({})",
                                     g.node(id).op->name, check.op->name, wanted));
  }
  const Values& out = g.node(id).out;
  if (out.size() != results.size()) {
    source_.fail_at(
        at, base::format("{} gives {} results, which need names", g.node(id).op->name, out.size()));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!(places[i].first == b_->scope())) b_->move_to_scope(out[i], places[i].first);
  }
  return id;
}

// The type as written stays: it may be a simpler form of what the op infers.
void Reader::check_type(const Token& at, Value v, Type annotated) {
  const Graph& g = b_->graph();
  const Type& inferred = g.type(v);
  const bool same =
      inferred.dtype == annotated.dtype &&
      std::ranges::equal(inferred.dims, annotated.dims, [&](const Expr& a, const Expr& b) {
        return b_->facts().prove_equal(a, b);
      });
  if (!same) {
    source_.fail_at(at, base::format("the type of {} is {} here, but {} gives {}",
                                     display_name(g, v), display_type(g, annotated),
                                     g.node(g.info(v).def).op->name, display_type(g, inferred)));
  }
  b_->set_type(v, std::move(annotated));
}

void Reader::read_update() {
  const Token& at = peek();
  Node node;
  node.op = &read_op(Syntax::update, "update %target = %value");
  node.source = {"", at.line};
  node.attrs = Attrs(*node.op, std::vector<Attr>(node.op->attrs.size()));
  node.in.push_back(find_value(take_value()));
  expect("=");
  node.in.push_back(find_value(take_value()));
  add_node(at, std::move(node), {}, {});
}

// u0..u7 = sizes(%count) where ...
void Reader::read_births() {
  const std::vector<Word> words = take_words(Token::Kind::word, "a name");
  expect("=");
  const Token& at = peek();
  Node node;
  node.op = &read_op(Syntax::sizes, "u0..u7 = op(%counts)");
  node.source = {"", at.line};
  read_arguments(node);
  const Value counts = node.in.empty() ? Value{} : node.in[0];
  const NodeId id = add_node(at, std::move(node), {}, {});
  const Graph& g = b_->graph();
  if (counts.valid()) {
    const Type& type = g.type(counts);
    const auto length = type.dims.size() == 1 ? b_->facts().number(type.dims[0]) : std::nullopt;
    if (length != static_cast<int64_t>(words.size())) {
      source_.fail_at(*words[0].token,
                      base::format("{} sizes for {} : {}: there must be one for each element",
                                   words.size(), display_name(g, counts), display_type(g, type)));
    }
  }
  for (const Word& w : words) {
    const auto [scope, name] = place_of(w);
    need_new(*sizes_, scope, w, false);
    const ScopeId outer = b_->scope();
    b_->set_scope(scope);
    const Expr size = b_->bear_size(id, name);
    b_->set_scope(outer);
    sizes_->define(scope, name, size.leaf()->id);
  }
  if (take_if("where")) read_facts(id);
}

void Reader::read_facts(NodeId node) {
  do {
    const Token& at = peek();
    const Fact fact = read_fact();
    blame_ = &at;
    b_->add_facts(node, {fact});
  } while (take_if(","));
}

void Reader::read_arguments(Node& node) {
  expect("(");
  std::vector<Attr> values(node.op->attrs.size());
  if (!take_if(")")) {
    do {
      read_argument(node, values);
    } while (take_if(","));
    if (!take_if(")")) fail_here("',' or ')'");
  }
  node.attrs = Attrs(*node.op, std::move(values));
}

// %value, attribute=..., a flag, or the bare fact of a check.
void Reader::read_argument(Node& node, std::vector<Attr>& values) {
  const OpDef& op = *node.op;
  if (peek().kind == Token::Kind::value) {
    Word first = take_value();
    if (!is("..")) {
      node.in.push_back(find_value(first));
      return;
    }
    std::vector<Word> range;
    take_range(range, std::move(first), "a value like %x");
    for (const Word& w : range) node.in.push_back(find_value(w));
    return;
  }
  const bool ends = is(",", 1) || is(")", 1);
  const bool named = peek().kind == Token::Kind::word && (is("=", 1) || ends);
  size_t i = 0;
  if (named) {
    while (i < op.attrs.size() && op.attrs[i].name != view()) ++i;
  } else {
    const bool fact = op.syntax == Syntax::check;
    while (i < op.attrs.size() && !(fact && op.attrs[i].kind == AttrSpec::Kind::fact)) ++i;
  }
  const Token& at = peek();
  if (i == op.attrs.size()) {
    if (!named) fail_here("a value, an attribute or ')'");
    std::vector<std::string> known;
    for (const AttrSpec& spec : op.attrs) known.emplace_back(spec.name);
    const std::string hint = did_you_mean(view(), known);
    source_.fail_at(at, base::format("{} has no attribute {}{}", op.name, source_.describe(at),
                                     !hint.empty()   ? hint
                                     : known.empty() ? "; it has none"
                                                     : "; it has " + base::join(known, ", ")));
  }
  const AttrSpec& spec = op.attrs[i];
  if (!std::holds_alternative<std::monostate>(values[i])) {
    source_.fail_at(at, base::format("attribute {} is given twice", spec.name));
  }
  if (named) ++at_;
  if (spec.kind == AttrSpec::Kind::flag && is("=")) fail_here("',' or ')': a flag has no value");
  if (named && spec.kind != AttrSpec::Kind::flag) expect("=");
  values[i] = read_attr(spec);
}

Attr Reader::read_attr(const AttrSpec& spec) {
  switch (spec.kind) {
    case AttrSpec::Kind::flag:
      return true;
    case AttrSpec::Kind::integer:
      return take_integer("a whole number");
    case AttrSpec::Kind::number:
      return take_number("a number");
    case AttrSpec::Kind::text:
      return take_string();
    case AttrSpec::Kind::dim:
      return read_dim();
    case AttrSpec::Kind::dims:
      expect("[");
      return read_dim_list("]");
    case AttrSpec::Kind::integers: {
      expect("[");
      std::vector<int64_t> list;
      while (!take_if("]")) {
        if (!list.empty() && !take_if(",")) fail_here("',' or ']'");
        list.push_back(take_integer("a whole number"));
      }
      return list;
    }
    case AttrSpec::Kind::fact:
      return read_fact();
  }
  base::fail_internal("attribute {} has no kind", spec.name);
}

}  // namespace text

std::vector<Graph> parse_all(std::string_view text, std::string_view file, OpTable table,
                             const ReadLimits& limits) {
  const text::Source source(text, file);
  text::Reader reader(source, file, table, limits);
  std::vector<Graph> out;
  while (!reader.at_end()) out.push_back(reader.read_graph());
  return out;
}

Graph parse(std::string_view text, std::string_view file, OpTable table, const ReadLimits& limits) {
  const text::Source source(text, file);
  text::Reader reader(source, file, table, limits);
  Graph g = reader.read_graph();
  if (!reader.at_end()) reader.fail_here("the end of the text after one graph");
  return g;
}

}  // namespace graph
