// Host tensors: a typed, strided view of reference-counted memory. Views (slice, broadcast,
// permute) share the buffer; nothing here computes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace host {

using base::DType;

// bf16 and f16 are stored as their bits; arithmetic happens in float.
struct BF16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};
float to_float(BF16 x);
float to_float(F16 x);
BF16 to_bf16(float x);  // round to nearest, ties to even
F16 to_f16(float x);

using Shape = std::vector<int64_t>;
int64_t element_count(std::span<const int64_t> shape);

// Counts the bytes of the buffers made with it. Not synchronised: one thread makes and drops them.
struct MemoryAccount {
  int64_t live = 0;
  int64_t peak = 0;
};

class Tensor {
 public:
  Tensor() = default;
  // Row-major, 64-byte aligned, contents undefined. Zero elements are fine and give a valid,
  // distinct handle. With an account, the buffer's bytes are counted in it until the last view
  // dies.
  static Tensor make(DType dtype, Shape shape, std::shared_ptr<MemoryAccount> account = {});
  static Tensor zeros(DType dtype, Shape shape);
  // Borrows memory that `owner` keeps alive (a mapped file).
  static Tensor borrow(DType dtype, Shape shape, void* data, std::shared_ptr<const void> owner);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }  // in elements
  int64_t dim(size_t d) const { return shape_[d]; }
  size_t rank() const { return shape_.size(); }
  int64_t count() const { return element_count(shape_); }
  int64_t bytes() const { return count() * byte_size(dtype_); }
  bool is_contiguous() const;
  bool defined() const { return owner_ != nullptr; }
  // True when no other Tensor shares the memory: an op may then write its result here.
  bool is_sole_owner() const { return owner_.use_count() == 1; }

  // Pointer to element 0 of this view. T must be the dtype's storage type (float, double, BF16,
  // F16, int64_t, int32_t, uint8_t, bool); CHECKed.
  template <class T>
  T* data() const;
  std::byte* raw() const { return data_; }

  // A view with the same memory; `offset` in elements from element 0 of this one.
  Tensor view(Shape shape, Shape strides, int64_t offset) const;
  Tensor contiguous() const;  // itself when it is, else a row-major copy
  Tensor clone() const;       // always a row-major copy

 private:
  DType dtype_ = DType::f32;
  Shape shape_, strides_;
  std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;  // shared: views of one buffer
};

// Lets the process keep the memory that tensors free, instead of giving it back and faulting it in
// again page by page for the next one. For the start of programs that run many steps.
void keep_freed_memory();

Shape row_major(std::span<const int64_t> shape);
// x itself when it has that dtype. Float to integer truncates and saturates, NaN gives 0; f64 to
// bf16 or f16 rounds through f32, as PyTorch does.
Tensor cast(const Tensor& x, DType dtype);
bool same_bits(const Tensor& a, const Tensor& b);  // dtype, shape and every bit

}  // namespace host
