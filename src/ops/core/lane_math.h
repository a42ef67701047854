// exp, log, sin, cos of one lane: branch-free, so that loops over them vectorise, with the same
// bits at every vector width.
//
// Method: Cody and Waite, Software Manual for the Elementary Functions (1980): subtract a multiple
// of the period, whose constant is split in parts, then a polynomial on the reduced range. The
// polynomials are our own minimax fits (Remez exchange in 60 digits, rounded to the type; each
// fit's error stands beside it). An fma is where it is written, nothing else is contracted.
//
// Error bounds in units of the last place, tested against long double by elementwise_test.cpp:
// exp, log: 1.1 everywhere, subnormal results and operands included; 0, infinity and NaN exact.
// sin, cos: 2 for |x| <= 2^20 (float) or 2^30 (double); beyond, NaN, since the reduction would
// lose the digits that matter.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ops {
namespace lanes {

template <class T>
using Bits = std::conditional_t<std::is_same_v<T, float>, uint32_t, uint64_t>;

template <class T>
inline constexpr int mantissa_bits = std::is_same_v<T, float> ? 23 : 52;
template <class T>
inline constexpr int exponent_bias = std::is_same_v<T, float> ? 127 : 1023;

// 1.5 * 2^mantissa_bits: x + round_magic rounds x to a whole number (ties to even), which then
// stands in the low bits of the sum, for |x| < 2^(mantissa_bits - 1).
template <class T>
inline constexpr T round_magic = std::is_same_v<T, float> ? T(0x1.8p23) : T(0x1.8p52);

template <class T>
[[gnu::always_inline]] inline T horner(T, T c) {
  return c;
}
template <class T, class... Rest>
[[gnu::always_inline]] inline T horner(T x, T c, Rest... rest) {
  return std::fma(x, horner(x, rest...), c);
}

// 2^k for the whole number k in the low bits of `shifted` = k + round_magic.
template <class T>
[[gnu::always_inline]] inline T power_of_two(T shifted) {
  return std::bit_cast<T>((std::bit_cast<Bits<T>>(shifted) + exponent_bias<T>) << mantissa_bits<T>);
}

// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
[[gnu::always_inline]] inline float exp_tail(float r) {  // relative error of e^r: 2^-28.3
  return horner(r, 0x1.fffffcp-2f, 0x1.555490p-3f, 0x1.5558f4p-5f, 0x1.123a38p-7f, 0x1.6a23aap-10f);
}
[[gnu::always_inline]] inline double exp_tail(double r) {  // 2^-64.0
  return horner(r, 0x1p-1, 0x1.555555555555bp-3, 0x1.5555555555502p-5, 0x1.111111110ec33p-7,
                0x1.6c16c16c3066dp-10, 0x1.a01a01b38ed06p-13, 0x1.a01a013630e16p-16,
                0x1.71ddeff6827dfp-19, 0x1.27e5b4b886481p-22, 0x1.af6c32f4b6949p-26,
                0x1.1e3ced83f0c3ep-29);
}

template <class T>
struct ExpRange {  // beyond: 0 and infinity, with a margin that keeps 2^(k/2) a normal number
  static constexpr T low = std::is_same_v<T, float> ? T(-104) : T(-746);
  static constexpr T high = std::is_same_v<T, float> ? T(89) : T(710);
};

// ln(2) in two parts; the first times any exponent is exact.
template <class T>
struct Ln2 {
  static constexpr T head = std::is_same_v<T, float> ? T(0x1.62e4p-1) : T(0x1.62e42fefa4p-1);
  static constexpr T tail =
      std::is_same_v<T, float> ? T(0x1.7f7d1cp-20) : T(-0x1.8432a1b0e2634p-43);
};

// (log(1 + f) - 2 s) / (s z) where s = f / (2 + f), z = s^2: the series of 2 atanh(s).
[[gnu::always_inline]] inline float log_tail(float z) {  // relative error of the log: 2^-37.6
  return horner(z, 0x1.555554p-1f, 0x1.999a7ap-2f, 0x1.2438d2p-2f, 0x1.e2f724p-3f);
}
[[gnu::always_inline]] inline double log_tail(double z) {  // 2^-59.5
  return horner(z, 0x1.5555555555592p-1, 0x1.999999997fd7cp-2, 0x1.24924941f4c63p-2,
                0x1.c71c52062c40cp-3, 0x1.74663f9b2f7b2p-3, 0x1.39a1a7aa6d5c4p-3,
                0x1.2f062d3f955d2p-3);
}

// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4 in z = r^2 for |r| <= pi / 4.
[[gnu::always_inline]] inline float sin_tail(float z) {  // 2^-37.5
  return horner(z, -0x1.555556p-3f, 0x1.111108p-7f, -0x1.a00f7cp-13f, 0x1.6cd14ap-19f);
}
[[gnu::always_inline]] inline double sin_tail(double z) {  // 2^-57.9
  return horner(z, -0x1.5555555555548p-3, 0x1.111111110f7c0p-7, -0x1.a01a019bfbcc8p-13,
                0x1.71de3565e791ap-19, -0x1.ae5e590383522p-26, 0x1.5d8f5abd674cep-33);
}
[[gnu::always_inline]] inline float cos_tail(float z) {  // 2^-42.9
  return horner(z, 0x1.555556p-5f, -0x1.6c16b8p-10f, 0x1.a010dcp-16f, -0x1.241e1cp-22f);
}
[[gnu::always_inline]] inline double cos_tail(double z) {  // 2^-64.0
  return horner(z, 0x1.555555555554bp-5, -0x1.6c16c16c14f7ep-10, 0x1.a01a019c82658p-16,
                -0x1.27e4f7e959c1ap-22, 0x1.1ee9d6b828a07p-29, -0x1.8fa414286c779p-37);
}

// pi/2 in three parts of full length: n * first is exact inside an fma, and so is the difference.
template <class T>
struct HalfPi {
  static constexpr bool single = std::is_same_v<T, float>;
  static constexpr T first = single ? T(0x1.921fb6p+0) : T(0x1.921fb54442d18p+0);
  static constexpr T second = single ? T(-0x1.777a5cp-25) : T(0x1.1a62633145c07p-54);
  static constexpr T third = single ? T(-0x1.ee59dap-50) : T(-0x1.f1976b7ed8fbcp-110);
  static constexpr T inverse = single ? T(0x1.45f306p-1) : T(0x1.45f306dc9c883p-1);
  static constexpr T limit = single ? T(0x1p20) : T(0x1p30);
};

// sin(x + quarter_turns * pi/2).
template <class T>
[[gnu::always_inline]] inline T sine(T x, Bits<T> quarter_turns) {
  using Half = HalfPi<T>;
  const T shifted = std::fma(x, Half::inverse, round_magic<T>);
  const T n = shifted - round_magic<T>;
  const T r = std::fma(-n, Half::third, std::fma(-n, Half::second, std::fma(-n, Half::first, x)));
  const T z = r * r;
  const T sin_r = std::fma(r * z, sin_tail(z), r);
  const T cos_r = std::fma(z * z, cos_tail(z), std::fma(T(-0.5), z, T(1)));
  const Bits<T> quadrant = std::bit_cast<Bits<T>>(shifted) + quarter_turns;
  const Bits<T> sign = (quadrant & 2) << (8 * sizeof(T) - 2);
  const T y = (quadrant & 1) ? cos_r : sin_r;
  const T signed_y = std::bit_cast<T>(std::bit_cast<Bits<T>>(y) ^ sign);
  return std::fabs(x) <= Half::limit ? signed_y : std::numeric_limits<T>::quiet_NaN();
}

}  // namespace lanes

