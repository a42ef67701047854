// Checkpoints on the disk: what is written is read back, a crash at any call leaves the newest
// complete one, and no damage passes.
#include "trainer/checkpoint.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "base/disk.h"
#include "base/files.h"
#include "tests/support/scratch_folder.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;
using base::DType;
using host::Tensor;
struct Crash {};  // no std::exception: nobody may catch it on the way

// Stops or fails at a chosen call: as if the process had been killed there, or as if the power had
// gone, which takes along what was not synced.
class FaultyDisk : public base::Disk {
 public:
  enum class Fault : uint8_t { none, kill, power_loss, no_space };

  FaultyDisk(Fault fault, int64_t at_call, uint64_t seed, std::string scratch)
      : Disk(base::Exit::checkpoint),
        fault_(fault),
        at_call_(at_call),
        random_(seed),
        scratch_(std::move(scratch)) {}

  int64_t calls() const { return calls_; }

  void make_folder(const std::string& path) override {
    begin();
    Disk::make_folder(path);
    names_.push_back({Change::made, path, ""});
  }
  int create_file(const std::string& path) override {
    begin();
    const int file = Disk::create_file(path);
    paths_[file] = path;
    unsynced_.insert(path);
    names_.push_back({Change::made, path, ""});
    return file;
  }
  void write(int file, std::span<const std::byte> bytes) override {
    // A kill may come in the middle of a write.
    if (calls_ + 1 == at_call_ && fault_ != Fault::none) {
      Disk::write(file, bytes.first(bytes.size() / 2));
    }
    begin();
    Disk::write(file, bytes);
  }
  void sync_file(int file) override {
    begin();
    unsynced_.erase(paths_[file]);
  }
  void sync_folder(const std::string& path) override {
    begin();
    std::erase_if(names_, [&](const NameChange& c) { return base::parent_path(c.path) == path; });
  }
  void rename(const std::string& from, const std::string& to) override {
    begin();
    Disk::rename(from, to);
    names_.push_back({Change::renamed, from, to});
  }
  void remove_file(const std::string& path) override {
    begin();
    const std::string kept = base::join_path(scratch_, std::to_string(calls_));
    Disk::rename(path, kept);
    names_.push_back({Change::removed_file, path, kept});
  }
  void remove_folder(const std::string& path) override {
    begin();
    Disk::remove_folder(path);
    names_.push_back({Change::removed_folder, path, ""});
  }
  uint64_t free_bytes(const std::string& path) override {
    begin();
    return Disk::free_bytes(path);
  }

 private:
  enum class Change : uint8_t { made, renamed, removed_file, removed_folder };
  struct NameChange {
    Change change;
    std::string path, other;
  };

  void begin() {
    ++calls_;
    if (fault_ == Fault::none || calls_ < at_call_) return;
    if (fault_ == Fault::no_space) {
      if (calls_ == at_call_) throw base::SystemError(base::Exit::checkpoint, "no space", ENOSPC);
      return;
    }
    if (fault_ == Fault::power_loss && calls_ == at_call_) lose_power();
    throw Crash();  // and at every later call: a dead process does nothing
  }

  bool coin() { return random_() % 2 == 0; }

  // Bytes and names that no sync covers may be there or not, in any combination.
  void lose_power() {
    for (const std::string& path : unsynced_) {
      if (!base::file_exists(path)) continue;
      const uint64_t size = std::filesystem::file_size(path);
      std::filesystem::resize_file(path, random_() % (size + 1));
    }
    for (auto c = names_.rbegin(); c != names_.rend(); ++c) {
      if (coin()) undo(*c);
    }
  }

  static void undo(const NameChange& c) {
    std::error_code ignored;  // an undone folder takes its entries along
    switch (c.change) {
      case Change::made:
        std::filesystem::remove_all(c.path, ignored);
        break;
      case Change::renamed:
        std::filesystem::rename(c.other, c.path, ignored);
        break;
      case Change::removed_file:
        std::filesystem::rename(c.other, c.path, ignored);
        break;
      case Change::removed_folder:
        std::filesystem::create_directory(c.path, ignored);
        break;
    }
  }

