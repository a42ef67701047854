// Runs kernels over strided operands: merges dims, walks strips, divides work over threads.
#include "ops/core/elementwise.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "ops/core/layout.h"

namespace ops {

using graph::DType;
using graph::Type;

namespace {

constexpr size_t max_rank = 16;
constexpr size_t max_arrays = 4;  // the result and up to three operands
// Elements a block: a multiple of every vector length. Waking a worker that sleeps costs about the
// time of so many additions; below that, one thread does it all.
constexpr int64_t block_elements = 4096;
constexpr int64_t parallel_elements = 8 * block_elements;
// Elements packed at once: what fits the first-level cache for three operands of 8 bytes.
constexpr int64_t packed_elements = 512;

// Loops over some arrays at once, outermost first; strides in bytes.
struct Nest {
  size_t rank = 0;
  size_t arrays = 0;
  std::array<int64_t, max_rank> size;
  std::array<std::array<int64_t, max_rank>, max_arrays> stride;
  std::array<std::byte*, max_arrays> base;
  std::array<int64_t, max_arrays> width;  // bytes of an element

  int64_t count() const {
    int64_t n = 1;
    for (size_t d = 0; d < rank; ++d) n *= size[d];
    return n;
  }
};

void add_array(Nest& nest, const Tensor& t) {
  const size_t a = nest.arrays++;
  nest.base[a] = t.raw();
  nest.width[a] = base::byte_size(t.dtype());
  for (size_t d = 0; d < t.rank(); ++d) nest.stride[a][d] = t.strides()[d] * nest.width[a];
}

// The nest of tensors of one shape, with dims of size 1 dropped and dims merged where every array
// allows. There is always an innermost dim.
Nest make_nest(const Tensor& out, TensorsIn in) {
  if (out.rank() > max_rank) {
    base::fail_user(base::Exit::config, "a tensor has {} dims; at most {} are supported",
                    out.rank(), max_rank);
  }
  Nest full;
  full.rank = out.rank();
  std::copy(out.shape().begin(), out.shape().end(), full.size.begin());
  add_array(full, out);
  for (const Tensor& t : in) {
    CHECK(t.shape() == out.shape());
    add_array(full, t);
  }
  Nest nest = full;
  nest.rank = 0;
  for (size_t d = 0; d < full.rank; ++d) {
    if (full.size[d] == 1) continue;
    bool merges = nest.rank > 0;
    for (size_t a = 0; a < full.arrays && merges; ++a) {
      merges = nest.stride[a][nest.rank - 1] == full.stride[a][d] * full.size[d];
    }
    const size_t to = merges ? nest.rank - 1 : nest.rank++;
    nest.size[to] = merges ? nest.size[to] * full.size[d] : full.size[d];
    for (size_t a = 0; a < full.arrays; ++a) nest.stride[a][to] = full.stride[a][d];
  }
  if (nest.rank == 0) {
    nest.rank = 1;
    nest.size[0] = 1;
    for (size_t a = 0; a < nest.arrays; ++a) nest.stride[a][0] = nest.width[a];
  }
  return nest;
}

// `rows` rows of `count` elements of every array, from `at` on.
struct Block {
  int64_t rows, count;
  std::array<std::byte*, max_arrays> at;
};

// Cuts elements [begin, end) of the nest, in its order, into blocks of its two innermost dims.
template <class Visit>
void for_each_block(const Nest& nest, int64_t begin, int64_t end, const Visit& visit) {
  const size_t inner = nest.rank - 1;
  const int64_t row_count = nest.size[inner];
  const int64_t rows = nest.rank > 1 ? nest.size[inner - 1] : 1;
  for (int64_t at = begin; at < end;) {
    const int64_t i = at % row_count;
    const int64_t row = at / row_count % rows;
    Block block;
    const bool part_of_row = i != 0 || end - at < row_count;
    block.rows = part_of_row ? 1 : std::min(rows - row, (end - at) / row_count);
    block.count = part_of_row ? std::min(row_count - i, end - at) : row_count;
    int64_t outer = at / row_count;
    for (size_t a = 0; a < nest.arrays; ++a) {
      block.at[a] = nest.base[a] + i * nest.stride[a][inner];
    }
    for (size_t d = inner; d-- > 0;) {
      const int64_t index = outer % nest.size[d];
      outer /= nest.size[d];
      for (size_t a = 0; a < nest.arrays; ++a) block.at[a] += index * nest.stride[a][d];
    }
    visit(block);
    at += block.rows * block.count;
  }
}

template <class Body>
void divide(const EvalContext& context, int64_t count, int weight, const Body& body) {
  if (count * weight < parallel_elements || context.pool.threads() == 1) return body(0, count);
  context.pool.parallel_for(count, block_elements,
                            [&body](int64_t begin, int64_t end) { body(begin, end); });
}

template <class T>
void copy_row(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
              int64_t count) {
  if (from_stride == 0 && to_stride == sizeof(T)) {
    std::fill_n(reinterpret_cast<T*>(to), count, *reinterpret_cast<const T*>(from));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * from_stride, sizeof(T));
    std::memcpy(to + i * to_stride, &value, sizeof(T));
  }
}

// Strides in bytes; elements of `width` bytes.
void copy_elements(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
                   int64_t count, int64_t width) {
  if (to_stride == width && from_stride == width) {
    std::memcpy(to, from, count * width);
  } else if (width == 4) {
    copy_row<uint32_t>(to, to_stride, from, from_stride, count);
  } else if (width == 8) {
    copy_row<uint64_t>(to, to_stride, from, from_stride, count);
  } else if (width == 2) {
    copy_row<uint16_t>(to, to_stride, from, from_stride, count);
  } else {
    CHECK(width == 1);
    copy_row<uint8_t>(to, to_stride, from, from_stride, count);
  }
}

// How an operand reaches the functor.
enum class Access : uint8_t { direct, scalar, packed };

struct StripPlan {
  Nest nest;
  std::array<Access, max_arrays> access;
  bool packs = false;
};

StripPlan make_plan(const Tensor& out, TensorsIn in) {
  StripPlan plan{.nest = make_nest(out, in), .access = {}};
  const Nest& nest = plan.nest;
  bool has_vector = false;
  for (size_t a = 1; a < nest.arrays; ++a) {
    const int64_t stride = nest.stride[a][nest.rank - 1];
    const bool scalar = stride == 0 && nest.arrays == 3;
    plan.access[a] = stride == nest.width[a] ? Access::direct
                     : scalar                ? Access::scalar
                                             : Access::packed;
    has_vector |= !scalar;
  }
  if (!has_vector) plan.access[1] = Access::packed;
  for (size_t a = 1; a < nest.arrays; ++a) plan.packs |= plan.access[a] == Access::packed;
  return plan;
}

int64_t row_stride(const Nest& nest, size_t array) {
  return nest.rank > 1 ? nest.stride[array][nest.rank - 2] : 0;
}

void run_direct(const StripPlan& plan, const Block& block, void (*kernel)(const Strip&)) {
  Strip strip{.rows = block.rows,
              .count = block.count,
              .out = block.at[0],
              .out_row = row_stride(plan.nest, 0),
              .in = {},
              .in_row = {},
              .scalar = {}};
  for (size_t a = 1; a < plan.nest.arrays; ++a) {
    strip.in[a - 1] = block.at[a];
    strip.in_row[a - 1] = row_stride(plan.nest, a);
    strip.scalar[a - 1] = plan.access[a] == Access::scalar;
  }
  kernel(strip);
}

// As run_direct, with operands whose elements are not adjacent copied to a small buffer first.
void run_packed(const StripPlan& plan, const Block& block, void (*kernel)(const Strip&)) {
  alignas(64) std::byte buffer[max_arrays - 1][packed_elements * 8];
  const Nest& nest = plan.nest;
  const size_t inner = nest.rank - 1;
  const int64_t count_step = std::min(block.count, packed_elements);
  const int64_t row_step = std::max<int64_t>(1, packed_elements / std::max<int64_t>(1, count_step));
  for (int64_t row = 0; row < block.rows; row += row_step) {
    for (int64_t i = 0; i < block.count; i += count_step) {
      Block part{std::min(row_step, block.rows - row), std::min(count_step, block.count - i), {}};
      Strip strip{.rows = part.rows,
                  .count = part.count,
                  .out = block.at[0] + row * row_stride(nest, 0) + i * nest.width[0],
                  .out_row = row_stride(nest, 0),
                  .in = {},
                  .in_row = {},
                  .scalar = {}};
      for (size_t a = 1; a < nest.arrays; ++a) {
        const std::byte* from = block.at[a] + row * row_stride(nest, a) + i * nest.stride[a][inner];
        strip.in[a - 1] = from;
        strip.in_row[a - 1] = row_stride(nest, a);
        strip.scalar[a - 1] = plan.access[a] == Access::scalar;
        if (plan.access[a] != Access::packed) continue;
        const int64_t width = nest.width[a];
        for (int64_t r = 0; r < part.rows; ++r) {
          copy_elements(buffer[a - 1] + r * part.count * width, width,
                        from + r * row_stride(nest, a), nest.stride[a][inner], part.count, width);
        }
        strip.in[a - 1] = buffer[a - 1];
        strip.in_row[a - 1] = part.count * width;
      }
      kernel(strip);
    }
  }
}

// One sweep over the result's bytes, which are rows of one piece of each part.
void join_adjacent(const EvalContext& context, TensorsIn parts, size_t d, const Tensor& out) {
  constexpr int64_t grain = parallel_elements * 4;
  std::vector<const std::byte*> from;
  std::vector<int64_t> ends, widths;
  int64_t row = 0;
  for (const Tensor& part : parts) {
    if (part.count() == 0) continue;
    const host::Shape& shape = part.shape();
    from.push_back(part.raw());
    widths.push_back(host::element_count({shape.data() + d, shape.size() - d}) *
                     base::byte_size(part.dtype()));
    ends.push_back(row += widths.back());
  }
  if (row == 0) return;
  context.pool.parallel_for(out.bytes(), grain, [&](int64_t begin, int64_t end) {
    int64_t r = begin / row, in_row = begin % row;
    size_t p = std::ranges::upper_bound(ends, in_row) - ends.begin();
    for (int64_t at = begin; at < end;) {
      const int64_t within = in_row - (ends[p] - widths[p]);
      const int64_t n = std::min(widths[p] - within, end - at);
      std::memcpy(out.raw() + at, from[p] + r * widths[p] + within, n);
      at += n;
      in_row += n;
      if (in_row == ends[p] && ++p == ends.size()) p = 0, in_row = 0, ++r;
    }
  });
}

// Memory for result 0: that of the first operand that may be overwritten, else new.
Tensor result_memory(const EvalContext& context, TensorsIn in) {
  for (const Tensor& t : in) {
    if (t.is_sole_owner() && t.is_contiguous() && t.dtype() == context.dtypes[0] &&
        t.shape() == context.shapes[0]) {
      return context.reuse_or_make(0, t);
    }
  }
  return context.make(0);
}

}  // namespace

