// The three kinds of error.
#include "base/error.h"

namespace base {

void Error::add_note(std::string_view note) {
  message_ += "\n  ";
  message_ += note;
}

void check_failed(const char* condition, const char* file, int line) {
  fail_internal("check failed: {} ({}:{})", condition, file, line);
}

}  // namespace base
