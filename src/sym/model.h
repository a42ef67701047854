// Search for values of sizes under which given relations hold. For the files of this room only.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sym/expr.h"

namespace sym {

struct Wish {
  enum class Kind : uint8_t { nonnegative, zero, nonzero };
  Expr expr;
  Kind kind;
};

using Model = std::vector<std::pair<Leaf, int64_t>>;  // in order of birth

// Values for all leaves of `wishes`, or nothing when the walk did not find any. Starts at `start`,
// then elsewhere; the same question gives the same answer.
std::optional<Model> find_model(std::span<const Wish> wishes, const LeafValue& start);

}  // namespace sym
