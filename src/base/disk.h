// Every call that changes a disk while something must survive a crash: one virtual function a
// system call, so that a test can stop or fail a save at each of them. Failures are SystemErrors
// with the errno as code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"

namespace base {

class Disk {
 public:
  explicit Disk(Exit exit) : exit_(exit) {}  // the code of its errors
  virtual ~Disk() = default;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  virtual void make_folder(const std::string& path);  // must not be there
  virtual int create_file(const std::string& path);   // must not be there; opened to write
  virtual void write(int file, std::span<const std::byte> bytes);  // at the end
  virtual void sync_file(int file);
  virtual void close_file(int file) noexcept;
  virtual void sync_folder(const std::string& path);  // the names in it
  virtual void rename(const std::string& from, const std::string& to);
  virtual void remove_file(const std::string& path);
  virtual void remove_folder(const std::string& path);   // must be empty
  virtual uint64_t free_bytes(const std::string& path);  // that this user may still fill

 private:
  Exit exit_;
};

}  // namespace base
