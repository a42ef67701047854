// The disk through POSIX calls.
#include "base/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace base {
namespace {

[[noreturn]] void fail_with_code(Exit exit, std::string_view what, int code) {
  std::string reason = strerror(code);
  if (!reason.empty() && reason[0] >= 'A' && reason[0] <= 'Z') reason[0] += 'a' - 'A';
  throw SystemError(exit, format("cannot {}: {}", what, reason), code);
}

}  // namespace

void Disk::make_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0777) != 0) fail_with_code(exit_, "make folder " + path, errno);
}

int Disk::create_file(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) fail_with_code(exit_, "create " + path, errno);
  return file;
}

void Disk::write(int file, std::span<const std::byte> bytes) {
  const off_t start = lseek(file, 0, SEEK_CUR);
  const off_t length = static_cast<off_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_with_code(exit_, "write", errno);
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  // Starts the transfer now, while the caller prepares the next bytes; sync_file waits for it.
  sync_file_range(file, start, length, SYNC_FILE_RANGE_WRITE);
}

void Disk::sync_file(int file) {
  if (fsync(file) != 0) fail_with_code(exit_, "write to the disk", errno);
}

void Disk::close_file(int file) noexcept { close(file); }

void Disk::sync_folder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool done = folder >= 0 && fsync(folder) == 0;
  const int code = errno;
  if (folder >= 0) close(folder);
  // Some network file systems have no sync of folders and say so by EINVAL.
  if (!done && code != EINVAL) fail_with_code(exit_, "write to the disk: " + path, code);
}

void Disk::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    fail_with_code(exit_, format("rename {} to {}", from, to), errno);
  }
}

void Disk::remove_file(const std::string& path) {
  if (unlink(path.c_str()) != 0) fail_with_code(exit_, "remove " + path, errno);
}

void Disk::remove_folder(const std::string& path) {
  if (rmdir(path.c_str()) != 0) fail_with_code(exit_, "remove folder " + path, errno);
}

uint64_t Disk::free_bytes(const std::string& path) {
  struct statvfs status;
  if (statvfs(path.c_str(), &status) != 0) fail_with_code(exit_, "look at " + path, errno);
  return static_cast<uint64_t>(status.f_bavail) * status.f_frsize;
}

}  // namespace base