  Fault fault_;
  int64_t at_call_, calls_ = 0;
  std::mt19937_64 random_;
  std::string scratch_;  // keeps removed files
  std::map<int, std::string> paths_;
  std::set<std::string> unsynced_;  // files
  std::vector<NameChange> names_;   // not yet on the disk, in order
};

using Fault = FaultyDisk::Fault;

bool is_soak() { return std::getenv("HEDDLE_SOAK") != nullptr; }

// Where checkpoints go, and where a faulty disk keeps what it removed.
struct Folder {
  Folder() { clear(); }
  void clear() const {
    root.clear();
    fs::create_directory(run());
    fs::create_directory(removed());
  }
  std::string run() const { return root.path() + "/run"; }
  std::string removed() const { return root.path() + "/removed"; }
  scratch::Folder root{"checkpoint"};
};

Tensor random_tensor(DType dtype, host::Shape shape, std::mt19937_64& random) {
  Tensor t = Tensor::make(dtype, std::move(shape));
  for (int64_t i = 0; i < t.bytes(); ++i) t.raw()[i] = static_cast<std::byte>(random());
  return t;
}

Snapshot make_snapshot(int64_t step) {
  std::mt19937_64 random(static_cast<uint64_t>(step));
  Snapshot s;
  s.facts.step = step;
  s.facts.progress = {step, step, step, step};
  s.facts.tokens_seen = 128 * step;
  s.facts.model = {{"dim", "32"}, {"dtype", "\"float32\""}};
  s.facts.settings = {{"training.steps", "10"}, {"training.lr", "1e-08"}};
  s.weights["a.weight"] = random_tensor(DType::f32, {5, 7}, random);
  s.weights["layers.1.moe.expert_bias"] = random_tensor(DType::f32, {3}, random);
  s.weights["empty"] = random_tensor(DType::f32, {0, 4}, random);
  s.weights["half"] = random_tensor(DType::bf16, {11}, random);
  s.moments["exp_avg.a.weight"] = random_tensor(DType::f32, {5, 7}, random);
  s.moments["exp_avg_sq.a.weight"] = random_tensor(DType::f64, {5, 7}, random);
  return s;
}

// Several blocks a tensor and several shards a kind.
constexpr WriteOptions small_pieces{.block_bytes = 48, .shard_bytes = 150};

bool same_tensors(const NamedTensors& a, const NamedTensors& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && host::same_bits(x.second, y.second);
  });
}

NamedTensors all_tensors(const Snapshot& s) {
  NamedTensors out = s.weights;
  out.insert(s.moments.begin(), s.moments.end());
  return out;
}

// Reads a checkpoint as a resume does; throws UserError when anything is wrong.
NamedTensors read_step(const std::string& folder, int64_t step) {
  const std::string path = checkpoint_path(folder, step);
  const Manifest manifest = read_manifest(path);
  if (manifest.step != step) base::fail_user(base::Exit::checkpoint, "another step");
  return read_tensors(path, manifest, Parts::all);
}

void write_step(base::Disk& disk, const std::string& folder, int64_t step) {
  write_checkpoint(disk, folder, make_snapshot(step), small_pieces);
}

TEST(Checkpoint, ReadsBackWhatWasWritten) {
  const Folder folder;
  base::Disk disk(base::Exit::checkpoint);
  for (const int64_t step : {3, 20}) write_step(disk, folder.run(), step);
  EXPECT_EQ(list_checkpoints(folder.run()), (std::vector<int64_t>{3, 20}));
  const std::string path = checkpoint_path(folder.run(), 20);
  const Manifest manifest = read_manifest(path);
  const Snapshot expected = make_snapshot(20);
  EXPECT_EQ(manifest.step, 20);
  EXPECT_EQ(manifest.progress, expected.facts.progress);
  EXPECT_EQ(manifest.tokens_seen, 2560);
  EXPECT_EQ(manifest.model, expected.facts.model);
  EXPECT_EQ(manifest.settings, expected.facts.settings);
  EXPECT_EQ(manifest.shards.size(), 4u);
  EXPECT_TRUE(same_tensors(read_step(folder.run(), 20), all_tensors(expected)));
  EXPECT_TRUE(same_tensors(read_tensors(path, manifest, Parts::weights), expected.weights));
  EXPECT_TRUE(same_tensors(read_tensors(path, manifest, Parts::moments), expected.moments));
  EXPECT_TRUE(find_damage(path, manifest).empty());
  EXPECT_EQ(to_text(parse_manifest(to_text(manifest), "again")), to_text(manifest));
}

