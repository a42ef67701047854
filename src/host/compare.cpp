// Tensor by tensor comparison of two safetensors files.
#include "host/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/text.h"

namespace host {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Elements in a type that holds every value of ours exactly: 64 bits of mantissa on x86-64.
using Wide = long double;
using Values = std::vector<Wide>;

template <class T>
Values widen(const Tensor& x) {
  return Values(x.data<T>(), x.data<T>() + x.count());
}

Values values_of(const Tensor& x) {
  switch (x.dtype()) {
    case DType::f32:
      return widen<float>(x);
    case DType::f64:
      return widen<double>(x);
    case DType::i64:
      return widen<int64_t>(x);
    case DType::i32:
      return widen<int32_t>(x);
    case DType::u8:
      return widen<uint8_t>(x);
    case DType::boolean:
      return widen<bool>(x);
    case DType::bf16:
    case DType::f16:
      return widen<float>(cast(x, DType::f32));
  }
  return {};
}

bool is_router(std::string_view name, std::string_view what) {
  return name.starts_with("router.") && name.ends_with(what);
}

void sort_rows(Values& ids, int64_t length) {
  for (size_t row = 0; row + length <= ids.size() && length > 0; row += length) {
    std::sort(ids.begin() + row, ids.begin() + row + length);
  }
}

// Each row of `scores` in the order of rising id.
void order_rows(Values& scores, const Values& ids, int64_t length) {
  std::vector<int64_t> order(length);
  Values row(length);
  for (size_t at = 0; at + length <= scores.size() && length > 0; at += length) {
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](int64_t i) { return ids[at + i]; });
    for (int64_t i = 0; i < length; ++i) row[i] = scores[at + order[i]];
    std::ranges::copy(row, scores.begin() + at);
  }
}

// Values of a tensor, rows of router tensors in an order that both files share.
Values comparable_values(const SafetensorsFile& file, const TensorEntry& entry) {
  Values values = values_of(file.get(entry.name));
  const int64_t length = entry.shape.empty() ? 0 : entry.shape.back();
  if (is_router(entry.name, ".ids")) sort_rows(values, length);
  constexpr std::string_view scores = ".top_scores";
  if (is_router(entry.name, scores)) {
    const std::string ids = entry.name.substr(0, entry.name.size() - scores.size()) + ".ids";
    const TensorEntry* of_ids = file.find(ids);
    if (of_ids != nullptr && of_ids->shape == entry.shape) {
      order_rows(values, values_of(file.get(ids)), length);
    }
  }
  return values;
}

double distance(Wide a, Wide b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const Wide d = std::fabs(a - b);
  return std::isnan(d) ? infinity : static_cast<double>(d);
}

// A tiny difference must not vanish in a division by zero, nor NaN come of 0 / 0.
double relative_to(double error, double scale) { return error == 0 ? 0 : error / scale; }

Shape place_of(size_t index, const Shape& shape) {
  Shape place(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    place[d] = static_cast<int64_t>(index % shape[d]);
    index /= shape[d];
  }
  return place;
}

std::string list(const Shape& numbers) {
  std::string out = "[";
  for (size_t d = 0; d < numbers.size(); ++d) out += base::format(d ? ", {}" : "{}", numbers[d]);
  return out + "]";
}

std::string type_text(const TensorEntry& e) { return e.dtype + " " + list(e.shape); }

void compare_values(const Values& a, const Values& b, double rtol, TensorDifference& result,
                    const Shape& shape) {
  double scale = 0;
  for (const Wide v : b) {
    if (std::isfinite(v)) scale = std::max(scale, static_cast<double>(std::fabs(v)));
  }
  size_t first = a.size(), first_over = a.size();
  for (size_t i = 0; i < a.size(); ++i) {
    const double error = distance(a[i], b[i]);
    result.max_abs = std::max(result.max_abs, error);
    if (error > 0) first = std::min(first, i);
    if (relative_to(error, scale) > rtol) first_over = std::min(first_over, i);
  }
  result.relative = relative_to(result.max_abs, scale);
  result.over = result.relative > rtol;
  const size_t shown = std::min(first_over, a.size()) < a.size() ? first_over : first;
  result.differs = shown < a.size();
  if (!result.differs) return;
  result.place = place_of(shown, shape);
  result.value_a = static_cast<double>(a[shown]);
  result.value_b = static_cast<double>(b[shown]);
}

TensorDifference compare_tensors(const SafetensorsFile& a, const SafetensorsFile& b,
                                 const TensorEntry& of_a, double rtol) {
  const TensorEntry& of_b = *b.find(of_a.name);
  TensorDifference result{.name = of_a.name, .type_a = type_text(of_a), .type_b = type_text(of_b)};
  if (of_a.shape != of_b.shape) {
    result.same_shape = false;
    result.over = true;
    return result;
  }
  compare_values(comparable_values(a, of_a), comparable_values(b, of_b), rtol, result, of_a.shape);
  return result;
}

std::string names_text(std::string_view title, std::span<const std::string> names) {
  if (names.empty()) return "";
  return base::format("{} ({}): {}\n", title, names.size(), base::join(names, ", "));
}

std::string line_of(const TensorDifference& d) {
  const std::string_view verdict = d.over ? "OVER" : "ok";
  const std::string types =
      d.type_a == d.type_b ? d.type_a : base::format("{} and {}", d.type_a, d.type_b);
  if (!d.same_shape) return base::format("{:<4}  {}  {}: shapes differ\n", verdict, d.name, types);
  std::string line = base::format("{:<4}  {}  {}  max abs {:.3g}  relative {:.3g}", verdict, d.name,
                                  types, d.max_abs, d.relative);
  if (d.differs) {
    line += base::format("  first at {}: {} and {}", list(d.place), d.value_a, d.value_b);
  }
  return line + "\n";
}

}  // namespace

bool FileDifference::agrees() const {
  return !common.empty() && std::ranges::none_of(common, &TensorDifference::over);
}

FileDifference compare(const SafetensorsFile& a, const SafetensorsFile& b, double rtol) {
  FileDifference result;
  for (const TensorEntry& e : a.entries()) {
    if (b.find(e.name) != nullptr) {
      result.common.push_back(compare_tensors(a, b, e, rtol));
    } else {
      result.only_a.push_back(e.name);
    }
  }
  for (const TensorEntry& e : b.entries()) {
    if (a.find(e.name) == nullptr) result.only_b.push_back(e.name);
  }
  return result;
}

std::string to_text(const FileDifference& difference, double rtol) {
  std::vector<const TensorDifference*> order;
  for (const TensorDifference& d : difference.common) order.push_back(&d);
  std::ranges::stable_sort(order, [](const TensorDifference* x, const TensorDifference* y) {
    return std::pair(x->same_shape ? 0 : 1, x->relative) <
           std::pair(y->same_shape ? 0 : 1, y->relative);
  });
  std::string out;
  for (const TensorDifference* d : order) out += line_of(*d);
  out += names_text("only in A", difference.only_a) + names_text("only in B", difference.only_b);
  if (order.empty()) return out + "no name is in both files\n";
  const auto over = std::ranges::count_if(difference.common, &TensorDifference::over);
  return out + base::format("{} tensors compared, {} over rtol {}\n", order.size(), over, rtol);
}

}  // namespace host