void run_strips(const EvalContext& context, const StripKernel& kernel, TensorsIn in, Tensor& out) {
  CHECK(in.size() < max_arrays);
  out = result_memory(context, in);
  const int64_t count = out.count();
  if (count == 0) return;
  const StripPlan plan = make_plan(out, in);
  const auto run = context.width == base::VectorWidth::avx512 ? kernel.avx512 : kernel.avx2;
  divide(context, count, kernel.weight, [&plan, run](int64_t begin, int64_t end) {
    for_each_block(plan.nest, begin, end, [&](const Block& block) {
      plan.packs ? run_packed(plan, block, run) : run_direct(plan, block, run);
    });
  });
}

void run_by_dtype(const EvalContext& context, const DTypeKernels& kernels, TensorsIn in,
                  Tensor& out) {
  const DType dtype = in.back().dtype();
  const StripKernel* kernel = dtype == DType::f32   ? &kernels.f32
                              : dtype == DType::f64 ? &kernels.f64
                              : dtype == DType::i64 ? &kernels.i64
                              : dtype == DType::i32 ? &kernels.i32
                                                    : nullptr;
  if (!kernel || !kernel->avx2) base::fail_internal("no elementwise kernel for {}", dtype);
  run_strips(context, *kernel, in, out);
}

void copy_elements(const EvalContext& context, const Tensor& from, const Tensor& to) {
  CHECK(from.dtype() == to.dtype());
  if (to.count() == 0) return;
  Tensor source = from;
  const Nest nest = make_nest(to, {&source, 1});
  const size_t inner = nest.rank - 1;
  divide(context, to.count(), 1, [&](int64_t begin, int64_t end) {
    for_each_block(nest, begin, end, [&](const Block& block) {
      for (int64_t row = 0; row < block.rows; ++row) {
        copy_elements(block.at[0] + row * row_stride(nest, 0), nest.stride[0][inner],
                      block.at[1] + row * row_stride(nest, 1), nest.stride[1][inner], block.count,
                      nest.width[0]);
      }
    });
  });
}

