// Tests of the learning-rate schedule and of what a run tells.
#include <gtest/gtest.h>

#include <cmath>

#include "trainer/metrics.h"
#include "trainer/schedule.h"

namespace trainer {
namespace {

std::vector<double> rates(const config::LrSchedulerSection& section, int64_t steps, double lr) {
  const Schedule schedule(section, steps);
  std::vector<double> out;
  for (int64_t step = 1; step <= steps; ++step) out.push_back(lr * schedule.factor(step));
  return out;
}

// Reference, appendix A: the debug file's ten steps.
TEST(Schedule, DebugModelLinearDecay) {
  const auto got = rates({2, 0.8, "linear", 0.0}, 10, 8e-4);
  const std::vector<double> expected = {4e-4, 8e-4, 8e-4, 7e-4, 6e-4, 5e-4, 4e-4, 3e-4, 2e-4, 1e-4};
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-18) << "step " << i + 1;
}

TEST(Schedule, CosineStaysAboveItsFloor) {
  const auto got = rates({3, 0.35, "cosine", 0.1}, 9, 1.0);
  // 9 * 0.35 = 3.15 rounds to 3 decay steps, 4 stable ones.
  for (int i = 2; i < 7; ++i) EXPECT_DOUBLE_EQ(got[static_cast<size_t>(i)], 1.0);
  EXPECT_NEAR(got[7], 0.1 + 0.9 * (1 + std::cos(M_PI / 3)) / 2, 1e-15);
  EXPECT_NEAR(got[8], 0.1 + 0.9 * (1 + std::cos(2 * M_PI / 3)) / 2, 1e-15);
}

TEST(Schedule, RoundsHalfToEvenAndFitsIntoTheSteps) {
  // 5 * 0.5 = 2.5 decay steps round to 2.
  EXPECT_DOUBLE_EQ(Schedule({0, 0.5, "linear", 0.0}, 5).factor(4), 1.0);
  const Schedule cut({20, 0.8, "sqrt", 0.0}, 10);
  EXPECT_DOUBLE_EQ(cut.factor(1), 0.1);
  EXPECT_DOUBLE_EQ(cut.factor(10), 1.0);
}

// Zero steps of warm-up, of the plateau or of decay (docs/cases.md): the peak is exactly 1.
TEST(PublicReports, R131_schedules_without_a_phase) {
  const auto expect_rates = [](const config::LrSchedulerSection& section, int64_t steps,
                               const std::vector<double>& expected) {
    const std::vector<double> got = rates(section, steps, 1.0);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-15) << i;
  };
  expect_rates({4, 0.4, "linear", 0.0}, 10, {.25, .5, .75, 1, 1, 1, 1, .75, .5, .25});
  expect_rates({4, 0.0, "linear", 0.0}, 6, {.25, .5, .75, 1, 1, 1});
  expect_rates({0, 0.0, "cosine", 0.0}, 3, {1, 1, 1});
  expect_rates({0, 1.0, "linear", 0.0}, 4, {1, .75, .5, .25});
  expect_rates({4, {}, "linear", 0.0}, 4, {.25, .5, .75, 1});
}

TEST(Metrics, JsonReadsBackAsFloats) {
  StepRecord r{
      .step = 3, .loss = 4.439892768859863, .grad_norm = 0.1, .lr = 1e-3, .valid_tokens = 32};
  r.tokens_per_expert[1] = {9, 14};
  r.expert_bias_after[1] = {static_cast<double>(0.001f), -0.5};
  r.memory_bytes = 7;
  EXPECT_EQ(
      to_json(r),
      "{\"step\": 3, \"loss\": 4.439893, \"grad_norm\": 0.1, \"lr\": 0.001, \"valid_tokens\": 32, "
      "\"tokens_per_expert\": {\"1\": [9, 14]}, \"expert_bias_after\": {\"1\": [0.001, -0.5]}, "
      "\"step_s\": 0, \"memory_bytes\": 7}");
  r.loss = std::nan("");
  EXPECT_NE(to_json(r).find("\"loss\": null"), std::string::npos);
}

TEST(Metrics, ImbalanceIsTheWorstLayer) {
  StepRecord r;
  r.tokens_per_expert[1] = {10, 10, 10, 10};
  r.tokens_per_expert[2] = {20, 0, 10, 10};
  r.tokens_per_expert[3] = {0, 0, 0, 0};
  EXPECT_DOUBLE_EQ(expert_imbalance(r), 2.0);
}

TEST(Metrics, Durations) {
  EXPECT_EQ(human_duration(8.4), "8s");
  EXPECT_EQ(human_duration(21 * 60), "21m");
  EXPECT_EQ(human_duration(3600 + 4 * 60), "1h 04m");
  EXPECT_EQ(human_duration(-1), "0s");
}

}  // namespace
}  // namespace trainer