template <class T>
[[gnu::always_inline]] inline T exp_lane(T x) {
  using namespace lanes;
  constexpr T log2_e = T(0x1.71547652b82fep+0L);
  // NaN fails both comparisons and passes through.
  T c = x < ExpRange<T>::low ? ExpRange<T>::low : x;
  c = c > ExpRange<T>::high ? ExpRange<T>::high : c;
  const T k = std::fma(c, log2_e, round_magic<T>) - round_magic<T>;
  const T r = std::fma(-k, Ln2<T>::tail, std::fma(-k, Ln2<T>::head, c));
  const T y = T(1) + std::fma(r * r, exp_tail(r), r);
  // 2^k in two factors: k reaches one past the exponent range at both ends, and a subnormal
  // result is rounded once, by the last product.
  const T half = std::fma(k, T(0.5), round_magic<T>);
  const T other = (k - (half - round_magic<T>)) + round_magic<T>;
  return y * power_of_two(half) * power_of_two(other);
}

// log(x) = k ln(2) + log(1 + f), with 1 + f in [sqrt(1/2), sqrt(2)).
template <class T>
[[gnu::always_inline]] inline T log_lane(T x) {
  using namespace lanes;
  constexpr bool single = std::is_same_v<T, float>;
  constexpr Bits<T> one = std::bit_cast<Bits<T>>(T(1));
  constexpr Bits<T> sqrt_half = std::bit_cast<Bits<T>>(T(0x1.6a09e667f3bcdp-1L));
  constexpr Bits<T> mantissa = (Bits<T>(1) << mantissa_bits<T>)-1;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const bool tiny = x < std::numeric_limits<T>::min();
  const T scaled = tiny ? x * (single ? T(0x1p24) : T(0x1p54)) : x;
  const Bits<T> bits = std::bit_cast<Bits<T>>(scaled) + (one - sqrt_half);
  const T f = std::bit_cast<T>((bits & mantissa) + sqrt_half) - T(1);
  // The biased exponent as a float, by way of the low bits of 2^mantissa_bits.
  constexpr T magic = single ? T(0x1p23) : T(0x1p52);
  const T biased =
      std::bit_cast<T>((bits >> mantissa_bits<T>) | std::bit_cast<Bits<T>>(magic)) - magic;
  const T k = biased - (T(exponent_bias<T>) + (tiny ? (single ? T(24) : T(54)) : T(0)));
  const T s = f / (T(2) + f);
  const T z = s * s;
  const T half_square = T(0.5) * f * f;
  // 2 s = f - s f, and s f = half_square - s half_square: f, the largest term, is added last.
  const T small = std::fma(s, std::fma(z, log_tail(z), half_square), k * Ln2<T>::tail);
  T y = std::fma(k, Ln2<T>::head, f - (half_square - small));
  y = x < infinity ? y : x;  // infinity and NaN
  y = x == T(0) ? -infinity : y;
  return x < T(0) ? std::numeric_limits<T>::quiet_NaN() : y;
}

template <class T>
[[gnu::always_inline]] inline T sin_lane(T x) {
  return lanes::sine(x, lanes::Bits<T>(0));
}
template <class T>
[[gnu::always_inline]] inline T cos_lane(T x) {
  return lanes::sine(x, lanes::Bits<T>(1));
}

}  // namespace ops
