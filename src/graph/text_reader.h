// Reads graph texts: one recursive descent over the words, building each graph as it goes.
// Statements are in text_parse.cpp, names and plain values in text_parse_words.cpp, sizes and types
// in text_parse_dims.cpp.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/builder.h"
#include "graph/text.h"
#include "graph/text_lexer.h"
#include "graph/text_names.h"

namespace graph::text {

// A name with its loop numbers put in: path and name, or a bare name.
struct Word {
  const Token* token;
  std::string text;
};

class Reader {
 public:
  Reader(const Source& source, std::string_view file, OpTable table, const ReadLimits& limits);
  bool at_end() const { return peek().kind == Token::Kind::end; }
  Graph read_graph();
  [[noreturn]] void fail_here(const std::string& expected) const;  // "expected ..., found ..."

 private:
  // text_parse.cpp
  void read_statements();  // up to the closing brace, which it takes
  void read_statement();
  bool at_return() const;
  void read_word_statement();
  void read_scope();
  void read_each();
  void read_constants(bool per_run);
  void read_let();
  void read_input();
  void read_call(const std::vector<Word>& results, const Token* type_at, std::vector<Type> types);
  void read_results();
  void read_update();
  void read_births();
  void read_facts(NodeId node);
  void read_arguments(Node& node);
  void read_argument(Node& node, std::vector<Attr>& values);
  Attr read_attr(const AttrSpec& spec);
  const OpDef& read_op(Syntax syntax, std::string_view form);
  NodeId add_node(const Token& at, Node node, std::vector<Type> given,
                  const std::vector<Word>& results);
  void check_type(const Token& at, Value v, Type annotated);
  void count_step(const Token& at);

  // text_parse_words.cpp
  const Token& peek(size_t ahead = 0) const;
  std::string_view view(size_t ahead = 0) const { return source_.view(peek(ahead)); }
  const Token& take() { return source_[at_++]; }
  bool is(std::string_view word_or_punct, size_t ahead = 0) const;
  bool take_if(std::string_view word_or_punct);
  void expect(std::string_view word_or_punct);
  std::string expand(const Token& token, std::string_view raw) const;
  std::string expand_loop(const Token& token, std::string_view raw, size_t& at) const;
  Word take_word(std::string_view what);  // a name, perhaps with a path
  Word take_value();
  std::vector<Word> take_words(Token::Kind kind, std::string_view what);  // a list with ranges
  void take_range(std::vector<Word>& out, Word first, std::string_view what);
  std::string take_string();
  int64_t take_integer(std::string_view what);
  double take_number(std::string_view what);
  std::pair<ScopeId, std::string> place_of(const Word& word);  // for a definition
  ScopeId enter(const Token& at, const std::string& path);
  uint32_t find(const NameTable& table, const Word& word, bool value) const;
  [[noreturn]] void fail_unknown(const NameTable& table, const Word& word, bool value) const;
  void need_new(const NameTable& table, ScopeId scope, const Word& word, bool value) const;
  Value find_value(const Word& word) const { return {find(*values_, word, true)}; }
  std::vector<Value> take_values();
  void count_members(const Token& at, int64_t members);

  // text_parse_dims.cpp
  Expr read_dim();
  Expr read_term();
  Expr read_factor();
  Expr read_function(std::string_view name);
  std::vector<Expr> read_dim_list(std::string_view close);  // ranges allowed; takes `close`
  Fact read_fact();
  sym::Condition read_condition();
  Fact::Relation take_relation();
  bool at_word_range() const;
  std::vector<Type> read_type();  // one, or one for each member of the range inside
  std::vector<Type> read_types(size_t values);
  mesh::Placements read_placements();
  Expr find_size(const Word& word) const;
  uint32_t depth_of(const Expr& e) const;  // of nested lets

  const Source& source_;
  std::string file_;
  OpTable table_;
  ReadLimits limits_;
  size_t at_ = 0;
  std::vector<std::pair<std::string, int64_t>> loops_;  // names and numbers, outermost first
  int depth_ = 0;
  int64_t steps_ = 0, members_ = 0;  // of the whole text: bounds what loops and ranges expand to
  const Token* blame_ = nullptr;     // where an error without a place happened

  // Of the graph being read.
  Builder* b_ = nullptr;
  NameTable* values_ = nullptr;
  NameTable* sizes_ = nullptr;
  std::unordered_map<std::string, ScopeId> scopes_;    // those entered or defined into
  std::unordered_map<uint32_t, uint32_t> let_depths_;  // by size
};

}  // namespace graph::text
