// metrics.jsonl, new or continued.
#include "trainer/metrics_file.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/error.h"
#include "base/files.h"

namespace trainer {

namespace {

constexpr std::string_view line_start = "{\"step\": ";  // of to_json

[[noreturn]] void fail(const std::string& path, int code) {
  throw base::SystemError(base::Exit::config, "cannot write " + path, code);
}

// The bytes of the leading lines whose steps are 1 to `steps_done` at most.
size_t bytes_to_keep(std::string_view text, int64_t steps_done) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos || !text.substr(at).starts_with(line_start)) break;
    int64_t step = 0;
    const char* digits = text.data() + at + line_start.size();
    const auto [rest, error] = std::from_chars(digits, text.data() + end, step);
    if (error != std::errc() || step > steps_done) break;
    at = end + 1;
  }
  return at;
}

}  // namespace

MetricsFile::MetricsFile(const std::string& path, int64_t steps_done) : path_(path) {
  size_t kept = 0;
  if (steps_done > 0 && base::file_exists(path)) {
    kept = bytes_to_keep(base::read_file(path, base::Exit::config), steps_done);
  }
  file_ = std::fopen(path.c_str(), "a");
  if (!file_) fail(path, errno);
  if (ftruncate(fileno(file_), static_cast<off_t>(kept)) != 0) {
    const int code = errno;
    std::fclose(file_);
    fail(path, code);
  }
}

MetricsFile::~MetricsFile() { std::fclose(file_); }

void MetricsFile::write(const StepRecord& record) {
  const std::string line = to_json(record) + "\n";
  if (std::fputs(line.c_str(), file_) < 0 || std::fflush(file_) != 0) fail(path_, errno);
}

void MetricsFile::sync() {
  if (fsync(fileno(file_)) != 0) fail(path_, errno);
}

}  // namespace trainer