TEST(Checkpoint, ListsOnlyCompleteNames) {
  const Folder folder;
  for (const char* name : {"step-1", "step-02", "step-", "step-3.tmp", "step-4.aside", "step--5",
                           "step-6x", "steps-7", "step-99999999999999999999"}) {
    fs::create_directory(folder.run() + "/" + name);
  }
  base::write_file(folder.run() + "/step-8", "a file", base::Exit::checkpoint);
  EXPECT_EQ(list_checkpoints(folder.run()), (std::vector<int64_t>{1}));
  base::Disk disk(base::Exit::checkpoint);
  remove_leftovers(disk, folder.run());
  EXPECT_FALSE(fs::exists(folder.run() + "/step-3.tmp"));
  EXPECT_TRUE(fs::exists(folder.run() + "/step-4.aside"));
  EXPECT_EQ(set_aside(disk, folder.run(), 1), folder.run() + "/step-1.aside");
  fs::create_directory(folder.run() + "/step-1");
  EXPECT_EQ(set_aside(disk, folder.run(), 1), folder.run() + "/step-1.aside2");
}

// What a run does when it saves: clear leftovers, write, remove the oldest.
void save_third(FaultyDisk& disk, const std::string& folder, bool& written) {
  remove_leftovers(disk, folder);
  write_step(disk, folder, 3);
  written = true;
  remove_checkpoint(disk, folder, 1);
}

int64_t calls_of_a_save(const Folder& folder) {
  FaultyDisk disk(Fault::none, 0, 0, folder.removed());
  folder.clear();
  write_step(disk, folder.run(), 1);
  write_step(disk, folder.run(), 2);
  const int64_t before = disk.calls();
  bool written = false;
  save_third(disk, folder.run(), written);
  return disk.calls() - before;
}

// One crash: after it the newest checkpoint is complete, and it is the new one when the save had
// ended; the next save works.
void crash_at(const Folder& folder, Fault fault, int64_t call, uint64_t seed) {
  SCOPED_TRACE(base::format("fault {}, call {}, seed {}", static_cast<int>(fault), call, seed));
  folder.clear();
  base::Disk sound(base::Exit::checkpoint);
  write_step(sound, folder.run(), 1);
  write_step(sound, folder.run(), 2);
  fs::create_directory(folder.run() + "/step-3.tmp");  // as an earlier crash leaves it
  base::write_file(folder.run() + "/step-3.tmp/x", "left over", base::Exit::checkpoint);
  FaultyDisk disk(fault, call, seed, folder.removed());
  bool written = false, crashed = false;
  try {
    save_third(disk, folder.run(), written);
  } catch (const Crash&) {
    crashed = true;
  }
  const std::vector<int64_t> steps = list_checkpoints(folder.run());
  ASSERT_FALSE(steps.empty());
  const int64_t newest = steps.back();
  ASSERT_TRUE(newest == 3 || (newest == 2 && !written)) << newest;
  ASSERT_TRUE(same_tensors(read_step(folder.run(), newest), all_tensors(make_snapshot(newest))));
  remove_leftovers(sound, folder.run());
  if (newest == 2) write_step(sound, folder.run(), 3);
  ASSERT_TRUE(same_tensors(read_step(folder.run(), 3), all_tensors(make_snapshot(3))));
  ASSERT_TRUE(crashed || call > disk.calls());
}

