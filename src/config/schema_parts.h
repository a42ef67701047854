// The pieces of the schema table and the words they are written in; for the files schema*.cpp only.
#pragma once

#include "config/schema.h"

namespace config {

// One part a file; joined in schema.cpp in the order of the reference's sections.
std::span<const Key> run_keys();       // job, profiling, metrics
std::span<const Key> model_keys();     // model, model.args
std::span<const Key> training_keys();  // optimizer, lr_scheduler, training
std::span<const Key> parallel_keys();  // parallelism
std::span<const Key> save_keys();      // checkpoint, activation_checkpoint, compile
std::span<const Key> quantize_keys();
std::span<const Key> comm_keys();             // comm, memory_estimation
std::span<const Key> fault_tolerance_keys();  // fault_tolerance, experimental
std::span<const Key> validation_keys();
std::span<const Key> debug_keys();

inline Condition on(std::string_view key) { return {.key = key, .how = Condition::How::is_true}; }
inline Condition set(std::string_view key) { return {.key = key, .how = Condition::How::is_set}; }
inline Condition above(std::string_view key, int64_t bound) {
  return {.key = key, .how = Condition::How::above, .bound = bound};
}
inline Condition has(std::string_view key, std::string_view text) {
  return {.key = key, .how = Condition::How::has, .text = text};
}
inline Condition is_not(std::string_view key, std::string_view text) {
  return {.key = key, .how = Condition::How::is_not, .text = text};
}
inline Condition is(std::string_view key, std::string_view text) {
  return {.key = key, .how = Condition::How::is, .text = text};
}
inline Condition nonempty(std::string_view key) {
  return {.key = key, .how = Condition::How::nonempty};
}

inline constexpr std::string_view one_rank = "there is one rank";

// Bounds that keep products of sizes far from overflow; no real model comes near them.
inline constexpr double largest_size = 1 << 20;
inline constexpr double largest_count = 1e15;

inline Range from(double low, double high = largest_count) { return {.low = low, .high = high}; }
inline Range size_from(double low) { return {.low = low, .high = largest_size}; }
inline Range fraction() { return {.low = 0, .high = 1}; }
inline Range positive() { return {.low = 0, .above_low = true}; }
inline Range finite() { return {.low = -1e300, .high = 1e300}; }

}  // namespace config
