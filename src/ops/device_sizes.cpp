// device_sizes: prefix offsets of counts, off[e] = counts[0] + ... + counts[e - 1], for kernels
// that read group bounds on the device: no host wait, no sizes born. Checked: each count is at
// least 0 and all of them add up to `total`.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  s.need_dtype(in[0], DType::i64, "counts");
  s.need_rank(in[0], 1, "counts");
  return {{DType::i64, {in[0].dims[0] + 1}, {}}};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  const Tensor counts = in[0].contiguous();
  out[0] = context.make(0);
  const int64_t* count = counts.data<int64_t>();
  int64_t* offset = out[0].data<int64_t>();
  offset[0] = 0;
  for (int64_t e = 0; e < counts.count(); ++e) {
    if (count[e] < 0) fail_check("device_sizes: count {} is {}", e, count[e]);
    if (__builtin_add_overflow(offset[e], count[e], &offset[e + 1])) {
      fail_check("device_sizes: the counts add up to more than 64 bits hold");
    }
  }
  const int64_t total = context.number(attrs.dim("total")), sum = offset[counts.count()];
  if (sum != total) fail_check("device_sizes: the counts add up to {}, expected {}", sum, total);
}

constexpr graph::AttrSpec attrs[] = {{"total", graph::AttrSpec::Kind::dim}};

constexpr graph::Sample samples[] = {{"i64[8] counts of 40 | total=40"},
                                     {"i64[3] counts of u0 | total=u0"},
                                     {"i64[u0 + 1] counts of 5 | total=5"},
                                     {"i64[1] counts of 5 | total=5"},
                                     {"i64[0] | total=0"}};

}  // namespace

extern const graph::OpDef device_sizes_op{.name = "device_sizes",
                                          .about = "prefix offsets of counts that add up to total",
                                          .attrs = attrs,
                                          .may_fail = true,
                                          .infer = infer,
                                          .eval = {eval, eval},
                                          .cost = copy_cost,
                                          .samples = samples};

Value device_sizes(Here h, Value counts_E, const Expr& total) {
  return h.builder.add1(h, device_sizes_op, {{counts_E}}, {{"total", total}});
}

}  // namespace ops
