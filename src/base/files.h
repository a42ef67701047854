// Files: read whole with a limit, map read-only, write atomically. Paths are plain UTF-8 strings.
// What a user can mend (no such file, not a regular file, too big) is a UserError with the exit
// code that the caller chose; what the machine did (disk full, I/O error) is a SystemError with the
// same code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace base {

// The bytes of `path`, at most `limit` of them. Works for pipes too.
std::string read_file(const std::string& path, Exit exit, uint64_t limit = uint64_t{1} << 30);

// A whole file mapped read-only; an empty file has no bytes. The file must not shrink meanwhile.
class MappedFile {
 public:
  MappedFile(const std::string& path, Exit exit);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// A file to read from at any place. Unlike a map, a file that shrinks meanwhile is an error, not a
// signal.
class RandomAccessFile {
 public:
  RandomAccessFile(const std::string& path, Exit exit);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  uint64_t size() const { return size_; }  // when it was opened
  void read_at(uint64_t offset, std::span<std::byte> into) const;

 private:
  std::string path_;
  Exit exit_;
  int file_ = -1;
  uint64_t size_ = 0;
};

// Held by one process at a time, and let go when that process ends, however it ends.
class FileLock {
 public:
  // Makes the file. Fails when another process holds it; `what` says what for: "another run saves
  // here". File systems that know no locks are taken as free.
  FileLock(const std::string& path, const std::string& what, Exit exit);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_ = -1;
};

// Writes beside `path` and renames over it in `commit`, after the bytes are on the disk: a reader
// sees the old file or the new one, whole. Without `commit` nothing of it stays.
class AtomicFile {
 public:
  AtomicFile(const std::string& path, Exit exit);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

void write_file(const std::string& path, std::string_view bytes, Exit exit);  // atomic

enum class PathKind : uint8_t { missing, file, directory, other };
PathKind path_kind(const std::string& path);  // symbolic links are followed
bool file_exists(const std::string& path);    // a file or anything else that is no directory
uint64_t file_size(const std::string& path, Exit exit);
std::vector<std::string> list_directory(const std::string& path, Exit exit);  // names, sorted
void make_directories(const std::string& path, Exit exit);  // with parents; fine when there
void remove_file(const std::string& path, Exit exit);       // fine when missing

// $XDG_CACHE_HOME/heddle or ~/.cache/heddle (XDG Base Directory Specification); empty when neither
// variable is an absolute path. The folder need not exist.
std::string user_cache_folder();

std::string join_path(std::string_view folder, std::string_view name);
std::string parent_path(std::string_view path);  // "a/b" -> "a", "b" -> ".", "/b" -> "/"

}  // namespace base