void join(const EvalContext& context, TensorsIn parts, size_t d, const Tensor& out) {
  const bool adjacent = std::ranges::all_of(
      parts, [](const Tensor& t) { return t.count() == 0 || t.is_contiguous(); });
  if (adjacent) return join_adjacent(context, parts, d, out);
  int64_t start = 0;
  for (const Tensor& part : parts) {
    copy_elements(context, part, strided_view(out, d, start, part.dim(d), 1));
    start += part.dim(d);
  }
}

Tensor packed(const EvalContext& context, const Tensor& x) {
  if (x.is_contiguous()) return x;
  Tensor copy = Tensor::make(x.dtype(), x.shape(), context.account);
  copy_elements(context, x, copy);
  return copy;
}

void need_number(const Shapes& s, const Type& type, std::string_view operand) {
  switch (type.dtype) {
    case DType::f32:
    case DType::f64:
    case DType::i64:
    case DType::i32:
      return;
    case DType::bf16:
    case DType::f16:
    case DType::u8:
    case DType::boolean:
      s.refuse("{} must be f32, f64, i64 or i32, found {}; cast it first", operand, s.text(type));
  }
}

void need_same_dims(Shapes& s, const Type& a, const Type& b) {
  if (a.dims.size() != b.dims.size()) {
    s.refuse("operands must have equally many dims, found {} and {}", s.text(a), s.text(b));
  }
  for (size_t d = 0; d < a.dims.size(); ++d) {
    s.require_equal(a.dims[d], b.dims[d], "operand sizes differ");
  }
}

Types infer_unary_float(Shapes& s, TypesIn in, const Attrs&) {
  s.need_float(in[0], "operand");
  return {in[0]};
}

Types infer_unary_number(Shapes& s, TypesIn in, const Attrs&) {
  need_number(s, in[0], "operand");
  return {in[0]};
}

Types infer_binary_float(Shapes& s, TypesIn in, const Attrs&) {
  s.need_float(in[0], "first operand");
  s.need_same_dtype(in[0], in[1]);
  need_same_dims(s, in[0], in[1]);
  return {in[0]};
}

Types infer_binary_number(Shapes& s, TypesIn in, const Attrs&) {
  need_number(s, in[0], "first operand");
  s.need_same_dtype(in[0], in[1]);
  need_same_dims(s, in[0], in[1]);
  return {in[0]};
}

}  // namespace ops
