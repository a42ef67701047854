// Compares two safetensors files tensor by tensor, for `heddle convert diff A B --rtol R`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/safetensors.h"

namespace host {

// Of one tensor that both files have. Errors are relative to the largest finite |value| of the
// reference B. Equal bits, two NaNs and equal infinities do not differ; one NaN or one infinity
// differs infinitely.
struct TensorDifference {
  std::string name;
  std::string type_a, type_b;  // "F32 [2, 3]"
  bool same_shape = true;      // when false, nothing below is set
  double max_abs = 0;
  double relative = 0;
  bool over = false;  // relative > rtol, or another shape

  // The first place, row-major, that is over the tolerance; without one, the first that differs.
  bool differs = false;
  Shape place;
  double value_a = 0, value_b = 0;
};

struct FileDifference {
  std::vector<TensorDifference> common;     // by name
  std::vector<std::string> only_a, only_b;  // by name
  bool agrees() const;                      // there is a common name, and none is over
};

// `router.I.ids`: rows (of the last dim) are compared as sorted sets; `router.I.top_scores`: each
// row is first put in the order of its file's own `router.I.ids`, where those are of its shape.
FileDifference compare(const SafetensorsFile& a, const SafetensorsFile& b, double rtol);

// A line a tensor, worst last, then the names that only one file has, then the verdict.
std::string to_text(const FileDifference& difference, double rtol);

}  // namespace host
