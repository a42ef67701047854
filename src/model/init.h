// Start weights and the RoPE table, as host tensors: computed in double, then rounded once.
#pragma once

#include <string>

#include "base/worker_pool.h"
#include "config/model_args.h"
#include "host/tensor.h"

namespace model {

// How one parameter starts (reference 1.10). The bounds are absolute, not in units of std.
struct Distribution {
  enum class Kind : uint8_t { normal, truncated_normal, ones };
  Kind kind;
  double std = 1, low = 0, high = 0;
};
Distribution start_distribution(const std::string& parameter, const config::ModelArgs& args);

// Element i is a function of (seed, name, i) alone: Philox4x32-10 with the seed as key and (hash of
// the name, i) as counter, through the inverse of the distribution function. Row-major f32 or f64.
host::Tensor start_weight(const base::WorkerPool& pool, const std::string& parameter,
                          host::Shape shape, base::DType dtype, uint64_t seed,
                          const config::ModelArgs& args);

// cos and sin of position * frequency, [max_seq_len, qk_rope_head_dim / 2]; with YaRN's frequencies
// past original_seq_len. Su et al., arXiv 2104.09864; Peng et al., arXiv 2309.00071, section 3.2;
// reference 1.6.
struct RopeTable {
  host::Tensor cos, sin;
};
RopeTable rope_table(const config::ModelArgs& args, base::DType dtype);

// Inverse of the standard normal distribution function for 0 < p < 1, relative error below 1e-15:
// Wichura, algorithm AS 241 (PPND16), Applied Statistics 37 (1988).
double normal_quantile(double p);

}  // namespace model
