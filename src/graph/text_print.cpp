// Prints a graph: one line a statement, in order of creation, canonical to the last blank.
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "graph/text.h"
#include "graph/text_lexer.h"
#include "graph/text_lines.h"
#include "graph/text_names.h"

namespace graph {
namespace text {
namespace {

// A name as it is written at one place: "layers.1.moe:" + "u" + 12.
struct Reference {
  std::string text;
  size_t stem = 0;      // bytes before the number at its end
  int64_t number = -1;  // -1: there is none
};

Reference make_reference(std::string text) {
  Reference r{std::move(text), 0, -1};
  size_t digits = r.text.size();
  while (digits > 0 && r.text[digits - 1] >= '0' && r.text[digits - 1] <= '9') --digits;
  const size_t count = r.text.size() - digits;
  r.stem = r.text.size();
  if (count == 0 || count > 9 || (count > 1 && r.text[digits] == '0')) return r;
  r.stem = digits;
  r.number = std::stoll(r.text.substr(digits));
  return r;
}

bool follows(const Reference& a, const Reference& b) {
  return a.number >= 0 && b.number == a.number + 1 &&
         std::string_view(a.text).substr(0, a.stem) == std::string_view(b.text).substr(0, b.stem);
}

// The end of a range stands in the same scope as its beginning, without saying so again.
std::string range_end(const Reference& r) {
  const size_t colon = r.text.rfind(':');
  if (colon == std::string::npos) return r.text;
  return (r.text[0] == '%' ? "%" : "") + r.text.substr(colon + 1);
}

// The same for the ranges inside an expression: "sum(a.b:u0..a.b:u7)" is "sum(a.b:u0..u7)".
std::string without_end_paths(std::string text) {
  for (size_t at = text.find(".."); at != std::string::npos; at = text.find("..", at + 1)) {
    const size_t colon = text.find(':', at), end = text.find(')', at);
    if (colon < end) text.erase(at + 2, colon - at - 1);
  }
  return text;
}

// "a, b" or, for three or more that count up by one, "x0..x7".
void add_list(Line& line, const std::vector<Reference>& list) {
  for (size_t i = 0; i < list.size();) {
    size_t last = i;
    while (last + 1 < list.size() && follows(list[last], list[last + 1])) ++last;
    if (i) line.text += ", ";
    add_name(line, list[i].text);
    if (last - i >= 2) {
      line.text += "..";
      add_name(line, range_end(list[last]));
      i = last;
    }
    ++i;
  }
}

bool is_range(const std::vector<Reference>& list) {
  for (size_t i = 0; i + 1 < list.size(); ++i) {
    if (!follows(list[i], list[i + 1])) return false;
  }
  return list.size() >= 3;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

bool same_number(double a, double b) {
  return a == b && std::signbit(a) == std::signbit(b);  // 0 is not -0
}

bool is_default(const AttrSpec& spec, const Attr& value) {
  if (std::holds_alternative<std::monostate>(value)) return true;
  if (const bool* flag = std::get_if<bool>(&value)) return !*flag;
  if (spec.required) return false;
  if (const auto* i = std::get_if<int64_t>(&value)) {
    return *i == static_cast<int64_t>(spec.otherwise);
  }
  if (const auto* r = std::get_if<double>(&value)) return same_number(*r, spec.otherwise);
  if (const auto* s = std::get_if<std::string>(&value)) return s->empty();
  if (const auto* e = std::get_if<Expr>(&value)) {
    return *e == Expr(static_cast<int64_t>(spec.otherwise));
  }
  return false;
}

class Printer {
 public:
  explicit Printer(const Graph& g) : g_(g) {
    for (const Input& i : g.inputs) ++value_counts_[g.info(i.value).name];
    for (const Node& n : g.nodes) {
      for (const Value v : n.out) ++value_counts_[g.info(v).name];
    }
    for (const SizeInfo& s : g.sizes) ++size_counts_[s.name];
    names_ = {.name = [this](sym::Leaf leaf) { return size_reference(leaf.id).text; },
              .family = [this](sym::Leaf leaf) { return family(leaf.id); }};
  }

  std::string run(Fold fold) {
    Line head{"graph ", {}};
    head.text += checked(g_.name) + " ";
    // The title and the last line stand outside of all loops: their digits are plain.
    add_string(head, g_.title);
    add_sizes(items_);
    for (const Input& i : g_.inputs) add_input(i);
    for (const Node& n : g_.nodes) add_node(n);
    Line last{"return", {}};
    scope_ = {0};
    if (!g_.returns.empty()) last.text += ' ';
    add_list(last, value_references(g_.returns));
    if (fold == Fold::folded) items_ = text::fold(std::move(items_));
    items_.push_back({std::move(last), {}});
    Item graph{std::move(head), std::move(items_), true};
    std::vector<Item> all;
    all.push_back(std::move(graph));
    return write(all, 0);
  }

 private:
  using Counts = std::unordered_map<std::string_view, uint32_t>;  // looked up only

  // Names come from model code; one that would not read back is our mistake.
  const std::string& checked(const std::string& name) const {
    bool good = !name.empty() && starts_name(name[0]);
    for (const char c : name) good = good && continues_name(c);
    if (!good) base::fail_internal("graph {}: \"{}\" cannot be a name in text", g_.name, name);
    return name;
  }

  const std::string& checked_path(const std::string& path) const {
    bool good = path.empty() || starts_name(path[0]);
    char before = '.';
    for (const char c : path) {
      good = good && (continues_name(c) || (c == '.' && before != '.'));
      before = c;
    }
    if (!good || (!path.empty() && before == '.')) {
      base::fail_internal("graph {}: \"{}\" cannot be the path of a scope", g_.name, path);
    }
    return path;
  }

  // The name of something as it is written in the current scope. Bare outside of its own scope only
  // if no other scope of the whole graph has the name: so a reader is never misled, and layers that
  // do the same read the same, the first one too.
  std::string reference(const NameTable& table, const Counts& counts, ScopeId scope,
                        const std::string& name, uint32_t id) const {
    const auto here = table.qualified(scope_, name);
    if (here ? *here == id : counts.at(name) == 1) return name;
    return g_.scopes.at(scope.id) + ":" + name;
  }

  Reference value_reference(Value v) const {
    const ValueInfo& info = g_.values.at(v.id);
    return make_reference("%" + reference(values_, value_counts_, info.scope, info.name, v.id));
  }

  Reference size_reference(uint32_t size) const {
    const SizeInfo& info = g_.sizes.at(size);
    return make_reference(reference(sizes_, size_counts_, info.scope, info.name, size));
  }

  std::vector<Reference> value_references(ValuesIn values) const {
    std::vector<Reference> out;
    for (const Value v : values) out.push_back(value_reference(v));
    return out;
  }

  std::optional<std::pair<std::string, int64_t>> family(uint32_t size) const {
    Reference r = size_reference(size);
    if (r.number < 0) return std::nullopt;
    return std::pair(r.text.substr(0, r.stem), r.number);
  }

  // A definition is bare in its own scope and has its path elsewhere.
  Reference define(NameTable& table, ScopeId scope, const std::string& name, uint32_t id,
                   std::string_view sigil) const {
    checked(name);
    table.define(scope, name, id);
    const std::string path = scope == scope_ ? "" : g_.scopes.at(scope.id) + ":";
    return make_reference(std::string(sigil) + path + name);
  }
  Reference define_value(Value v) {
    const ValueInfo& info = g_.values.at(v.id);
    return define(values_, info.scope, info.name, v.id, "%");
  }
  Reference define_size(uint32_t size) {
    const SizeInfo& info = g_.sizes.at(size);
    return define(sizes_, info.scope, info.name, size, "");
  }

  void add_dim(Line& line, const Expr& dim) const {
    if (const auto number = dim.constant()) {
      line.text += std::to_string(*number);
    } else if (const auto leaf = dim.leaf()) {
      add_name(line, size_reference(leaf->id).text);
    } else {
      add_names(line, without_end_paths(sym::print(dim, names_)));
    }
  }

  void add_placements(Line& line, const mesh::Placements& placements) const {
    for (const mesh::Placement& p : placements) {
      line.text += " @" + checked(p.axis) + ":";
      line.text += p.kind == mesh::Placement::Kind::shard ? std::to_string(p.dim) : "sum";
    }
  }

  void add_type(Line& line, const Type& type) const {
    line.text += base::to_text(type.dtype) + "[";
    for (size_t i = 0; i < type.dims.size(); ++i) {
      if (i) line.text += ',';
      add_dim(line, type.dims[i]);
    }
    line.text += ']';
    add_placements(line, type.placements);
  }

  // The one dim in which the types differ and count along, for "f32[u0..u7,D]".
  std::optional<size_t> ranged_dim(ValuesIn values) const {
    if (values.size() < 3) return std::nullopt;
    const Type& first = g_.type(values[0]);
    std::optional<size_t> ranged;
    for (size_t d = 0; d < first.dims.size(); ++d) {
      if (g_.type(values[1]).dims.size() == first.dims.size() &&
          !(g_.type(values[1]).dims[d] == first.dims[d])) {
        if (ranged) return std::nullopt;
        ranged = d;
      }
    }
    if (!ranged) return std::nullopt;
    std::vector<Reference> range;
    for (const Value v : values) {
      Type type = g_.type(v);
      if (type.dims.size() != first.dims.size() || !type.dims[*ranged].leaf()) return std::nullopt;
      range.push_back(size_reference(type.dims[*ranged].leaf()->id));
      type.dims[*ranged] = first.dims[*ranged];
      if (!(type == first)) return std::nullopt;
    }
    return is_range(range) ? ranged : std::nullopt;
  }

  void add_types(Line& line, ValuesIn values) const {
    bool equal = true;
    for (const Value v : values) equal = equal && g_.type(v) == g_.type(values[0]);
    if (equal) return add_type(line, g_.type(values[0]));
    const auto ranged = ranged_dim(values);
    if (!ranged) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (i) line.text += ", ";
        add_type(line, g_.type(values[i]));
      }
      return;
    }
    const Type &first = g_.type(values.front()), &last = g_.type(values.back());
    line.text += base::to_text(first.dtype) + "[";
    for (size_t d = 0; d < first.dims.size(); ++d) {
      if (d) line.text += ',';
      add_dim(line, first.dims[d]);
      if (d != *ranged) continue;
      line.text += "..";
      add_name(line, range_end(size_reference(last.dims[d].leaf()->id)));
    }
    line.text += ']';
    add_placements(line, first.placements);
  }

