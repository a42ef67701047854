// Files through POSIX calls.
#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace base {
namespace {

std::string reason(int code) {
  std::string text = strerror(code);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] += 'a' - 'A';
  return text;
}

bool is_users_to_mend(int code) {
  return code == ENOENT || code == ENOTDIR || code == EISDIR || code == EACCES || code == EPERM ||
         code == ENAMETOOLONG || code == ELOOP || code == EROFS || code == EEXIST;
}

[[noreturn]] void fail_with_code(Exit exit, std::string_view verb, const std::string& path,
                                 int code) {
  std::string message = format("cannot {} {}: {}", verb, path, reason(code));
  if (is_users_to_mend(code)) throw UserError(exit, std::move(message));
  throw SystemError(exit, std::move(message), code);
}

// Closes its descriptor; a write's close is checked apart.
struct Descriptor {
  int value = -1;
  explicit Descriptor(int fd) : value(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void reset() {
    if (value >= 0) close(value);
    value = -1;
  }
};

int open_to_read(const std::string& path, Exit exit) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail_with_code(exit, "read", path, errno);
  return fd;
}

struct stat status_of(int fd, const std::string& path, Exit exit) {
  struct stat status;
  if (fstat(fd, &status) != 0) fail_with_code(exit, "read", path, errno);
  if (S_ISDIR(status.st_mode)) fail_with_code(exit, "read", path, EISDIR);
  return status;
}

[[noreturn]] void fail_too_big(const std::string& path, Exit exit, uint64_t limit) {
  fail_user(exit, "{}: at most {} expected, found more", path, human_bytes(limit));
}

}  // namespace

std::string read_file(const std::string& path, Exit exit, uint64_t limit) {
  const Descriptor file(open_to_read(path, exit));
  const struct stat status = status_of(file.value, path, exit);
  const uint64_t expected = S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
  if (expected > limit) fail_too_big(path, exit, limit);
  std::string bytes(expected, '\0');
  size_t filled = 0;
  while (true) {
    // One byte past the expected end tells a file that has grown, or a pipe.
    if (filled == bytes.size()) bytes.resize(filled < 4096 ? filled + 4096 : filled * 2);
    const ssize_t got = read(file.value, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_code(exit, "read", path, errno);
    if (got == 0) break;
    filled += got;
    if (filled > limit) fail_too_big(path, exit, limit);
  }
  bytes.resize(filled);
  return bytes;
}

MappedFile::MappedFile(const std::string& path, Exit exit) {
  const Descriptor file(open_to_read(path, exit));
  const struct stat status = status_of(file.value, path, exit);
  if (!S_ISREG(status.st_mode)) fail_user(exit, "cannot read {}: not a regular file", path);
  size_ = status.st_size;
  if (size_ == 0) return;
  void* at = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (at == MAP_FAILED) fail_with_code(exit, "map", path, errno);
  data_ = static_cast<const std::byte*>(at);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

RandomAccessFile::RandomAccessFile(const std::string& path, Exit exit) : path_(path), exit_(exit) {
  Descriptor file(open_to_read(path, exit));
  size_ = static_cast<uint64_t>(status_of(file.value, path, exit).st_size);
  file_ = std::exchange(file.value, -1);
}

RandomAccessFile::~RandomAccessFile() { close(file_); }

void RandomAccessFile::read_at(uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = pread(file_, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_code(exit_, "read", path_, errno);
    if (got == 0) fail_user(exit_, "{}: cut off at byte {}", path_, offset);
    offset += static_cast<uint64_t>(got);
    into = into.subspan(static_cast<size_t>(got));
  }
}

FileLock::FileLock(const std::string& path, const std::string& what, Exit exit) {
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (file.value < 0) fail_with_code(exit, "write", path, errno);
  if (flock(file.value, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    fail_user(exit, "{}: {}", path, what);
  }
  file_ = std::exchange(file.value, -1);
}

FileLock::~FileLock() { close(file_); }

struct AtomicFile::State {
  std::string path, temporary;
  Exit exit;
  Descriptor file;
  State(const std::string& target, Exit code) : path(target), exit(code), file(-1) {}
};

AtomicFile::AtomicFile(const std::string& path, Exit exit)
    : state_(std::make_unique<State>(path, exit)) {
  if (path_kind(path) == PathKind::directory) fail_with_code(exit, "write", path, EISDIR);
  static std::atomic<int> serial = 0;  // with the process id: a name that no other writer has
  for (int code = EEXIST; code == EEXIST;) {  // a leftover of a killed process may hold the name
    const std::string name = format("{}.tmp-{}-{}", path, getpid(), serial++);
    state_->file.value = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    code = state_->file.value < 0 ? errno : 0;
    if (code == 0) state_->temporary = name;
    if (code != 0 && code != EEXIST) fail_with_code(exit, "write", path, code);
  }
}

AtomicFile::~AtomicFile() {
  if (!state_->temporary.empty()) unlink(state_->temporary.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(state_->file.value, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_with_code(state_->exit, "write", state_->path, errno);
    bytes = bytes.subspan(put);
  }
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void AtomicFile::commit() {
  State& s = *state_;
  CHECK(s.file.value >= 0);
  if (fsync(s.file.value) != 0) fail_with_code(s.exit, "write", s.path, errno);
  s.file.reset();
  if (rename(s.temporary.c_str(), s.path.c_str()) != 0) {
    fail_with_code(s.exit, "write", s.path, errno);
  }
  s.temporary.clear();
  // The new name is on the disk once its folder is.
  const Descriptor folder(open(parent_path(s.path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.value >= 0) fsync(folder.value);
}

void write_file(const std::string& path, std::string_view bytes, Exit exit) {
  AtomicFile file(path, exit);
  file.write(bytes);
  file.commit();
}

PathKind path_kind(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return PathKind::missing;
  if (S_ISREG(status.st_mode)) return PathKind::file;
  return S_ISDIR(status.st_mode) ? PathKind::directory : PathKind::other;
}

bool file_exists(const std::string& path) {
  const PathKind kind = path_kind(path);
  return kind == PathKind::file || kind == PathKind::other;
}

uint64_t file_size(const std::string& path, Exit exit) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) fail_with_code(exit, "read", path, errno);
  return status.st_size;
}

std::vector<std::string> list_directory(const std::string& path, Exit exit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (!folder) fail_with_code(exit, "list", path, errno);
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = readdir(folder.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) fail_with_code(exit, "list", path, errno);
  std::ranges::sort(names);
  return names;
}

void make_directories(const std::string& path, Exit exit) {
  for (size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    const std::string part = path.substr(0, at);
    if (part.empty() || mkdir(part.c_str(), 0777) == 0) continue;
    const int code = errno;
    if (path_kind(part) != PathKind::directory) fail_with_code(exit, "make folder", part, code);
  }
}

void remove_file(const std::string& path, Exit exit) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) fail_with_code(exit, "remove", path, errno);
}

std::string user_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return join_path(cache, "heddle");
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? join_path(home, ".cache/heddle") : "";
}

std::string join_path(std::string_view folder, std::string_view name) {
  if (folder.empty() || name.starts_with('/')) return std::string(name);
  std::string out(folder);
  if (!out.ends_with('/')) out += '/';
  return out += name;
}

std::string parent_path(std::string_view path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

}  // namespace base
