// A folder for one test: empty at the start, gone at the end. It lies in memory where the system
// has such a place, because a test that syncs some hundred files would wait minutes for a slow
// disk.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace scratch {

class Folder {
 public:
  explicit Folder(const std::string& name) {
    const std::string memory = "/dev/shm/";
    const std::string base = access(memory.c_str(), W_OK) == 0 ? memory : testing::TempDir();
    path_ = base + "heddle_" + name + "_" + std::to_string(getpid());
    clear();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void clear() const {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace scratch
