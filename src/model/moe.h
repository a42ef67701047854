// The mixture-of-experts block of DeepSeek-V3 (reference section 2). Letters: see model/layers.h.
#pragma once

#include "config/model_args.h"
#include "model/layers.h"

namespace model {

struct MoeDims {
  Expr T, D, E, K, M;
  Expr groups, group_size, kept_groups;  // node-limited routing, when the arguments ask for it
};

struct MoeWeights {
  Value gate_ED;
  Value w1_EMD, w2_EDM, w3_EMD;
  FeedForwardWeights shared;  // none when there are no shared experts
  Value bias_E;               // expert bias, a buffer; none without load balancing
};

struct Routing {
  Value scores_TE;      // before the bias
  Value top_scores_TK;  // normalised and scaled
  Value ids_TK;
  Value counts_E;  // i64
};

// Scores, selection and counts. DeepSeek-V3, arXiv 2412.19437, eq. 12-16; reference 2.2.
Routing route(Builder& b, Value x_TD, const MoeWeights& w, const MoeDims& d,
              const config::MoeArgs& args);

// Experts over rows sorted by expert: `counts_E` says how many rows each takes; rows past their sum
// are padding and give zeros. One slice, split, body per expert, concat, padding: reference 2.6.
Value experts_for_loop(Builder& b, Value rows_RD, Value counts_E, const MoeWeights& w);

// The same as grouped matmuls that read offsets on the device: no size is read to the host.
Value experts_grouped(Builder& b, Value rows_RD, Value counts_E, const MoeWeights& w);

// The whole block; also gives what the router did. Reference 2.4.
Value moe_block(Builder& b, Value x_TD, const MoeWeights& w, const MoeDims& d,
                const config::MoeArgs& args, Routing& routing);

}  // namespace model
