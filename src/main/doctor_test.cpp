// heddle doctor: names what is missing and exits 9, or finds everything.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "main/commands.h"

namespace program {
namespace {

struct Result {
  int code;
  std::string output;
};

Result doctor(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  const int code = run_doctor(arguments);
  return {code, testing::internal::GetCapturedStdout()};
}

TEST(Doctor, SaysWhatIsMissingAndWhatMendsIt) {
  const Result r =
      doctor({"--training.dataset=mine", "--training.dataset_path=/none/text",
              "--model.hf_assets_path=/none/tokenizer", "--job.dump_folder=/dev/null/x"});
  EXPECT_EQ(r.code, 9);
  EXPECT_NE(r.output.find("GFLOP/s"), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("oneDNN 2."), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("tokenizer  MISSING: "), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("./run_train.sh"), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("data       MISSING: "), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("not ready  "), std::string::npos) << r.output;
}

TEST(Doctor, FindsEverythingForACaseOfBatches) {
  const std::string folder = HEDDLE_SOURCE_DIR "/tests/goldens/tiny-softmax/";
  const Result r = doctor({"--job.config_file=" + folder + "config.toml",
                           "--training.dataset_path=" + folder + "batches.safetensors",
                           "--job.dump_folder=" + testing::TempDir()});
  EXPECT_EQ(r.code, 0) << r.output;
  EXPECT_NE(r.output.find("ready      nothing is missing"), std::string::npos) << r.output;
}

}  // namespace
}  // namespace program
