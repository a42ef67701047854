// Semantic cases and public reports (docs/cases.md) about the mixture-of-experts block: routing,
// both forms of the experts, and their gradients, against plain loops written here.
#include <numeric>

#include "model/moe.h"
#include "passes/cases_test.h"

namespace cases {
namespace {

struct Problem {
  int64_t T = 6, E = 4, K = 2, D = 4, M = 3;
};

// One block as a graph of T rows: inputs x, gate, w1, w2, w3, bias; results routed, weights of the
// choices, ids, counts.
Graph block(const Problem& p, config::MoeArgs args) {
  graph::Builder b("block", "", ops::table());
  model::MoeDims d;
  d.T = b.size("T", p.T);
  d.D = b.constant("D", p.D), d.E = b.constant("E", p.E), d.K = b.constant("K", p.K);
  d.M = b.constant("M", p.M);
  if (args.num_expert_groups) {
    d.groups = *args.num_expert_groups;
    d.group_size = p.E / *args.num_expert_groups;
    d.kept_groups = *args.num_limited_groups;
  }
  args.num_experts = p.E, args.top_k = p.K;
  const auto declare = [&](graph::InputKind kind, const char* name, std::vector<sym::Expr> dims) {
    return b.input(kind, name, {DType::f64, std::move(dims), {}});
  };
  const Value x = declare(graph::InputKind::in, "x", {d.T, d.D});
  model::MoeWeights w;
  w.gate_ED = declare(graph::InputKind::param, "gate", {d.E, d.D});
  w.w1_EMD = declare(graph::InputKind::param, "w1", {d.E, d.M, d.D});
  w.w2_EDM = declare(graph::InputKind::param, "w2", {d.E, d.D, d.M});
  w.w3_EMD = declare(graph::InputKind::param, "w3", {d.E, d.M, d.D});
  w.bias_E = declare(graph::InputKind::buffer, "bias", {d.E});
  model::Routing r;
  const Value y = model::moe_block(b, x, w, d, args, r);
  return returning(std::move(b), {y, r.top_scores_TK, r.ids_TK, r.counts_E});
}

config::MoeArgs arguments(bool grouped) {
  config::MoeArgs args;
  args.num_shared_experts = 0;
  args.score_before_experts = false;
  args.use_grouped_mm = grouped;
  return args;
}

// In (-0.5, 0.5), the same for the same place: a fractional multiple of the golden ratio.
Tensor spread(host::Shape shape, double scale = 1) {
  const Tensor x = Tensor::make(DType::f64, std::move(shape));
  for (int64_t i = 0; i < x.count(); ++i) {
    const double turn = 0.6180339887498949 * static_cast<double>(i + 1);
    x.data<double>()[i] = scale * (turn - std::floor(turn) - 0.5);
  }
  return x;
}

Tensors weights(const Problem& p) {
  return {spread({p.T, p.D}),      spread({p.E, p.D}, 2),   spread({p.E, p.M, p.D}),
          spread({p.E, p.D, p.M}), spread({p.E, p.M, p.D}), f64({p.E}, Numbers(p.E, 0))};
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// w2 (silu(w1 x) * (w3 x)) of expert e.
Numbers expert(const Problem& p, const Tensors& in, int64_t e, const double* x) {
  Numbers out(static_cast<size_t>(p.D), 0);
  const double *w1 = in[2].data<double>(), *w2 = in[3].data<double>(), *w3 = in[4].data<double>();
  for (int64_t m = 0; m < p.M; ++m) {
    double gate = 0, up = 0;
    for (int64_t i = 0; i < p.D; ++i) {
      gate += w1[(e * p.M + m) * p.D + i] * x[i], up += w3[(e * p.M + m) * p.D + i] * x[i];
    }
    const double hidden = gate * sigmoid(gate) * up;
    for (int64_t i = 0; i < p.D; ++i) {
      out[static_cast<size_t>(i)] += w2[(e * p.D + i) * p.M + m] * hidden;
    }
  }
  return out;
}

// The block by its definition: each token sorts the experts by sigmoid score plus bias.
struct Reference {
  Numbers y;
  Counts ids, counts;
};
Reference by_hand(const Problem& p, const Tensors& in) {
  Reference out{{}, {}, Counts(static_cast<size_t>(p.E), 0)};
  for (int64_t t = 0; t < p.T; ++t) {
    const double* x = in[0].data<double>() + t * p.D;
    Numbers score, y(static_cast<size_t>(p.D), 0);
    for (int64_t e = 0; e < p.E; ++e) {
      score.push_back(sigmoid(std::inner_product(x, x + p.D, in[1].data<double>() + e * p.D, 0.0)));
    }
    Counts order(static_cast<size_t>(p.E));
    std::iota(order.begin(), order.end(), 0);
    const double* bias = in[5].data<double>();
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
      return score[static_cast<size_t>(a)] + bias[a] > score[static_cast<size_t>(b)] + bias[b];
    });
    for (int64_t k = 0; k < p.K; ++k) {
      const int64_t e = order[static_cast<size_t>(k)];
      const Numbers part = expert(p, in, e, x);
      for (size_t i = 0; i < y.size(); ++i) y[i] += score[static_cast<size_t>(e)] * part[i];
      out.ids.push_back(e);
      ++out.counts[static_cast<size_t>(e)];
    }
    out.y.insert(out.y.end(), y.begin(), y.end());
  }
  return out;
}

void expect_near(const Numbers& got, const Numbers& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << i;
}

// Values against the loops above, gradients of the two forms against each other.
void expect_block(const Problem& p, const Tensors& inputs) {
  const Reference want = by_hand(p, inputs);
  const Sizes sizes = {{"T", p.T}};
  Tensors gradients[2];
  for (const bool grouped : {false, true}) {
    SCOPED_TRACE(grouped ? "grouped" : "for-loop");
    const Graph g = block(p, arguments(grouped));
    const Tensors out = run(g, inputs, sizes);
    EXPECT_EQ(out[0].shape(), (host::Shape{p.T, p.D}));
    expect_near(numbers(out[0]), want.y, 1e-12);
    EXPECT_EQ(values_of<int64_t>(out[2]), want.ids);
    EXPECT_EQ(values_of<int64_t>(out[3]), want.counts);
    const Differentiated d = differentiate(g);
    gradients[grouped] = run(d.gradients, inputs, sizes);
    for (const size_t w : {2, 3, 4}) {  // an idle expert's gradients are +0, bit for bit
      const Numbers dw = numbers(gradients[grouped][w]);
      const size_t each = dw.size() / static_cast<size_t>(p.E);
      for (size_t i = 0; i < dw.size(); ++i) {
        if (want.counts[i / each] > 0) continue;
        ASSERT_TRUE(dw[i] == 0 && !std::signbit(dw[i])) << "input " << w << " element " << i;
      }
    }
  }
  for (size_t i = 0; i < gradients[0].size(); ++i) {
    expect_near(numbers(gradients[0][i]), numbers(gradients[1][i]), 1e-12);
  }
}

// Tokens that want one expert each: token t has a large x[e(t)], and the gate is the identity.
Tensors wanting(const Problem& p, const Counts& first) {
  Tensors in = weights(p);
  std::ranges::fill(std::span(in[1].data<double>(), static_cast<size_t>(p.E * p.D)), 0);
  for (int64_t e = 0; e < p.E; ++e) in[1].data<double>()[e * p.D + e] = 1;
  for (int64_t t = 0; t < p.T; ++t)
    in[0].data<double>()[t * p.D + first[static_cast<size_t>(t)]] = 2;
  return in;
}

TEST(SemanticCases, Z6_Z17_every_shape_of_routing) {
  const auto tokens = [](int64_t n, int64_t modulus, int64_t shift) {
    Counts out;
    for (int64_t t = 0; t < n; ++t) out.push_back(t % modulus + shift);
    return out;
  };
  for (const auto& [p, first] : std::vector<std::pair<Problem, Counts>>{
           {{8, 4, 1, 4}, tokens(8, 4, 0)},     // uniform
           {{8, 4, 1, 4}, tokens(8, 1, 0)},     // all to the first
           {{8, 4, 1, 4}, tokens(8, 3, 0)},     // one idle
           {{8, 4, 1, 4}, tokens(8, 1, 3)},     // all but the last idle
           {{0, 4, 2, 4}, {}},                  // no tokens
           {{1, 4, 2, 4}, {2}},                 // one token
           {{6, 4, 4, 4}, tokens(6, 4, 0)},     // every expert for every token
           {{7, 5, 3, 5, 3}, tokens(7, 5, 0)},  // primes
           {{5, 1, 1, 2}, tokens(5, 1, 0)},     // one expert
       }) {
    SCOPED_TRACE(testing::Message() << "T=" << p.T << " E=" << p.E << " K=" << p.K << " first "
                                    << testing::PrintToString(first));
    expect_block(p, wanting(p, first));
    if (!first.empty() && p.K == 1) {
      Counts counts(static_cast<size_t>(p.E), 0);
      for (const int64_t e : first) ++counts[static_cast<size_t>(e)];
      EXPECT_EQ(by_hand(p, wanting(p, first)).counts, counts);
    }
  }
  expect_block({}, weights({}));
  for (const bool grouped : {false, true}) {
    expect_gradients(differentiate(block({}, arguments(grouped))), weights({}));
  }
}

TEST(SemanticCases, Q1_all_tokens_to_one_expert) {
  const Problem p{.T = 6, .E = 2, .K = 1, .D = 2};
  for (const bool grouped : {false, true}) {
    const Graph g = block(p, arguments(grouped));
    const Tensors inputs = wanting(p, Counts(6, 0));
    EXPECT_EQ(values_of<int64_t>(run(g, inputs)[3]), (Counts{6, 0}));
    expect_gradients(differentiate(g), inputs);
  }
}

// Both forms of the experts alone: rows sorted by expert, counts given.
TEST(SemanticCases, Q3_counts_of_eighty_rows) {
  const Problem p{.T = 80, .E = 8, .K = 1, .D = 4, .M = 3};
  const Counts counts = {10, 8, 12, 9, 11, 7, 10, 13};
  Tensors inputs = weights(p);
  inputs[1] = i64(counts);
  inputs.pop_back();
  Numbers want;
  for (int64_t e = 0, row = 0; e < p.E; ++e) {
    for (int64_t k = 0; k < counts[static_cast<size_t>(e)]; ++k, ++row) {
      const Numbers y = expert(p, inputs, e, inputs[0].data<double>() + row * p.D);
      want.insert(want.end(), y.begin(), y.end());
    }
  }
  for (const bool grouped : {false, true}) {
    graph::Builder b = continued(
        "size R=80\nconst E=8, D=4, M=3\nin %x : f64[R,D]\nin %n : i64[E]\nparam %w1 : f64[E,M,D]\n"
        "param %w2 : f64[E,D,M]\nparam %w3 : f64[E,M,D]");
    model::MoeWeights w;
    w.w1_EMD = input(b, 2), w.w2_EDM = input(b, 3), w.w3_EMD = input(b, 4);
    const Value y = grouped ? model::experts_grouped(b, input(b, 0), input(b, 1), w)
                            : model::experts_for_loop(b, input(b, 0), input(b, 1), w);
    EXPECT_EQ(b.type(y), b.type(input(b, 0)));
    const Graph g = returning(std::move(b), {y});
    expect_near(numbers(run(g, inputs)[0]), want, 1e-12);
    Tensors wrong = inputs;
    wrong[1] = i64({10, 8, 12, 9, 11, 7, 10, 14});
    EXPECT_NE(stopped(g, wrong).find("81"), std::string::npos);
  }
}

// Dispatch and combine around experts that do nothing: the input times the sum of its weights.
TEST(SemanticCases, Q6_identity_experts_give_the_input_back) {
  const Graph g = read(
      "const T=5, E=4, K=3, D=2\nin %x : f64[T,D]\nin %score : f64[T,E]\n"
      "%v, %ids : f64[T,K], i64[T,K] = topk(%score, k=K, dim=1)\n%flat : i64[K*T] = reshape(%ids)\n"
      "%order : i64[K*T] = argsort(%flat, stable)\n%token : i64[K*T] = floordiv(%order, by=K)\n"
      "%rows : f64[K*T,D] = gather_rows(%x, %token)\n"
      "%back : f64[K*T,D] = scatter_rows(%rows, %order, rows=K*T)\n"
      "%b3 : f64[T,K,D] = reshape(%back)\n%w3 : f64[T,1,K] = reshape(%v)\n"
      "%mix : f64[T,1,D] = matmul(%w3, %b3)\n%y : f64[T,D] = reshape(%mix)\n"
      "%w : f64[T] = reduce_sum(%v, dims=[1])\nreturn %y, %w");
  const Tensors inputs = {numbered({5, 2}), spread({5, 4})};
  const Tensors out = run(g, inputs);
  const Numbers x = numbers(inputs[0]), sum = numbers(out[1]), y = numbers(out[0]);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], x[i] * sum[i / 2], 1e-15);
  expect_gradients(differentiate(g), inputs);
}