TEST(Checkpoint, ACrashAtEveryCallLeavesTheNewestComplete) {
  const Folder folder;
  const int64_t calls = calls_of_a_save(folder) + 2;  // and the leftover
  const int64_t wanted = is_soak() ? 2000 : 200;
  int64_t points = 0;
  for (uint64_t seed = 0; points < wanted; ++seed) {
    for (int64_t call = 1; call <= calls; ++call) {
      // A kill has no chance in it: once is enough.
      if (seed == 0) crash_at(folder, Fault::kill, call, seed), ++points;
      crash_at(folder, Fault::power_loss, call, seed), ++points;
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  std::cout << points << " crashes over " << calls << " calls\n";
}

TEST(Checkpoint, AFullDiskAtEveryCallLeavesTheOldOnes) {
  const Folder folder;
  const int64_t calls = calls_of_a_save(folder);
  for (int64_t call = 1; call <= calls; ++call) {
    SCOPED_TRACE(base::format("call {}", call));
    folder.clear();
    base::Disk sound(base::Exit::checkpoint);
    write_step(sound, folder.run(), 1);
    write_step(sound, folder.run(), 2);
    FaultyDisk disk(Fault::no_space, call, 0, folder.removed());
    bool written = false;
    EXPECT_THROW(save_third(disk, folder.run(), written), base::SystemError);
    EXPECT_TRUE(same_tensors(read_step(folder.run(), 2), all_tensors(make_snapshot(2))));
    if (!written && list_checkpoints(folder.run()).back() == 2) {
      for (const auto& entry : fs::directory_iterator(folder.run())) {
        EXPECT_FALSE(entry.path().extension() == ".tmp") << entry.path();
      }
    }
  }
}

class SmallDisk : public base::Disk {
 public:
  SmallDisk() : Disk(base::Exit::checkpoint) {}
  uint64_t free_bytes(const std::string&) override { return 1000; }
};

TEST(Checkpoint, AFullDiskSaysHowMuchIsMissing) {
  const Folder folder;
  SmallDisk disk;
  try {
    write_step(disk, folder.run(), 1);
    FAIL();
  } catch (const base::SystemError& e) {
    EXPECT_EQ(e.code(), ENOSPC);
    EXPECT_NE(e.message().find("are free:"), std::string::npos) << e.message();
    EXPECT_NE(e.message().find("are missing"), std::string::npos) << e.message();
  }
  EXPECT_TRUE(fs::is_empty(folder.run()));
}

using Files = std::map<std::string, std::string>;  // by path

Files read_files(const std::string& folder) {
  Files out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      out[entry.path()] = base::read_file(entry.path(), base::Exit::checkpoint);
    }
  }
  return out;
}

void put(const std::string& path, const std::string& bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
}

// Damages one or two files of the folder; returns what it did.
std::string damage(const Files& files, std::mt19937_64& random) {
  const auto pick = [&] {
    auto at = files.begin();
    std::advance(at, random() % files.size());
    return at;
  };
  const auto [path, bytes] = *pick();
  std::string changed = bytes;
  switch (random() % 7) {
    case 0:
      changed.resize(random() % (bytes.size() + 1));
      return put(path, changed), base::format("{} cut to {}", path, changed.size());
    case 1:
      changed += std::string(1 + random() % 64, static_cast<char>(random()));
      return put(path, changed), path + " extended";
    case 2: {
      const auto other = *pick();
      put(path, other.second);
      put(other.first, bytes);
      return base::format("{} and {} swapped", path, other.first);
    }
    case 3:
      fs::remove(path);
      return path + " removed";
    case 4: {
      const size_t at = random() % bytes.size(), length = 1 + random() % 100;
      for (size_t i = at; i < std::min(at + length, bytes.size()); ++i) changed[i] = 0;
      return put(path, changed), base::format("{} zeroed from {}", path, at);
    }
    default: {
      const size_t at = random() % bytes.size();
      changed[at] = static_cast<char>(changed[at] ^ (1 << random() % 8));
      return put(path, changed), base::format("{} flipped at {}", path, at);
    }
  }
}

// Files of two steps lie beside each other, so that swaps cross them.
TEST(Checkpoint, NoDamagePasses) {
  const Folder folder;
  base::Disk disk(base::Exit::checkpoint);
  for (const int64_t step : {1, 2}) write_step(disk, folder.run(), step);
  const Files files = read_files(folder.run());
  const uint64_t seed = 11;
  std::mt19937_64 random(seed);
  const int trials = is_soak() ? 100'000 : 2000;
  int harmless = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const std::string what = damage(files, random);
    int sound = 0;
    for (const int64_t step : {1, 2}) {
      try {
        const NamedTensors read = read_step(folder.run(), step);
        ASSERT_TRUE(same_tensors(read, all_tensors(make_snapshot(step))))
            << "seed " << seed << ", trial " << trial << ": " << what;
        ++sound;
      } catch (const base::UserError& e) {
        EXPECT_EQ(e.exit(), base::Exit::checkpoint) << what;
      }
    }
    harmless += sound == 2;
    for (const auto& [path, bytes] : files) put(path, bytes);
  }
  std::cout << trials << " damages, " << harmless << " without effect\n";
  EXPECT_LT(harmless, trials / 4);  // swaps with itself, zeros over zeros
}

