// Compares text with a golden file beside the test; `./dev golden --update PAT` accepts a
// difference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace golden {

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The names of the files in a folder of the repository, sorted.
inline std::vector<std::string> list_files(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(HEDDLE_SOURCE_DIR) + "/" + folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// True under `./dev golden --update`, the only writer of this variable.
inline bool updating() {
  const char* value = std::getenv("HEDDLE_UPDATE_GOLDENS");
  return value != nullptr && std::string(value) == "1";
}

// `path` is relative to the root of the repository, such as "src/graph/text.golden".
inline void expect_golden(const std::string& path, const std::string& actual) {
  const std::string full = std::string(HEDDLE_SOURCE_DIR) + "/" + path;
  if (updating()) {
    std::ofstream(full, std::ios::binary) << actual;
    return;
  }
  // gtest prints a line diff of two unequal texts.
  EXPECT_EQ(read_file(full), actual)
      << path << " differs; if the new text is right: ./dev golden --update "
      << ::testing::UnitTest::GetInstance()->current_test_info()->name();
}

}  // namespace golden