TEST(SemanticCases, Q7_the_bias_chooses_and_never_weighs) {
  const Problem p{.T = 5, .E = 4, .K = 2, .D = 4};
  const Graph g = block(p, arguments(true));
  Tensors inputs = weights(p);
  const Numbers plain = numbers(run(g, inputs)[0]);
  for (int64_t e = 0; e < p.E; ++e) inputs[5].data<double>()[e] = 1000;
  expect_near(numbers(run(g, inputs)[0]), plain, 1e-12);  // the same for all: nothing changes
  inputs[5].data<double>()[3] = 2000;
  const Tensors out = run(g, inputs);
  expect_near(numbers(out[0]), by_hand(p, inputs).y, 1e-12);
  EXPECT_EQ(values_of<int64_t>(out[3])[3], p.T);
  for (const double w : numbers(out[1])) EXPECT_LT(w, 1);
  config::MoeArgs normalised = arguments(true);
  normalised.route_norm = true;
  const Numbers weight = numbers(run(block(p, normalised), inputs)[1]);
  for (size_t t = 0; t < 5; ++t) EXPECT_NEAR(weight[2 * t] + weight[2 * t + 1], 1, 1e-12);
}

TEST(PublicReports, R19_twelve_experts_keep_their_order) {
  const Problem p{.T = 12, .E = 12, .K = 1, .D = 12, .M = 1};
  Counts first(12);
  std::iota(first.begin(), first.end(), 0);
  expect_block(p, wanting(p, first));
  const std::string text = graph::print(block(p, arguments(false)));
  EXPECT_NE(text.find("u0..u11"), std::string::npos) << text;
}