  void add_dims(Line& line, const std::vector<Expr>& dims) const {
    line.text += '[';
    for (size_t i = 0; i < dims.size();) {
      std::vector<Reference> run;  // of plain sizes
      while (i < dims.size() && dims[i].leaf()) {
        run.push_back(size_reference(dims[i++].leaf()->id));
      }
      add_list(line, run);
      if (i == dims.size()) break;
      if (!run.empty()) line.text += ", ";
      add_dim(line, dims[i++]);
      if (i < dims.size()) line.text += ", ";
    }
    line.text += ']';
  }

  void add_fact(Line& line, const Fact& fact) const {
    add_dim(line, fact.left);
    line.text += " " + std::string(to_text(fact.relation)) + " ";
    add_dim(line, fact.right);
    if (fact.by_check) line.text += " by check";
  }

  void add_attr(Line& line, const Attr& value) const {
    if (const auto* i = std::get_if<int64_t>(&value)) line.text += std::to_string(*i);
    if (const auto* r = std::get_if<double>(&value)) line.text += number_text(*r);
    if (const auto* s = std::get_if<std::string>(&value)) add_string(line, *s);
    if (const auto* e = std::get_if<Expr>(&value)) add_dim(line, *e);
    if (const auto* list = std::get_if<std::vector<Expr>>(&value)) add_dims(line, *list);
    const auto* integers = std::get_if<std::vector<int64_t>>(&value);
    if (!integers) return;
    line.text += '[';
    for (size_t k = 0; k < integers->size(); ++k) {
      line.text += (k ? ", " : "") + std::to_string((*integers)[k]);
    }
    line.text += ']';
  }

