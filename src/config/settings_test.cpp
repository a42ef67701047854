// Precedence, flags, inert keys, round trips, and the text of every error (errors.golden: edit the
// inputs there and accept the text with ./dev golden --update config).
#include "config/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "config/job_config.h"
#include "config/problems.h"
#include "config/show.h"
#include "tests/support/golden_file.h"

namespace config {
namespace {

std::string error_of(std::string_view toml, const List& flags) {
  try {
    read_settings_text(toml, "run.toml", flags);
  } catch (const base::UserError& error) {
    EXPECT_EQ(error.exit(), base::Exit::config);
    return "error: " + error.message() + "\n";
  }
  return "no error\n";
}

struct Case {
  std::string title;
  List toml, flags;
};

// The inputs of a golden file: "=== title", "--- toml", "--- flags"; what stands under "--- error"
// is output.
std::vector<Case> cases_of(const std::string& golden) {
  std::vector<Case> cases;
  List ignored, *into = &ignored;
  List lines = base::split(golden, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (const std::string& line : lines) {
    if (line.starts_with("=== ")) {
      cases.push_back({line.substr(4), {}, {}});
      into = &ignored;
    } else if (line == "--- toml") {
      into = &cases.back().toml;
    } else if (line == "--- flags") {
      into = &cases.back().flags;
    } else if (line == "--- error") {
      into = &ignored;
    } else {
      into->push_back(line);
    }
  }
  return cases;
}

TEST(Settings, ErrorTexts) {
  const std::string path = "src/config/errors.golden";
  std::string out;
  for (const Case& c : cases_of(golden::read_file(HEDDLE_SOURCE_DIR "/" + path))) {
    out += "=== " + c.title + "\n";
    if (!c.toml.empty()) out += "--- toml\n" + base::join(c.toml, "\n") + "\n";
    if (!c.flags.empty()) out += "--- flags\n" + base::join(c.flags, "\n") + "\n";
    out += "--- error\n" + error_of(base::join(c.toml, "\n") + "\n", c.flags);
  }
  EXPECT_EQ(out.find("no error"), std::string::npos) << "a case of errors.golden is accepted";
  golden::expect_golden(path, out);
}

TEST(Settings, CommandLineOverFileOverDefault) {
  const Settings s = read_settings_text("[training]\nsteps = 3\nseq_len = 64\n", "run.toml",
                                        List{"--training.steps=5", "--training.steps", "7"});
  EXPECT_EQ(s.integer("training.steps"), 7);
  EXPECT_EQ(s.integer("training.seq_len"), 64);
  EXPECT_EQ(s.integer("training.local_batch_size"), 8);
  EXPECT_EQ(to_text(s.at("training.steps").origin), "command line");
  EXPECT_EQ(to_text(s.at("training.seq_len").origin), "run.toml:3");
  EXPECT_EQ(to_text(s.at("training.local_batch_size").origin), "default");
  EXPECT_EQ(to_text(s.at("model.args.dim").origin), "flavor debugmodel");
}

TEST(Settings, FlagForms) {
  const Settings s = read_settings(List{"--training.seq-len",
                                        "128",
                                        "--job.print-config",
                                        "--compile.no-enable",
                                        "--compile.disable_passes=a, b,c",
                                        "--training.global_batch_size",
                                        "-1",
                                        "--optimizer.lr=2e-3",
                                        "--training.max_norm",
                                        "inf",
                                        "--model.args.dim",
                                        "32",
                                        "--model.args.moe_args.num-experts",
                                        "4",
                                        "--model.args.moe_args.load_balance_coeff",
                                        "None",
                                        "--model.args.moe_args.use_grouped_mm",
                                        "--job.description",
                                        "a=b --c",
                                        "--quantize.linear.float8.filter-fqns="});
  EXPECT_EQ(s.integer("training.seq_len"), 128);
  EXPECT_TRUE(s.flag("job.print_config"));
  EXPECT_FALSE(s.flag("compile.enable"));
  EXPECT_EQ(s.list("compile.disable_passes"), (List{"a", "b", "c"}));
  EXPECT_EQ(s.text("job.description"), "a=b --c");
  EXPECT_EQ(s.list("quantize.linear.float8.filter_fqns"), List{});
  const JobConfig c = job_config(s);
  EXPECT_EQ(c.optimizer.lr, 2e-3);
  EXPECT_TRUE(c.training.max_norm > 1e300);
  EXPECT_EQ(c.model.args.dim, 32);
  EXPECT_EQ(c.model.args.moe_args.num_experts, 4);
  EXPECT_FALSE(c.model.args.moe_args.load_balance_coeff.has_value());
  EXPECT_TRUE(c.model.args.moe_args.use_grouped_mm);
  EXPECT_FALSE(c.compile.enable);
}

TEST(Settings, DefaultsOfTheRun) {
  const JobConfig c = job_config(read_settings({}));
  EXPECT_EQ(c.model.name, "deepseek_v3");
  EXPECT_EQ(c.training.mixed_precision_param, "float32");
  EXPECT_TRUE(c.compile.enable);
  EXPECT_EQ(c.debug.seed, 0);
  EXPECT_EQ(c.training.global_batch_size, 8);
  EXPECT_EQ(c.training.accumulation_steps, 1);
  EXPECT_FALSE(c.model.args.moe_args.use_grouped_mm);
  EXPECT_EQ(c.model.args.max_seq_len, 2048);
  EXPECT_FALSE(c.lr_scheduler.decay_ratio.has_value());
}

TEST(Settings, AccumulationAndForcedBalance) {
  const JobConfig c = job_config(read_settings_text(
      "[training]\nlocal_batch_size = 2\nglobal_batch_size = 8\ndataset = \"Novels\"\n"
      "[debug]\nmoe_force_load_balance = true\nseed = 9223372036854775807\n",
      "run.toml", {}));
  EXPECT_EQ(c.training.accumulation_steps, 4);
  EXPECT_EQ(c.training.dataset, "novels");
  EXPECT_TRUE(c.model.args.moe_args.debug_force_load_balance);
  EXPECT_EQ(c.debug.seed, INT64_MAX);
}

TEST(Settings, GroupsMayBeTakenFromAFlavor) {
  const JobConfig c = job_config(read_settings(
      List{"--model.flavor", "671B", "--model.args.moe_args.num_expert_groups", "none"}));
  EXPECT_FALSE(c.model.args.moe_args.num_expert_groups.has_value());
  EXPECT_FALSE(c.model.args.moe_args.num_limited_groups.has_value());
}

TEST(Settings, InertKeysAreCheckedAcceptedAndExplained) {
  const Settings s = read_settings_text(
      "[checkpoint]\ninterval = 10\n[quantize.grouped_mm.float8]\nfqns = \"experts\"\n"
      "[training]\ndtype = \"float64\"\nmixed_precision_param = \"bfloat16\"\n",
      "run.toml", {});
  const auto why = [&](std::string_view key) { return why_inert(*find_key(key), s); };
  EXPECT_EQ(why("checkpoint.interval"), "checkpoint.enable is false");
  EXPECT_EQ(why("training.mixed_precision_param"), "training.dtype is \"float64\"");
  EXPECT_EQ(why("quantize.grouped_mm.float8.fqns"), "model.converters is []");
  EXPECT_EQ(why("activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns"),
            "activation_checkpoint.selective_ac_option is \"2\"");
  EXPECT_EQ(why("training.steps"), "");
  EXPECT_EQ(s.list("quantize.grouped_mm.float8.fqns"), List{"experts"});
  EXPECT_NE(to_toml(s, Origins::hidden).find("# inert: checkpoint.enable is false"),
            std::string::npos);
}

TEST(Settings, Warnings) {
  const Settings s = read_settings_text(
      "[model]\ntokenizer_path = \"./tok\"\n[model.args]\nmax_seq_len = 5\n"
      "[training]\nsteps = 10\n[lr_scheduler]\ndecay_ratio = 0.8\n",
      "run.toml", {});
  EXPECT_EQ(s.text("model.hf_assets_path"), "./tok");
  EXPECT_EQ(s.warnings,
            (List{"model.tokenizer_path is deprecated; use model.hf_assets_path",
                  "model.args.max_seq_len is 5 but training.seq_len 2048 decides",
                  "lr_scheduler.warmup_steps is 200 but training.steps is 10: the learning rate "
                  "rises all the time",
                  "warm-up and decay take more than training.steps 10: the decay is cut to 0 "
                  "steps"}));
}

TEST(Settings, CompilerSwitchesThatDoNothingYetWarn) {
  EXPECT_EQ(read_settings(List{"--compile.dump=all", "--compile.verify=change"}).warnings,
            List{"compile.dump does nothing: no pass runs before the interpreter yet"});
}

// `config show` prints what `config` reads: values and what is unset survive the trip.
TEST(Settings, ShownSettingsReadBack) {
  const Settings s =
      read_settings(List{"--model.flavor=236B", "--training.max_norm=inf", "--debug.seed=3",
                         "--model.args.moe_args.load_balance_coeff=none", "--compile.no_enable",
                         "--parallelism.context_parallel_load_balancer=none",
                         "--job.description=a \"quoted\"\tline\\"});
  for (const Origins origins : {Origins::hidden, Origins::shown}) {
    const Settings again = read_settings_text(to_toml(s, origins), "shown.toml", {});
    for (const Key& key : all_keys()) {
      EXPECT_EQ(to_toml(again.at(key.name).value), to_toml(s.at(key.name).value)) << key.name;
    }
    EXPECT_TRUE(again.warnings.empty());
  }
}

TEST(Settings, Files) {
  const auto error = [](const std::string& path) {
    try {
      read_settings(List{"--job.config_file=" + path});
    } catch (const base::UserError& e) {
      EXPECT_EQ(e.exit(), base::Exit::config);
      return e.message().substr(0, e.message().find('\n'));
    }
    return std::string("no error");
  };
  EXPECT_EQ(error("/nonexistent.toml"), "cannot read /nonexistent.toml: no such file or directory");
  EXPECT_EQ(error("/"), "cannot read /: is a directory");
  EXPECT_EQ(error("/dev/null"), "no error");  // an empty file is fine
  EXPECT_EQ(error("/dev/zero"), "/dev/zero: at most 1.00 MiB expected, found more");
  const std::string path = testing::TempDir() + "/not_utf8.toml";
  std::ofstream(path, std::ios::binary) << "[job]\ndescription = \"\xC3\xA9\xFF\"\n";
  EXPECT_EQ(error(path), "not valid UTF-8");
  std::remove(path.c_str());
}

TEST(Settings, BytesThatAreNoTextStayOutOfMessages) {
  EXPECT_EQ(error_of("[job]\ndescription = \"a\\u0000b\"\n", {}).find('\0'), std::string::npos);
  const std::string text = error_of("\"\\u001b[31m\" = 1\n", {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_NE(error_of("", List{"--training.dataset=\xFF"}).find("not valid UTF-8"),
            std::string::npos);
  EXPECT_NE(error_of("[job]\ndump_folder = \"a\\u0000b\"\n", {}).find("code 0"), std::string::npos);
}

TEST(Settings, ManyErrorsAreCounted) {
  std::string toml = "[training]\n";
  for (int i = 0; i < 50; ++i) toml += base::format("x{} = 1\n", i);
  EXPECT_NE(error_of(toml, {}).find("and 30 more errors"), std::string::npos);
}

std::string repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// Each of these once took gigabytes, minutes or the whole stack.
TEST(Settings, HostileSizesEndInShortMessages) {
  const std::string deep = "a key of more than 32 parts";
  EXPECT_NE(error_of(repeat("a.", 500000) + "a = 1\n", {}).find(deep), std::string::npos);
  EXPECT_NE(error_of("[" + repeat("a.", 500000) + "a]\n", {}).find(deep), std::string::npos);
  EXPECT_NE(error_of("x = {" + repeat("\"=\".", 200000) + "a = 1}\n", {}).find(deep),
            std::string::npos);
  std::string crowded = "training = {";
  for (int i = 0; i < 90000; ++i) crowded += base::format("k{} = 1, ", i);
  for (const std::string& toml :
       {crowded + "z = 1}\n", "[training]\nsteps = \"" + repeat("x", 1000000) + "\"\n",
        "\"" + repeat("x", 1000000) + "\" = 1\n"}) {
    const std::string text = error_of(toml, {});
    EXPECT_NE(text, "no error\n");
    EXPECT_LT(text.size(), 10000u) << toml.substr(0, 40);
  }
  // Dots in strings and comments are no key.
  const std::string dots = repeat(".", 99);
  EXPECT_EQ(error_of("[job]\n# " + dots + "\ndescription = '''\n" + dots + "'''\ndump_folder = \"" +
                         dots + "\\\"" + dots + "\"\n",
                     {}),
            "no error\n");
}

TEST(Schema, IsSound) {
  for (const Key& key : all_keys()) {
    EXPECT_FALSE(key.help.empty()) << key.name;
    EXPECT_EQ(find_key(key.name), &key);
    EXPECT_TRUE(std::ranges::any_of(all_sections(), [&](const Section& section) {
      return section.name == section_of(key.name);
    })) << key.name;
    EXPECT_EQ(key.missing_if.how == Condition::How::never, key.missing.empty()) << key.name;
    for (const Condition* condition : {&key.counts_if, &key.missing_if}) {
      EXPECT_TRUE(condition->key.empty() || find_key(condition->key)) << key.name;
    }
    // A default passes the key's own checks.
    Draft draft;
    if (!std::holds_alternative<std::monostate>(key.fallback)) assign(draft, key, key.fallback, {});
    EXPECT_TRUE(draft.problems.empty()) << to_text(draft.problems);
  }
}

// Every key either reaches JobConfig, or is inert, refused or read by a rule named here.
TEST(Schema, NoKeyThatCountsIsIgnored) {
  const List read_by_rules = {"job.custom_config_module",
                              "model.tokenizer_path",
                              "experimental.custom_args_module",
                              "debug.moe_force_load_balance",
                              "parallelism.data_parallel_replicate_degree",
                              "parallelism.data_parallel_shard_degree",
                              "parallelism.tensor_parallel_degree",
                              "parallelism.pipeline_parallel_degree",
                              "parallelism.context_parallel_degree",
                              "parallelism.expert_parallel_degree"};
  const List fields = keys_in_job_config();
  for (const std::string& name : fields) EXPECT_NE(find_key(name), nullptr) << name;
  const Settings defaults = read_settings({});
  for (const Key& key : all_keys()) {
    const bool known = std::ranges::find(fields, key.name) != fields.end() ||
                       std::ranges::find(read_by_rules, key.name) != read_by_rules.end() ||
                       key.name.starts_with("model.args.");
    const bool no_choice = key.choices.size() == 1;
    EXPECT_TRUE(known || no_choice || !key.missing.empty() || !why_inert(key, defaults).empty())
        << key.name;
  }
}

}  // namespace
}  // namespace config
