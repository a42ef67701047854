// The three kinds of error (architecture decision 10) and the exit codes they end in.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "base/text.h"

namespace base {

// Exit codes of every heddle command; the meaning of each stands in `heddle help exit-codes`.
enum class Exit {
  success = 0,
  internal = 1,
  config = 2,
  data = 3,
  checkpoint = 4,
  numerics = 5,
  memory = 6,
  communication = 7,
  compiler = 8,
  check = 9,
  stopped = 75,
};

// Carries notes that each border adds: "while running pass fuse_elementwise, 7 of 19".
class Error : public std::exception {
 public:
  Error(Exit exit, std::string message) : exit_(exit), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  Exit exit() const { return exit_; }
  const std::string& message() const { return message_; }
  void add_note(std::string_view note);

 private:
  Exit exit_;
  std::string message_;
};

// The user can fix it: configuration, data, checkpoint, a graph text that does not parse.
class UserError : public Error {
  using Error::Error;
};
// We must fix it: a broken invariant.
class InternalError : public Error {
 public:
  explicit InternalError(std::string message) : Error(Exit::internal, std::move(message)) {}
};
// The machine failed: disk, memory, communication. `code` is errno or the library's code.
class SystemError : public Error {
 public:
  SystemError(Exit exit, std::string message, int code)
      : Error(exit, std::move(message)), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

// Wording: where, what was expected, what was found, then what to try; lower case, no full stop.
template <class... Args>
[[noreturn]] void fail_user(Exit exit, std::string_view pattern, const Args&... args) {
  throw UserError(exit, format(pattern, args...));
}
template <class... Args>
[[noreturn]] void fail_internal(std::string_view pattern, const Args&... args) {
  throw InternalError(format(pattern, args...));
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace base

// For what cannot happen; stays on in release. Never for input.
#define CHECK(condition) \
  ((condition) ? (void)0 : ::base::check_failed(#condition, __FILE__, __LINE__))
#ifdef NDEBUG
#define DCHECK(condition) ((void)0)
#else
#define DCHECK(condition) CHECK(condition)
#endif
