// The table of names of a graph text.
#include "graph/text_names.h"

namespace graph::text {

const uint32_t* NameTable::number(std::string_view name) const {
  const auto at = numbers_.find(name);
  return at == numbers_.end() ? nullptr : &at->second;
}

void NameTable::define(ScopeId scope, std::string_view name, uint32_t id) {
  const uint32_t* known = number(name);
  const uint32_t n = known ? *known : static_cast<uint32_t>(anywhere_.size());
  if (!known) {
    numbers_.emplace(name, n);
    anywhere_.emplace_back();
  }
  ++anywhere_[n].count;
  anywhere_[n].id = id;
  here_[key(scope, n)] = id;
}

NameTable::Meaning NameTable::bare(ScopeId scope, std::string_view name) const {
  const uint32_t* n = number(name);
  if (!n) return {};
  const auto here = here_.find(key(scope, *n));
  return here != here_.end() ? Meaning{1, here->second} : anywhere_[*n];
}

std::optional<uint32_t> NameTable::qualified(ScopeId scope, std::string_view name) const {
  const uint32_t* n = number(name);
  if (!n) return std::nullopt;
  const auto here = here_.find(key(scope, *n));
  return here == here_.end() ? std::nullopt : std::optional(here->second);
}

std::vector<std::string> NameTable::names() const {
  std::vector<std::string> out(numbers_.size());
  for (const auto& [name, n] : numbers_) out[n] = name;
  return out;
}

}  // namespace graph::text