TEST(PublicReports, R46_a_nan_token_stays_in_its_row) {
  const Problem p{.T = 5, .E = 4, .K = 3, .D = 4};
  Tensors inputs = weights(p);
  const Numbers clean = by_hand(p, inputs).y;
  for (int64_t i = 0; i < p.D; ++i) inputs[0].data<double>()[2 * p.D + i] = std::nan("");
  for (const bool grouped : {false, true}) {
    const Tensors out = run(block(p, arguments(grouped)), inputs);
    Counts ids = values_of<int64_t>(out[2]);
    const auto row = std::span(ids).subspan(6, 3);
    std::ranges::sort(row);
    EXPECT_EQ(std::ranges::adjacent_find(row), row.end());
    const Counts counts = values_of<int64_t>(out[3]);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}), p.T * p.K);
    EXPECT_LE(std::ranges::max(counts), p.T);
    const Numbers y = numbers(out[0]);
    for (size_t i = 0; i < y.size(); ++i) {
      if (i / 4 == 2) {
        EXPECT_TRUE(std::isnan(y[i]));
      } else {
        EXPECT_NEAR(y[i], clean[i], 1e-12);
      }
    }
  }
}

// Dense limit: every expert for every token, normalised.
TEST(PublicReports, R49_all_experts_chosen_is_the_dense_mixture) {
  const Problem p{.T = 5, .E = 4, .K = 4, .D = 4};
  config::MoeArgs args = arguments(false);
  args.route_norm = true;
  args.num_expert_groups = 2, args.num_limited_groups = 2;
  const Tensors inputs = weights(p), out = run(block(p, args), inputs);
  EXPECT_EQ(values_of<int64_t>(out[3]), Counts(4, p.T));
  const Numbers weight = numbers(out[1]), sums = by_hand(p, inputs).y, y = numbers(out[0]);
  for (int64_t t = 0; t < p.T; ++t) {
    double total = 0, weights_sum = 0;
    for (int64_t e = 0; e < p.E; ++e) {
      const double* x = inputs[0].data<double>() + t * p.D;
      total += sigmoid(std::inner_product(x, x + p.D, inputs[1].data<double>() + e * p.D, 0.0));
      weights_sum += weight[static_cast<size_t>(t * p.K + e)];
    }
    EXPECT_NEAR(weights_sum, 1, 1e-12);
    for (int64_t i = 0; i < p.D; ++i) {
      const size_t at = static_cast<size_t>(t * p.D + i);
      EXPECT_NEAR(y[at], sums[at] / total, 1e-12);
    }
  }
}

TEST(PublicReports, R62_R63_ties_go_to_the_lower_expert_and_dropped_groups_never_win) {
  const Problem p{.T = 3, .E = 4, .K = 2, .D = 4};
  Tensors inputs = weights(p);
  std::ranges::fill(std::span(inputs[1].data<double>(), 16), 0);  // every score is 0.5
  EXPECT_EQ(values_of<int64_t>(run(block(p, arguments(true)), inputs)[2]),
            (Counts{0, 1, 0, 1, 0, 1}));
  config::MoeArgs limited = arguments(true);
  limited.num_expert_groups = 2, limited.num_limited_groups = 1;
  const Numbers pick = {-0.2, -0.3, -0.1, -0.3};  // groups add up to -0.5 and -0.4
  for (size_t e = 0; e < 4; ++e) inputs[5].data<double>()[e] = pick[e] - 0.5;
  EXPECT_EQ(values_of<int64_t>(run(block(p, limited), inputs)[2]), (Counts{2, 3, 2, 3, 2, 3}));
}

}  // namespace
}  // namespace cases