  void add_arguments(Line& line, const Node& n) const {
    add_list(line, value_references(n.in));
    bool first = n.in.empty();
    for (size_t i = 0; i < n.op->attrs.size(); ++i) {
      const AttrSpec& spec = n.op->attrs[i];
      const Attr& value = n.attrs.values()[i];
      if (is_default(spec, value)) continue;
      if (!first) line.text += ", ";
      first = false;
      const bool bare = n.op->syntax == Syntax::check && spec.kind == AttrSpec::Kind::fact;
      if (!bare) line.text += spec.name;
      if (spec.kind == AttrSpec::Kind::flag) continue;
      if (!bare) line.text += '=';
      if (const Fact* fact = std::get_if<Fact>(&value)) {
        Fact shown = *fact;
        shown.by_check = shown.by_check && !bare;  // of a check it goes without saying
        add_fact(line, shown);
      } else {
        add_attr(line, value);
      }
    }
  }

  // All sizes without a bearing node that come next in the order of birth.
  void add_sizes(std::vector<Item>& to) {
    while (next_size_ < g_.sizes.size() && g_.sizes[next_size_].kind != SizeKind::data) {
      const SizeKind kind = g_.sizes[next_size_].kind;
      Line line;
      if (kind == SizeKind::let) {
        line.text = "let ";
        const uint32_t size = next_size_++;
        Line value;  // written before the name is defined
        add_dim(value, g_.sizes[size].expression);
        add_name(line, define_size(size).text);
        line.text += " = " + value.text;
        line.numbers.insert(line.numbers.end(), value.numbers.begin(), value.numbers.end());
      } else {
        line.text = kind == SizeKind::constant ? "const " : "size ";
        for (bool first = true; next_size_ < g_.sizes.size() && g_.sizes[next_size_].kind == kind;
             first = false) {
          const uint32_t size = next_size_++;
          if (!first) line.text += ", ";
          add_name(line, define_size(size).text);
          line.text += "=" + std::to_string(g_.sizes[size].number);
        }
      }
      to.push_back({std::move(line), {}});
    }
  }

