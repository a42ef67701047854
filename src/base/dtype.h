// Element types of tensors and their names in the text form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace base {

enum class DType : uint8_t { f32, f64, bf16, f16, i64, i32, u8, boolean };

int64_t byte_size(DType dtype);    // of one element
std::string to_text(DType dtype);  // "f32", ..., "bool"
std::optional<DType> parse_dtype(std::string_view text);
bool is_float(DType dtype);

}  // namespace base
