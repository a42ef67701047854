// Files, hashes, Philox and what is asked of the processor.
#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/cpu.h"
#include "base/hash.h"
#include "base/philox.h"

namespace base {
namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "heddle-files-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { ASSERT_EQ(system(("rm -rf " + folder_).c_str()), 0); }
  std::string path(const std::string& name) const { return join_path(folder_, name); }

  template <class Call>
  std::string user_error(Call call) {
    try {
      call();
    } catch (const UserError& e) {
      EXPECT_EQ(e.exit(), Exit::data);
      return e.message();
    }
    return "no error";
  }
  std::string folder_;
};

TEST_F(Files, WritesAndReadsBack) {
  const std::string bytes = std::string("a\0b\n", 4) + std::string(10'000, 'x');
  write_file(path("f"), bytes, Exit::data);
  EXPECT_EQ(read_file(path("f"), Exit::data), bytes);
  EXPECT_EQ(file_size(path("f"), Exit::data), bytes.size());
  EXPECT_EQ(MappedFile(path("f"), Exit::data).text(), bytes);
  write_file(path("f"), "", Exit::data);
  EXPECT_EQ(read_file(path("f"), Exit::data), "");
  EXPECT_TRUE(MappedFile(path("f"), Exit::data).bytes().empty());
  struct stat status;
  ASSERT_EQ(stat(path("f").c_str(), &status), 0);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);
}

TEST_F(Files, ReadsNoMoreThanTheLimit) {
  write_file(path("f"), std::string(100, 'x'), Exit::data);
  EXPECT_EQ(read_file(path("f"), Exit::data, 100).size(), 100u);
  EXPECT_EQ(user_error([&] { read_file(path("f"), Exit::data, 99); }),
            path("f") + ": at most 99 B expected, found more");
  EXPECT_NE(user_error([&] { read_file("/dev/zero", Exit::data, 1000); }), "no error");
}

TEST_F(Files, NamesWhatIsWrong) {
  EXPECT_EQ(user_error([&] { read_file(path("none"), Exit::data); }),
            "cannot read " + path("none") + ": no such file or directory");
  EXPECT_EQ(user_error([&] { read_file(folder_, Exit::data); }),
            "cannot read " + folder_ + ": is a directory");
  EXPECT_EQ(user_error([&] { MappedFile file(folder_, Exit::data); }),
            "cannot read " + folder_ + ": is a directory");
  EXPECT_EQ(user_error([&] { MappedFile file("/dev/zero", Exit::data); }),
            "cannot read /dev/zero: not a regular file");
  EXPECT_EQ(user_error([&] { write_file(path("no/f"), "x", Exit::data); }),
            "cannot write " + path("no/f") + ": no such file or directory");
  EXPECT_EQ(user_error([&] { write_file(folder_, "x", Exit::data); }),
            "cannot write " + folder_ + ": is a directory");
  EXPECT_NE(user_error([&] { list_directory(path("none"), Exit::data); }), "no error");
}

TEST_F(Files, ADroppedWriteLeavesTheOldFileAlone) {
  write_file(path("f"), "old", Exit::data);
  {
    AtomicFile file(path("f"), Exit::data);
    file.write("half of the new");
    EXPECT_EQ(list_directory(folder_, Exit::data).size(), 2u);
  }
  EXPECT_EQ(read_file(path("f"), Exit::data), "old");
  EXPECT_EQ(list_directory(folder_, Exit::data), std::vector<std::string>{"f"});
}

TEST_F(Files, FoldersAndPaths) {
  make_directories(path("a/b//c/"), Exit::data);
  make_directories(path("a/b/c"), Exit::data);
  EXPECT_EQ(path_kind(path("a/b/c")), PathKind::directory);
  write_file(path("a/z"), "", Exit::data);
  EXPECT_EQ(list_directory(path("a"), Exit::data), (std::vector<std::string>{"b", "z"}));
  EXPECT_NE(user_error([&] { make_directories(path("a/z/y"), Exit::data); }), "no error");
  EXPECT_TRUE(file_exists(path("a/z")));
  EXPECT_FALSE(file_exists(path("a")));
  remove_file(path("a/z"), Exit::data);
  remove_file(path("a/z"), Exit::data);
  EXPECT_EQ(path_kind(path("a/z")), PathKind::missing);
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("a", "/b"), "/b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(parent_path("a/b/c"), "a/b");
  EXPECT_EQ(parent_path("b"), ".");
  EXPECT_EQ(parent_path("/b"), "/");
}

TEST(Hash, KnownValues) {
  // Test vectors of RFC 9923 (FNV-1a, 64 bits) and of `xxh128sum`.
  static_assert(fnv1a64("") == 0xcbf29ce484222325u);
  static_assert(fnv1a64("a") == 0xaf63dc4c8601ec8cu);
  static_assert(fnv1a64("foobar") == 0x85944171f73967e8u);
  EXPECT_EQ(xxh3_128_hex(std::string_view("")), "99aa06d3014798d86001c324468d497f");
  static_assert(hash_combine(1, 2) != hash_combine(2, 1));
  static_assert(hash_combine(0, 0) != 0);
}

TEST(Philox, KnownAnswers) {
  // The published vectors of Random123 (kat_vectors, philox4x32 with 10 rounds).
  using Words = std::array<uint32_t, 4>;
  static_assert(philox4x32({0, 0, 0, 0}, {0, 0}) ==
                Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  static_assert(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) ==
                Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  static_assert(
      philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
      Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  static_assert(philox_at(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88) ==
                Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  static_assert(uniform_f32({~0u, 0, 0, 0}) == 1 - 0x1p-24f);
  static_assert(uniform_f64(~0u, ~0u) == 1 - 0x1p-53);
  static_assert(uniform_f64(0x80000000u, 0) == 0.5);
}

TEST(Cpu, AnswersSensibly) {
  EXPECT_TRUE(has_required_features());
  EXPECT_GE(usable_cores(), 1);
  EXPECT_FALSE(processor_name().empty());
  EXPECT_EQ(to_text(VectorWidth::avx512), "AVX-512");
}

}  // namespace
}  // namespace base
