// The command line: dispatch, help, exit codes.
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "base/error.h"
#include "config/settings.h"
#include "main/program.h"

namespace program {
namespace {

struct Outcome {
  int code;
  std::string out, error;
};

Outcome run_line(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run(arguments);
  const std::string error = testing::internal::GetCapturedStderr();
  return {code, testing::internal::GetCapturedStdout(), error};
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Main, NoCommandIsAUsageErrorWithThePage) {
  const Outcome outcome = run_line({});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.error, first_page());
}

TEST(Main, HelpListsTheCommandsThereAre) {
  const Outcome outcome = run_line({"--help"});
  EXPECT_EQ(outcome.code, 0);
  for (const Command& command : commands()) {
    EXPECT_TRUE(contains(outcome.out, "  " + std::string(command.name) + " ")) << command.name;
    const Outcome page = run_line({std::string(command.name), "--help"});
    EXPECT_EQ(page.code, 0);
    EXPECT_EQ(page.out, command.usage);
    EXPECT_EQ(run_line({"help", std::string(command.name)}).out, command.usage);
  }
}

TEST(Main, EveryConfigSectionIsATopic) {
  for (const config::Section& section : config::all_sections()) {
    const Outcome page = run_line({"help", std::string(section.name)});
    EXPECT_EQ(page.code, 0) << section.name;
    EXPECT_TRUE(contains(page.out, "[" + std::string(section.name) + "]")) << section.name;
  }
  EXPECT_TRUE(contains(run_line({"help", "exit-codes"}).out, "  75   stopped"));
  EXPECT_TRUE(contains(run_line({"help", "flags"}).out, "--section.no_key"));
  EXPECT_EQ(run_line({"help", "trainig"}).error,
            "error: no help on \"trainig\"; did you mean \"training\"?\n");
}

TEST(Main, HelpAllNamesEveryKey) {
  const std::string page = run_line({"--help-all"}).out;
  for (const config::Key& key : config::all_keys()) {
    if (key.kind == config::Kind::list_of_lists) continue;  // only a file can set it
    EXPECT_TRUE(contains(page, "--" + std::string(key.name))) << key.name;
  }
}

TEST(Main, UnknownCommand) {
  const Outcome outcome = run_line({"confg"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.error, "error: unknown command \"confg\"; did you mean \"config\"?\n");
  EXPECT_EQ(run_line({"zzzzzz"}).error,
            "error: unknown command \"zzzzzz\"; `heddle help` lists what there is\n");
}

TEST(Main, ConfigErrorsAreShownWithTheirPlace) {
  const Outcome outcome = run_line({"config", "show", "--training.stps=3"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.error,
            "error: unknown key \"training.stps\"\n  --> command line: --training.stps=3\n"
            "      did you mean \"training.steps\"?\n");
}

TEST(Main, ConfigActions) {
  const Outcome shown = run_line({"config", "show", "--origin", "--training.steps=3"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_TRUE(contains(shown.out, "steps = 3                                 # command line\n"));
  const Outcome plain = run_line({"config", "show"});
  EXPECT_TRUE(contains(plain.out, "\nsteps = 10000\n"));
  const Outcome key = run_line({"config", "explain", "optimizer.lr"});
  EXPECT_TRUE(contains(key.out, "now      0.0008 (default)"));
  EXPECT_EQ(run_line({"config", "explain", "training.lr"}).error,
            "error: unknown key \"training.lr\"; did you mean \"optimizer.lr\"?\n");
  EXPECT_TRUE(contains(run_line({"config", "schema"}).out, "\"name\": \"debug.dump_step\""));
  EXPECT_TRUE(contains(run_line({"config", "lint", "--training.gc_freq=3"}).out,
                       "ok     1 keys given, 1 of them inert, 0 warnings"));
  EXPECT_EQ(run_line({"config", "shw"}).error,
            "error: config: expected show, explain, schema, lint, found \"shw\"; did you mean "
            "\"show\"?\n");
  EXPECT_EQ(run_line({"config"}).code, 2);
}

TEST(Main, ConvertDiff) {
  // Golden files of one case differ by float32 rounding only.
  const std::string folder = HEDDLE_SOURCE_DIR "/tests/goldens/tiny-softmax/";
  const std::string a = folder + "expected.f32.safetensors",
                    b = folder + "expected.f64.safetensors";
  const Outcome same = run_line({"convert", "diff", a, a, "--rtol=0"});
  EXPECT_EQ(same.code, 0) << same.error;
  EXPECT_EQ(run_line({"convert", "diff", a, b, "--rtol", "1e-2"}).code, 0);
  const Outcome over = run_line({"convert", "diff", a, b, "--rtol", "1e-12"});
  EXPECT_EQ(over.code, 9);
  EXPECT_TRUE(contains(over.out, "OVER"));
  EXPECT_EQ(run_line({"convert", "diff", a, folder + "weights.safetensors"}).code, 9)
      << "no name is common";
  EXPECT_EQ(run_line({"convert", "diff", a, folder + "none.safetensors"}).code, 4);
  EXPECT_EQ(run_line({"convert", "diff", a, folder + "config.toml"}).code, 4);
  EXPECT_EQ(run_line({"convert", "diff", a}).error,
            "error: convert diff: expected two files, found 1\n");
  EXPECT_EQ(run_line({"convert", "diff", a, b, "--rtol", "small"}).error,
            "error: convert diff: --rtol is \"small\": expected a number such as 1e-6\n");
  EXPECT_EQ(run_line({"convert", "diff", a, b, "--atol=1"}).code, 2);
  EXPECT_EQ(run_line({"convert", "merge"}).code, 2);
}

}  // namespace
}  // namespace program
