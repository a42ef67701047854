// What shape rules ask of the world, and the refusals that they share.
#include "base/error.h"
#include "graph/builder.h"

namespace graph {

void Shapes::require_equal(const Expr& a, const Expr& b, std::string_view message) {
  if (facts_.prove_equal(a, b)) return;
  require({a, Fact::Relation::equal, b, true}, message);
}

void Shapes::fail(const std::string& message) const {
  throw base::UserError(base::Exit::config, base::format("{}: {}", op_.name, message));
}

int64_t Shapes::number(const Expr& dim, std::string_view what) const {
  const auto value = facts_.number(dim);
  if (!value) refuse("{} must be a number that constants give, found {}", what, text(dim));
  return *value;
}

void Shapes::need_rank(const Type& type, size_t rank, std::string_view operand) const {
  if (type.dims.size() != rank) {
    refuse("{} must have {} dims, found {}", operand, rank, text(type));
  }
}

void Shapes::need_dtype(const Type& type, DType dtype, std::string_view operand) const {
  if (type.dtype != dtype) refuse("{} must be {}, found {}", operand, dtype, text(type));
}

void Shapes::need_float(const Type& type, std::string_view operand) const {
  if (type.dtype != DType::f32 && type.dtype != DType::f64) {
    refuse("{} must be f32 or f64, found {}", operand, text(type));
  }
}

void Shapes::need_same_dtype(const Type& a, const Type& b) const {
  if (a.dtype != b.dtype) {
    refuse("operands must have one dtype, found {} and {}", text(a), text(b));
  }
}

size_t Shapes::need_dim(const Type& type, int64_t dim) const {
  const int64_t rank = static_cast<int64_t>(type.dims.size());
  if (dim < -rank || dim >= rank) {
    refuse("dim {} is outside of {} with {} dims", dim, text(type), rank);
  }
  return static_cast<size_t>(dim < 0 ? dim + rank : dim);
}

}  // namespace graph
