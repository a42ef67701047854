// Element types of tensors.
#include "base/dtype.h"

#include <utility>

namespace base {
namespace {
constexpr std::pair<DType, std::string_view> names[] = {
    {DType::f32, "f32"}, {DType::f64, "f64"}, {DType::bf16, "bf16"}, {DType::f16, "f16"},
    {DType::i64, "i64"}, {DType::i32, "i32"}, {DType::u8, "u8"},     {DType::boolean, "bool"}};
}  // namespace

int64_t byte_size(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::u8:
    case DType::boolean:
      return 1;
  }
  return 0;
}

std::string to_text(DType dtype) { return std::string(names[static_cast<int>(dtype)].second); }

std::optional<DType> parse_dtype(std::string_view text) {
  for (const auto& [dtype, name] : names) {
    if (name == text) return dtype;
  }
  return std::nullopt;
}

bool is_float(DType dtype) { return dtype <= DType::f16; }

}  // namespace base
