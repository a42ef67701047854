// Dispatch: the table of commands, and errors to exit codes.
#include "main/program.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "main/commands.h"

namespace program {
namespace {

const Command table[] = {
    {"train", "Start here", "train a model from a torchtitan TOML file and flags",
     R"(usage: heddle train [--job.config_file FILE] [--section.key value ...]

Takes torchtitan's TOML files and flags as they are. Flags win over the file, the file over the defaults;
`heddle config show --origin` with the same flags tells where each value comes from.

  heddle train --job.config_file=configs/debug_model.toml --training.steps 400

Writes into job.dump_folder: config.toml (every resolved value with its origin), command.txt, and
metrics.jsonl (one line a step). With --checkpoint.enable also a checkpoint every checkpoint.interval
steps and at the end, and the same command goes on from the newest sound one, bit for bit.
Ctrl-C (SIGINT), SIGTERM and SIGUSR1 end the run after the step, saved and with exit 75 where
checkpoints are on; a second one ends it at once.
The data and the tokenizer of that file are made by ./run_train.sh.
)",
     run_train},
    {"doctor", "Start here", "check this machine, libraries, tokenizer, data, disk",
     R"(usage: heddle doctor [--section.key value ...]

Prints what the machine is and what it can do (measured, about two seconds), and checks that
tokenizer, data and disk are there for the run that these flags describe (configs/debug_model.toml
where no config file is given). Says for each thing that is missing what mends it. Exit 9 when
something is.
)",
     run_doctor},
    {"convert", "Models and data", "diff | inspect | verify: safetensors files, checkpoints",
     R"(usage: heddle convert diff A B [--rtol X]
       heddle convert inspect PATH
       heddle convert verify PATH

inspect  what a checkpoint, or the newest in a folder of them, or a safetensors file holds
verify   reads every byte of a checkpoint, or of all in a folder, against the hashes in its
         manifest; exit 9 when one is not what was written
diff     compares two safetensors files, as follows

Compares the tensors that both files have: the largest difference over the largest value of B, and
the first place that is over X (1e-6 unless given). Dtypes may differ. Names that only one file has
are listed. Rows of router.I.ids are compared as sets, router.I.top_scores in the order of their
ids. Exit 9 when a tensor is over, has another shape, or no name is common.
)",
     run_convert},
    {"tokenizer", "Models and data", "train | encode | decode | inspect",
     R"(usage: heddle tokenizer train INPUT... FOLDER [--vocab_size 2048]
       heddle tokenizer encode TOKENIZER [TEXT]
       heddle tokenizer decode TOKENIZER [ID...]
       heddle tokenizer inspect TOKENIZER

train    a byte-level BPE from text files, JSONL files or folders of them; writes
         FOLDER/tokenizer.json and FOLDER/tokenizer_config.json, which Hugging Face loads too
encode   the ids of TEXT, or of standard input
decode   the text of the ids, or of those on standard input
inspect  how many tokens there are, BOS and EOS, and what text is lost

TOKENIZER is a folder with a tokenizer.json, or that file.
)",
     run_tokenizer},
    {"config", "Look deeper", "show | explain | schema | lint: what a configuration means",
     R"(usage: heddle config show [--origin] [--section.key value ...]
       heddle config explain KEY [--section.key value ...]
       heddle config schema
       heddle config lint [--section.key value ...]

show     the resolved configuration as a TOML file that reads back; inert keys are marked, and
         --origin tells where each value came from
explain  one key: meaning, type, default, value, when it counts; or all keys of a section
schema   all keys as JSON
lint     reads the configuration and lists warnings and the given keys that are inert
)",
     run_config},
    {"help", "Look deeper", "TOPIC: a command, a config section, or exit-codes",
     "usage: heddle help [TOPIC]\n", run_help},
};

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  const std::string near = base::nearest(name, names);
  base::fail_user(base::Exit::config, "unknown command \"{}\"{}", name,
                  near.empty() ? "; `heddle help` lists what there is"
                               : base::format("; did you mean \"{}\"?", near));
}

bool is_help_flag(const std::string& argument) { return argument == "--help" || argument == "-h"; }

int dispatch(Arguments arguments) {
  if (arguments.empty()) {
    std::fputs(first_page().c_str(), stderr);
    return static_cast<int>(base::Exit::config);
  }
  if (is_help_flag(arguments[0])) return print(first_page()), 0;
  if (arguments[0] == "--help-all") return print(first_page() + "\n" + all_flags()), 0;
  if (arguments[0] == "--version") return print("heddle " HEDDLE_VERSION "\n"), 0;
  const Command& command = find_command(arguments[0]);
  const Arguments rest = arguments.subspan(1);
  if (std::ranges::any_of(rest, is_help_flag)) return print(command.usage), 0;
  if (std::ranges::find(rest, "--help-all") != rest.end()) {
    return print(std::string(command.usage) + "\n" + all_flags()), 0;
  }
  return command.run(rest);
}

int report(std::string_view message, base::Exit exit) {
  std::fflush(stdout);
  std::fprintf(stderr, "error: %.*s\n", static_cast<int>(message.size()), message.data());
  return static_cast<int>(exit);
}

}  // namespace

std::span<const Command> commands() { return table; }

int run(Arguments arguments) {
  try {
    const int code = dispatch(arguments);
    if (std::fflush(stdout) != 0) {
      return report(std::string("cannot write the output: ") + std::strerror(errno),
                    base::Exit::internal);
    }
    return code;
  } catch (const base::Error& error) {
    return report(error.message(), error.exit());
  } catch (const std::bad_alloc&) {
    return report("out of memory", base::Exit::memory);
  } catch (const std::exception& error) {
    return report(std::string("internal failure: ") + error.what(), base::Exit::internal);
  }
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    throw base::SystemError(base::Exit::internal,
                            std::string("cannot write the output: ") + std::strerror(errno), errno);
  }
}

}  // namespace program