  void add_input(const Input& input) {
    const char* const kind = input.kind == InputKind::in      ? "in "
                             : input.kind == InputKind::param ? "param "
                                                              : "buffer ";
    Line line{kind, {}};
    line.text += mark::column;
    add_name(line, define_value(input.value).text);
    line.text += mark::pad_name;
    line.text += " : ";
    line.text += mark::column;
    add_type(line, g_.type(input.value));
    if (!input.label.empty()) {
      line.text += mark::pad_type;
      line.text += ' ';
      add_string(line, input.label);
    }
    items_.push_back({std::move(line), {}});
  }

  // Where lines of the current scope go: the end of the graph, or its last block.
  std::vector<Item>& block_of(ScopeId scope) {
    if (scope.id == 0) {
      scope_ = scope;
      return items_;
    }
    if (!(scope == scope_) || items_.empty() || !items_.back().is_block) {
      scope_ = scope;
      Line head{"@", {}};
      add_name(head, checked_path(g_.scopes.at(scope.id)));
      items_.push_back({std::move(head), {}, true});
    }
    return items_.back().body;
  }

  // What the statement of this syntax has no place for.
  void check_syntax(const Node& n) const {
    const bool bears = n.op->syntax == Syntax::sizes;
    CHECK(bears || (n.sizes.empty() && n.facts.empty()));
    CHECK(!bears || n.out.empty());
    CHECK(n.op->syntax != Syntax::update ||
          (n.in.size() == 2 && n.out.empty() && n.op->attrs.empty()));
  }

  void add_node(const Node& n) {
    check_syntax(n);
    std::vector<Item>& block = block_of(n.scope);
    Line line;
    if (n.op->syntax == Syntax::update) {
      line.text = std::string(n.op->name) + " ";
      add_list(line, value_references(ValuesIn(n.in).first(1)));
      line.text += " = ";
      add_list(line, value_references(ValuesIn(n.in).subspan(1)));
    } else {
      Line call{std::string(n.op->name) + "(", {}};
      add_arguments(call, n);
      call.text += ')';
      if (n.op->syntax == Syntax::sizes) {
        add_births(line, n);
      } else {
        add_results(line, n);
      }
      line.text += call.text;
      line.numbers.insert(line.numbers.end(), call.numbers.begin(), call.numbers.end());
    }
    for (size_t i = 0; i < n.facts.size(); ++i) {
      line.text += i ? ", " : " where ";
      add_fact(line, n.facts[i]);
    }
    block.push_back({std::move(line), {}});
    if (!n.sizes.empty()) add_sizes(block);
  }

  void add_births(Line& line, const Node& n) {
    std::vector<Reference> names;
    for (const uint32_t size : n.sizes) names.push_back(define_size(size));
    if (!n.sizes.empty()) next_size_ = n.sizes.back() + 1;
    add_list(line, names);
    line.text += " = ";
  }

  void add_results(Line& line, const Node& n) {
    if (n.out.empty()) return;
    Line types;
    add_types(types, n.out);
    std::vector<Reference> names;
    for (const Value v : n.out) names.push_back(define_value(v));
    line.text += mark::column;
    add_list(line, names);
    line.text += mark::pad_name;
    line.text += " : ";
    line.text += mark::column;
    line.text += types.text;
    line.numbers.insert(line.numbers.end(), types.numbers.begin(), types.numbers.end());
    line.text += mark::pad_type;
    line.text += " = ";
  }

  const Graph& g_;
  NameTable values_, sizes_;  // defined so far
  Counts value_counts_, size_counts_;
  sym::LeafNames names_;
  std::vector<Item> items_;
  ScopeId scope_{0};
  uint32_t next_size_ = 0;
};

}  // namespace
}  // namespace text

std::string print(const Graph& g, Fold fold) { return text::Printer(g).run(fold); }

}  // namespace graph
