// Sums, dot products and maxima over neighbouring elements, in one order at every vector width:
// lane i % 16 takes its elements in order, then lanes join as i + 8, i + 4, i + 2, i + 1.
//
// Always inlined, so that the function around them decides the instruction set.
#pragma once

#include <cstdint>
#include <limits>

namespace ops {

template <class T>
struct Lanes {
  static constexpr int count = 16;
  typedef T Vector __attribute__((vector_size(count * sizeof(T)), aligned(sizeof(T)), may_alias));
};

template <class T>
[[gnu::always_inline]] inline T join_lanes(T* lane) {
  for (int half = Lanes<T>::count / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) lane[k] += lane[k + half];
  }
  return lane[0];
}

template <class T>
[[gnu::always_inline]] inline T lanes_sum(const T* x, int64_t n) {
  using Vector = typename Lanes<T>::Vector;
  constexpr int lanes = Lanes<T>::count;
  Vector sum = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) sum += *reinterpret_cast<const Vector*>(x + i);
  T lane[lanes];
  *reinterpret_cast<Vector*>(lane) = sum;
  for (int k = 0; i < n; ++i, ++k) lane[k] += x[i];
  return join_lanes(lane);
}

template <class T>
[[gnu::always_inline]] inline T lanes_dot(const T* x, const T* y, int64_t n) {
  using Vector = typename Lanes<T>::Vector;
  constexpr int lanes = Lanes<T>::count;
  Vector sum = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    sum += *reinterpret_cast<const Vector*>(x + i) * *reinterpret_cast<const Vector*>(y + i);
  }
  T lane[lanes];
  *reinterpret_cast<Vector*>(lane) = sum;
  for (int k = 0; i < n; ++i, ++k) lane[k] += x[i] * y[i];
  return join_lanes(lane);
}

// The greatest of the elements that are not NaN; -infinity when there is none.
template <class T>
[[gnu::always_inline]] inline T lanes_max(const T* x, int64_t n) {
  using Vector = typename Lanes<T>::Vector;
  constexpr int lanes = Lanes<T>::count;
  T lane[lanes];
  for (T& top : lane) top = -std::numeric_limits<T>::infinity();
  Vector tops = *reinterpret_cast<const Vector*>(lane);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Vector v = *reinterpret_cast<const Vector*>(x + i);
    tops = v > tops ? v : tops;
  }
  *reinterpret_cast<Vector*>(lane) = tops;
  for (int k = 0; i < n; ++i, ++k) lane[k] = x[i] > lane[k] ? x[i] : lane[k];
  T top = lane[0];
  for (const T other : lane) top = other > top ? other : top;
  return top;
}

}  // namespace ops
