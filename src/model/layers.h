// Layers as functions over ops. Tensors carry shape suffixes; the letters:
//   B batch  S sequence  T = B*S tokens  D model width  V vocabulary  H heads
//   N no-rope width of q and k  R rope width  P = R/2 rope pairs  C value width  L latent kv width
//   Q latent q width  E experts  K experts per token  M expert width  F dense hidden width
#pragma once

#include <string>

#include "ops/ops.h"

namespace model {

using graph::Builder;
using graph::DType;
using graph::Expr;
using graph::Value;
using graph::Values;

// y = x w^T; w is stored (out, in). Reference section 0.
Value linear(Builder& b, Value x_TI, Value w_OI);

// x * rsqrt(mean(x^2) + eps) * w over the last dim. Zhang and Sennrich, arXiv 1910.07467, eq. 4.
Value rms_norm(Builder& b, Value x, Value w, double eps);

// w2(silu(w1 x) * (w3 x)). Shazeer, arXiv 2002.05202, eq. 6.
struct FeedForwardWeights {
  Value w1, w2, w3;
};
Value swiglu(Builder& b, Value x_TD, const FeedForwardWeights& w);

// exp(x - max) / sum over `dim`; the maximum is a shift that cancels, so it carries no gradient.
Value softmax(Builder& b, Value x, int64_t dim);

// Rotates adjacent pairs (2i, 2i+1) of the last dim of x_BShR by the table row of the position.
// Su et al., arXiv 2104.09864, eq. 34, in the interleaved form; reference 1.6.
struct RopeTables {
  Value cos_SP, sin_SP;
};
Value rope(Builder& b, Value x_BShR, const RopeTables& tables);

// Sum over the tokens whose label is not -100 of -log softmax(logits)[label]. Reference 5.7.
Value cross_entropy_sum(Builder& b, Value logits_TV, Value labels_T);

}  // namespace model
