// Start weights and the RoPE table.
#include "model/init.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/hash.h"
#include "base/philox.h"

namespace model {

using base::DType;
using config::ModelArgs;
using host::Tensor;

namespace {

double polynomial(const double (&c)[8], double x) {
  double y = c[7];
  for (int i = 6; i >= 0; --i) y = y * x + c[i];
  return y;
}

constexpr double center_top[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                  1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                  4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                  3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr double center_bottom[8] = {1.0,
                                     4.2313330701600911252e+1,
                                     6.8718700749205790830e+2,
                                     5.3941960214247511077e+3,
                                     2.1213794301586595867e+4,
                                     3.9307895800092710610e+4,
                                     2.8729085735721942674e+4,
                                     5.2264952788528545610e+3};
constexpr double middle_top[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                  5.76949722146069140550e0,  3.64784832476320460504e0,
                                  1.27045825245236838258e0,  2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr double middle_bottom[8] = {1.0,
                                     2.05319162663775882187e0,
                                     1.67638483018380384940e0,
                                     6.89767334985100004550e-1,
                                     1.48103976427480074590e-1,
                                     1.51986665636164571966e-2,
                                     5.47593808499534494600e-4,
                                     1.05075007164441684324e-9};
constexpr double tail_top[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                1.78482653991729133580e0,  2.96560571828504891230e-1,
                                2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr double tail_bottom[8] = {1.0,
                                   5.99832206555887937690e-1,
                                   1.36929880922735805310e-1,
                                   1.48753612908506148525e-2,
                                   7.86869131145613259100e-4,
                                   1.84631831751005468180e-5,
                                   1.42151175831644588870e-7,
                                   2.04426310338993978564e-15};

}  // namespace

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(center_top, r) / polynomial(center_bottom, r);
  }
  const double r = std::sqrt(-std::log(std::min(p, 1.0 - p)));
  const double x = r <= 5.0 ? polynomial(middle_top, r - 1.6) / polynomial(middle_bottom, r - 1.6)
                            : polynomial(tail_top, r - 5.0) / polynomial(tail_bottom, r - 5.0);
  return q < 0 ? -x : x;
}

Distribution start_distribution(const std::string& parameter, const ModelArgs& args) {
  using Kind = Distribution::Kind;
  const auto ends = [&](std::string_view tail) { return parameter.ends_with(tail); };
  if (ends("norm.weight")) return {Kind::ones};
  if (parameter == "tok_embeddings.weight") return {Kind::normal, 1.0};
  if (parameter == "output.weight") {
    const double std = 1.0 / std::sqrt(static_cast<double>(args.dim));
    return {Kind::truncated_normal, std, -3 * std, 3 * std};
  }
  // Deeper layers write smaller into the residual stream: 0.02 / sqrt(2 (layer + 1)).
  CHECK(parameter.starts_with("layers."));
  const double layer = std::stod(parameter.substr(7, parameter.find('.', 7) - 7));
  const bool writes = ends(".wo.weight") || ends("w2.weight") || ends("w3.weight") ||
                      ends("experts.w2") || ends("experts.w3") || ends("gate.weight");
  const double std = writes ? 0.02 / std::sqrt(2.0 * (layer + 1.0)) : 0.02;
  return {Kind::truncated_normal, std, -2.0, 2.0};
}

namespace {

template <class T>
void fill(T* out, int64_t begin, int64_t end, const Distribution& d, uint64_t seed,
          uint64_t stream) {
  const auto below = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
  const bool cut = d.kind == Distribution::Kind::truncated_normal;
  const double low = cut ? below(d.low / d.std) : 0.0;
  const double span = cut ? below(d.high / d.std) - low : 1.0;
  for (int64_t i = begin; i < end; ++i) {
    const auto words = base::philox_at(seed, stream, static_cast<uint64_t>(i));
    // The middle of one of 2^53 equal cells: never 0 or 1, where the quantile is infinite.
    const double u = base::uniform_f64(words[0], words[1]) + 0x1p-54;
    double x = normal_quantile(std::clamp(low + span * u, 0x1p-54, 1.0 - 0x1p-53)) * d.std;
    if (cut) x = std::clamp(x, d.low, d.high);
    out[i] = static_cast<T>(x);
  }
}

}  // namespace

Tensor start_weight(const base::WorkerPool& pool, const std::string& parameter, host::Shape shape,
                    DType dtype, uint64_t seed, const ModelArgs& args) {
  CHECK(dtype == DType::f32 || dtype == DType::f64);
  const Distribution d = start_distribution(parameter, args);
  Tensor out = Tensor::make(dtype, std::move(shape));
  const uint64_t stream = base::fnv1a64(parameter);
  pool.parallel_for(out.count(), 16384, [&](int64_t begin, int64_t end) {
    if (d.kind == Distribution::Kind::ones) {
      if (dtype == DType::f32) std::fill(out.data<float>() + begin, out.data<float>() + end, 1.0f);
      if (dtype == DType::f64) std::fill(out.data<double>() + begin, out.data<double>() + end, 1.0);
    } else if (dtype == DType::f32) {
      fill(out.data<float>(), begin, end, d, seed, stream);
    } else {
      fill(out.data<double>(), begin, end, d, seed, stream);
    }
  });
  return out;
}

namespace {

// Frequencies of the rope pairs. Past original_seq_len YaRN keeps fast pairs, divides slow ones by
// rope_factor, and blends between.
std::vector<double> rope_frequencies(const ModelArgs& args) {
  const double width = static_cast<double>(args.qk_rope_head_dim);
  std::vector<double> f;
  for (int64_t i = 0; i < args.qk_rope_head_dim / 2; ++i) {
    f.push_back(std::pow(args.rope_theta, -2.0 * static_cast<double>(i) / width));
  }
  if (args.max_seq_len <= args.original_seq_len) return f;
  const double original = static_cast<double>(args.original_seq_len);
  const auto correction = [&](int64_t rotations) {
    return width * std::log(original / (2 * std::numbers::pi * static_cast<double>(rotations))) /
           (2 * std::log(args.rope_theta));
  };
  const double low = std::max(std::floor(correction(args.beta_fast)), 0.0);
  double high = std::min(std::ceil(correction(args.beta_slow)), width - 1);
  if (low == high) high += 0.001;
  for (size_t i = 0; i < f.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    f[i] = f[i] / args.rope_factor * ramp + f[i] * (1.0 - ramp);
  }
  return f;
}

}  // namespace

RopeTable rope_table(const ModelArgs& args, DType dtype) {
  const std::vector<double> f = rope_frequencies(args);
  const int64_t pairs = static_cast<int64_t>(f.size());
  const host::Shape shape = {args.max_seq_len, pairs};
  Tensor cos = Tensor::make(DType::f64, shape), sin = Tensor::make(DType::f64, shape);
  for (int64_t t = 0; t < args.max_seq_len; ++t) {
    for (int64_t i = 0; i < pairs; ++i) {
      const double angle = static_cast<double>(t) * f[static_cast<size_t>(i)];
      cos.data<double>()[t * pairs + i] = std::cos(angle);
      sin.data<double>()[t * pairs + i] = std::sin(angle);
    }
  }
  return {host::cast(cos, dtype), host::cast(sin, dtype)};
}

}  // namespace model