TEST(Checkpoint, DamageIsNamed) {
  const Folder folder;
  base::Disk disk(base::Exit::checkpoint);
  write_step(disk, folder.run(), 1);
  const std::string path = checkpoint_path(folder.run(), 1);
  const Manifest manifest = read_manifest(path);
  const StoredTensor& tensor = manifest.tensors.at("exp_avg_sq.a.weight");
  const std::string file = path + "/" + manifest.shards[tensor.shard].file;
  std::string bytes = base::read_file(file, base::Exit::checkpoint);
  bytes[tensor.offset + 50] ^= 1;  // in its second block
  put(file, bytes);
  const std::vector<std::string> problems = find_damage(path, manifest);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find(file), std::string::npos);
  EXPECT_NE(problems[0].find("tensor exp_avg_sq.a.weight: block 2 of 6"), std::string::npos)
      << problems[0];
}

std::string message_of(const std::string& body) {
  try {
    parse_manifest(seal_manifest(body), "m");
  } catch (const base::UserError& e) {
    return e.message();
  }
  return "";
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Manifest, RefusesWhatDoesNotFit) {
  const Folder folder;
  base::Disk disk(base::Exit::checkpoint);
  write_step(disk, folder.run(), 1);
  const std::string file = checkpoint_path(folder.run(), 1) + "/manifest.json";
  const std::string text = base::read_file(file, base::Exit::checkpoint);
  const std::string body = text.substr(0, text.rfind("\"hash\": "));
  EXPECT_EQ(seal_manifest(body), text);
  const std::vector<std::array<std::string, 3>> cases = {
      {"heddle checkpoint", "other", "\"format\" is not"},
      {"\"version\": 1", "\"version\": 2", "written by a newer heddle: format 2 found"},
      {"\"step\": 1", "\"step\": -1", "a whole number"},
      {"\"step\": 1", "\"step\": 1e300", "a whole number"},
      {"\"step\": 1", "\"step\": 18446744073709551615", "a whole number"},
      {"\"contents\": \"all\"", "\"contents\": 3", "a text expected"},
      {"\"model\": {", "\"model\": [", "a JSON object expected"},
      {"\"dim\": 32", "\"dim\": {\"a\": 1}", "a plain value expected"},
      {"\"training.steps\": 10", "\"training.steps\": 11", "settings_hash"},
      {"\"block_bytes\": 48", "\"block_bytes\": 0", "1 or more expected"},
      {"\"block_bytes\": 48", "\"block_bytes\": 100", "hashes expected for"},
      {"model-00001", "../00001", "the plain name of a file"},
      {"\"shape\": [5,7]", "\"shape\": [4294967296,4294967296]", "too many elements"},
      {"\"shape\": [5,7]", "\"shape\": [0,7]", "hashes expected"},
      {"\"dtype\": \"F32\"", "\"dtype\": \"F31\"", "unknown dtype"},
      {"\"shard\": 0", "\"shard\": 9", "from 0 to 3 expected"},
      {"\"tensors\": {", "\"tensors\": 0, \"x\": {", "an object expected"},
  };
  for (const auto& [from, to, expected] : cases) {
    const std::string message = message_of(replaced(body, from, to));
    EXPECT_NE(message.find(expected), std::string::npos) << from << " -> " << to << ": " << message;
  }
  for (size_t length = 0; length < text.size(); length += 7) {
    EXPECT_THROW(parse_manifest(text.substr(0, length), "m"), base::UserError);
  }
}

// The fuzzer starts past the first refusals.
TEST(Manifest, SeedsOfTheFuzzerAreSound) {
  for (const char* seed : {"all", "empty"}) {
    const std::string path = std::string(HEDDLE_SOURCE_DIR) + "/tests/fuzz/manifest/" + seed;
    EXPECT_EQ(message_of(base::read_file(path, base::Exit::checkpoint)), "") << path;
  }
}

}  // namespace
}  // namespace trainer
