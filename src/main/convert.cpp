// heddle convert: diff A B compares two safetensors files tensor by tensor; inspect and verify are
// in checkpoint_command.cpp.
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "host/compare.h"
#include "main/commands.h"

namespace program {
namespace {

constexpr double default_rtol = 1e-6;  // a few roundings of float32

double parse_rtol(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !std::isfinite(value) || value < 0) {
    base::fail_user(base::Exit::config,
                    "convert diff: --rtol is \"{}\": expected a number such as 1e-6", text);
  }
  return value;
}

struct DiffLine {
  std::vector<std::string> files;
  double rtol = default_rtol;
};

DiffLine parse_diff(Arguments arguments) {
  DiffLine line;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--rtol") {
      if (++i == arguments.size()) {
        base::fail_user(base::Exit::config, "convert diff: --rtol needs a value such as 1e-6");
      }
      line.rtol = parse_rtol(arguments[i]);
    } else if (argument.starts_with("--rtol=")) {
      line.rtol = parse_rtol(argument.substr(7));
    } else if (argument.starts_with("--")) {
      base::fail_user(base::Exit::config, "convert diff: unknown option \"{}\"; there is --rtol X",
                      argument);
    } else {
      line.files.push_back(argument);
    }
  }
  if (line.files.size() != 2) {
    base::fail_user(base::Exit::config, "convert diff: expected two files, found {}",
                    line.files.size());
  }
  return line;
}

int diff(Arguments arguments) {
  const DiffLine line = parse_diff(arguments);
  const host::SafetensorsFile a(line.files[0], base::Exit::checkpoint);
  const host::SafetensorsFile b(line.files[1], base::Exit::checkpoint);
  const host::FileDifference difference = host::compare(a, b, line.rtol);
  print(host::to_text(difference, line.rtol));
  return static_cast<int>(difference.agrees() ? base::Exit::success : base::Exit::check);
}

}  // namespace

int run_convert(Arguments arguments) {
  if (!arguments.empty() && arguments[0] == "diff") return diff(arguments.subspan(1));
  if (!arguments.empty() && arguments[0] == "inspect") {
    return run_convert_inspect(arguments.subspan(1));
  }
  if (!arguments.empty() && arguments[0] == "verify") {
    return run_convert_verify(arguments.subspan(1));
  }
  base::fail_user(base::Exit::config, "convert: expected diff, inspect or verify, found \"{}\"",
                  arguments.empty() ? "" : arguments[0]);
}

}  // namespace program
