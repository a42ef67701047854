// Sums, dot products and maxima over neighbouring elements, in one order at every vector width:
// lane i % 16 takes its elements in order, then lanes join as i + 8, i + 4, i + 2, i + 1
// (architecture decision 11).
//
// Always inlined, so that the function around them decides the instruction set. `vector_bytes` is
// 32, or 64 in a function for AVX-512; the bits are the same. Comparisons stay at 32: gcc 12 lowers
// them to single lanes where they are declared, for the baseline processor.
#pragma once

#include <cstdint>
#include <limits>

namespace ops {

template <class T, int count>
struct VectorOf {
  typedef T Type __attribute__((vector_size(count * sizeof(T))));
  // As it stands in memory, at any element.
  typedef T Loose __attribute__((vector_size(count * sizeof(T)), aligned(sizeof(T)), may_alias));
};

// `count` lanes in vectors of `width`. A joint is a type with `join(a, b)`, a := a joined with b,
// for lanes and vectors, and `empty<T>`, which joins without effect. Vectors pass by reference: by
// value, the calling convention would depend on the target.
template <class Joint, class T, int count, int width>
struct Lanes {
  Lanes<Joint, T, count / 2, width> low, high;

  [[gnu::always_inline]] void load(const T* x) {
    low.load(x);
    high.load(x + count / 2);
  }
  [[gnu::always_inline]] void add(const T* x) {
    low.add(x);
    high.add(x + count / 2);
  }
  [[gnu::always_inline]] void add_product(const T* x, const T* y) {
    low.add_product(x, y);
    high.add_product(x + count / 2, y + count / 2);
  }
  [[gnu::always_inline]] void join(const Lanes& other) {
    low.join(other.low);
    high.join(other.high);
  }
  [[gnu::always_inline]] T tree() {
    low.join(high);
    return low.tree();
  }
};

template <class Joint, class T, int width>
struct Lanes<Joint, T, width, width> {
  using Vector = typename VectorOf<T, width>::Type;
  using Loose = typename VectorOf<T, width>::Loose;
  Vector v;

  // A copy: a reference would claim the alignment of a whole vector.
  [[gnu::always_inline]] static void read(Vector& to, const T* x) {
    to = *reinterpret_cast<const Loose*>(x);
  }
  [[gnu::always_inline]] void load(const T* x) { read(v, x); }
  [[gnu::always_inline]] void add(const T* x) {
    Vector a;
    read(a, x);
    Joint::join(v, a);
  }
  [[gnu::always_inline]] void add_product(const T* x, const T* y) {
    Vector a, b;
    read(a, x);
    read(b, y);
    a = a * b;
    Joint::join(v, a);
  }
  [[gnu::always_inline]] void join(const Lanes& other) { Joint::join(v, other.v); }
  [[gnu::always_inline]] T tree() {
    if constexpr (width == 2) {
      T a = v[0];
      const T b = v[1];
      Joint::join(a, b);
      return a;
    } else {
      Lanes<Joint, T, width / 2, width / 2> low, high;
      if constexpr (width == 16) {
        low.v = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
        high.v = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
      } else if constexpr (width == 8) {
        low.v = __builtin_shufflevector(v, v, 0, 1, 2, 3);
        high.v = __builtin_shufflevector(v, v, 4, 5, 6, 7);
      } else {
        low.v = __builtin_shufflevector(v, v, 0, 1);
        high.v = __builtin_shufflevector(v, v, 2, 3);
      }
      low.join(high);
      return low.tree();
    }
  }
};

// Sixteen lanes that join without effect.
template <class Joint, class T>
struct EmptyLanes {
  T lane[16];
  constexpr EmptyLanes() : lane() {
    for (T& x : lane) x = Joint::template empty<T>;
  }
};
template <class Joint, class T>
inline constexpr EmptyLanes<Joint, T> empty_lanes;

template <class Joint, int vector_bytes, class T>
[[gnu::always_inline]] inline T join_row(const T* x, int64_t n) {
  Lanes<Joint, T, 16, vector_bytes / sizeof(T)> lanes;
  lanes.load(empty_lanes<Joint, T>.lane);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) lanes.add(x + i);
  if (i < n) {
    T rest[16];
    for (int k = 0; k < 16; ++k) rest[k] = i + k < n ? x[i + k] : Joint::template empty<T>;
    lanes.add(rest);
  }
  return lanes.tree();
}

struct Plus {
  template <class T>
  static constexpr T empty = 0;
  [[gnu::always_inline]] static void join(auto& a, const auto& b) { a = a + b; }
};

// The greater one, NaN if either is.
struct Greater {
  template <class T>
  static constexpr T empty =
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                           : std::numeric_limits<T>::lowest();
  [[gnu::always_inline]] static void join(auto& a, const auto& b) {
    a = (a > b) | (a != a) ? a : b;
  }
};

// The greater one; a NaN gives way.
struct GreaterNumber {
  template <class T>
  static constexpr T empty = -std::numeric_limits<T>::infinity();
  [[gnu::always_inline]] static void join(auto& a, const auto& b) { a = b > a ? b : a; }
};

template <int vector_bytes = 32, class T>
[[gnu::always_inline]] inline T lanes_sum(const T* x, int64_t n) {
  return join_row<Plus, vector_bytes>(x, n);
}

template <int vector_bytes = 32, class T>
[[gnu::always_inline]] inline T lanes_dot(const T* x, const T* y, int64_t n) {
  Lanes<Plus, T, 16, vector_bytes / sizeof(T)> lanes;
  lanes.load(empty_lanes<Plus, T>.lane);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) lanes.add_product(x + i, y + i);
  if (i < n) {
    T rest_x[16], rest_y[16];
    for (int k = 0; k < 16; ++k) rest_x[k] = i + k < n ? x[i + k] : 0;
    for (int k = 0; k < 16; ++k) rest_y[k] = i + k < n ? y[i + k] : 0;
    lanes.add_product(rest_x, rest_y);
  }
  return lanes.tree();
}

// The greatest of the elements that are not NaN; -infinity when there is none.
template <class T>
[[gnu::always_inline]] inline T lanes_max(const T* x, int64_t n) {
  return join_row<GreaterNumber, 32>(x, n);
}

}  // namespace ops
