// The step line and metrics.jsonl.
#include "trainer/metrics.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"

namespace trainer {

namespace {

std::string number(double x, bool single) {
  if (!std::isfinite(x)) return "null";
  return single ? base::format("{}", static_cast<float>(x)) : base::format("{}", x);
}

template <class T, class Print>
std::string by_layer(const std::map<int64_t, std::vector<T>>& lists, Print print) {
  std::string out = "{";
  for (const auto& [layer, list] : lists) {
    if (out.size() > 1) out += ", ";
    out += base::format("\"{}\": [", layer);
    for (size_t i = 0; i < list.size(); ++i) out += (i ? ", " : "") + print(list[i]);
    out += "]";
  }
  return out + "}";
}

}  // namespace

std::string to_json(const StepRecord& r) {
  const auto real = [&](double x) { return number(x, r.single); };
  std::string out = base::format("{{\"step\": {}, \"loss\": {}, \"grad_norm\": {}, \"lr\": {}",
                                 r.step, real(r.loss), real(r.grad_norm), number(r.lr, false));
  out += base::format(", \"valid_tokens\": {}, \"tokens_per_expert\": {}", r.valid_tokens,
                      by_layer(r.tokens_per_expert, [](int64_t n) { return std::to_string(n); }));
  out += base::format(", \"expert_bias_after\": {}", by_layer(r.expert_bias_after, real));
  out += base::format(", \"step_s\": {}, \"memory_bytes\": {}}}", number(r.step_s, true),
                      r.memory_bytes);
  return out;
}

double expert_imbalance(const StepRecord& r) {
  double worst = 0;
  for (const auto& [layer, counts] : r.tokens_per_expert) {
    int64_t sum = 0, top = 0;
    for (const int64_t n : counts) sum += n, top = std::max(top, n);
    if (sum == 0) continue;
    worst = std::max(worst, static_cast<double>(top) * static_cast<double>(counts.size()) /
                                static_cast<double>(sum));
  }
  return worst;
}

std::string human_duration(double seconds) {
  const int64_t s = static_cast<int64_t>(std::llround(std::max(seconds, 0.0)));
  if (s < 60) return base::format("{}s", s);
  if (s < 3600) return base::format("{}m", (s + 30) / 60);
  return base::format("{}h {:02}m", s / 3600, s % 3600 / 60);
}

struct Console::State {
  RunFacts facts;
  bool terminal = false, colors = false;
  bool status_shown = false;
  int64_t tokens = 0;    // since the last log
  double seconds = 0;    // of the steps since the last log
  double mean_step = 0;  // smoothed, for the ETA

  void clear_status() {
    if (status_shown) std::fputs("\r\x1b[K", stdout);
    status_shown = false;
  }
  std::string paint(const char* color, const std::string& text) const {
    return colors ? base::format("\x1b[{}m{}\x1b[39m", color, text) : text;
  }
  std::string eta(int64_t step) const {
    return human_duration(mean_step * static_cast<double>(facts.steps - step));
  }
};

Console::Console(RunFacts facts, Colors colors) : state_(std::make_unique<State>()) {
  state_->facts = facts;
  state_->terminal = isatty(STDOUT_FILENO) != 0;
  const char* no_color = std::getenv("NO_COLOR");
  state_->colors = state_->terminal && colors == Colors::automatic && !(no_color && *no_color);
}

Console::~Console() { state_->clear_status(); }

void Console::line(const std::string& text) {
  state_->clear_status();
  std::fputs((text + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void Console::warn(const std::string& text) { line(state_->paint("33", "warn") + "   " + text); }

void Console::step(const StepRecord& r) {
  State& s = *state_;
  s.tokens += s.facts.tokens_per_step;
  s.seconds += r.step_s;
  s.mean_step = s.mean_step == 0 ? r.step_s : 0.9 * s.mean_step + 0.1 * r.step_s;
  if (r.step != 1 && r.step != s.facts.steps && r.step % s.facts.log_freq != 0) {
    if (!s.terminal) return;
    s.clear_status();
    std::fputs(base::format("step {} of {}  {:.2f} s/step  ETA {}", r.step, s.facts.steps,
                            s.mean_step, s.eta(r.step))
                   .c_str(),
               stdout);
    std::fflush(stdout);
    s.status_shown = true;
    return;
  }
  const double tps = static_cast<double>(s.tokens) / std::max(s.seconds, 1e-9);
  const double flops = tps * s.facts.flops_per_token;
  const double gib = static_cast<double>(r.memory_bytes) / (1 << 30);
  const double share = s.facts.memory_limit == 0 ? 0
                                                 : 100.0 * static_cast<double>(r.memory_bytes) /
                                                       static_cast<double>(s.facts.memory_limit);
  // Fields, order and spelling of torchtitan's line (reference 5.13), then ours.
  std::string text = s.paint("31", base::format("step: {:2}", r.step));
  text += "  " + s.paint("32", base::format("loss: {:7.4f}", r.loss));
  text += "  " + s.paint("38;2;180;60;0", base::format("grad_norm: {:7.4f}", r.grad_norm));
  text +=
      "  " + s.paint("38;2;54;234;195", base::format("memory: {:5.2f}GiB({:.2f}%)", gib, share));
  text +=
      "  " + s.paint("34", "tps: " + base::with_commas(static_cast<uint64_t>(std::llround(tps))));
  text += "  " + s.paint("36", base::format("tflops: {:.2f}", flops / 1e12));
  text +=
      "  " + s.paint("35", s.facts.peak_flops > 0
                               ? base::format("mfu: {:.2f}%", 100.0 * flops / s.facts.peak_flops)
                               : std::string("mfu: n/a"));
  const double imbalance = expert_imbalance(r);
  if (imbalance > 0) text += base::format("  experts: {:.2f}x", imbalance);
  text += "  ETA " + s.eta(r.step);
  line(text);
  s.tokens = 0;
  s.seconds = 0;
}

}  // namespace trainer
