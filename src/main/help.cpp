// Pages of help: the first page, all flags, topics.
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "config/show.h"
#include "main/commands.h"

namespace program {
namespace {

constexpr std::string_view exit_codes = R"(Exit codes

  0    success
  1    internal failure
  2    usage or configuration
  3    data or tokenizer
  4    checkpoint or weights
  5    numerics: a loss or gradient norm that is not finite
  6    does not fit, out of memory
  7    communication or rank failure
  8    compiler failure
  9    a check failed (doctor, convert diff)
  75   stopped with a good checkpoint: run again
  130  stopped by Ctrl-C, nothing saved
  138  stopped by SIGUSR1, nothing saved
  143  stopped by SIGTERM, nothing saved
)";

constexpr std::string_view flags_page = R"(Flags

  --section.key value     or --section.key=value; "_" and "-" are alike in names
  --section.key           switches a key of type true or false on,
  --section.no_key        and this off
  --section.key a,b,c     a list
  --section.key none      unsets a key that may be unset

The command line wins over the file that --job.config_file names, and the file over the defaults.
Whatever is wrong is reported together, with file, line and column, before anything starts.
)";

// "--section.key" and so on; each with its one-line meaning.
std::string topics_line() {
  std::string out = "Topics: exit-codes, flags";
  for (const Command& command : commands()) out += ", " + std::string(command.name);
  out += "\nConfig sections:";
  size_t width = out.size() - out.rfind('\n') - 1;
  for (const config::Section& section : config::all_sections()) {
    if (width + section.name.size() > 90) out += "\n ", width = 1;
    out += " " + std::string(section.name);
    width += section.name.size() + 1;
  }
  return out + "\n";
}

}  // namespace

std::string first_page() {
  std::string out = "usage: heddle <command> [options] [--section.key value ...]\n";
  std::string_view group;
  for (const Command& command : commands()) {
    if (command.group != group) out += base::format("\n{}\n", command.group);
    group = command.group;
    out += base::format("  {:<10}  {}\n", command.name, command.summary);
  }
  return out +
         "\nheddle <command> --help for one command, heddle --help-all for every config key,\n"
         "heddle help flags and heddle help SECTION for more.\n";
}

std::string all_flags() {
  std::string out(flags_page);
  for (const config::Section& section : config::all_sections()) {
    out += "\n" + config::section_help(section.name);
  }
  return out;
}

std::string topic_page(std::string_view topic) {
  if (topic == "exit-codes" || topic == "exit_codes") return std::string(exit_codes);
  if (topic == "flags") return std::string(flags_page) + "\n" + topics_line();
  std::vector<std::string> topics = {"exit-codes", "flags"};
  for (const Command& command : commands()) {
    if (command.name == topic) return std::string(command.usage);
    topics.emplace_back(command.name);
  }
  if (config::is_section(topic) || config::find_key(topic)) {
    return config::explain(topic, config::read_settings({}));
  }
  for (const config::Section& section : config::all_sections()) topics.emplace_back(section.name);
  const std::string near = base::nearest(topic, topics);
  base::fail_user(base::Exit::config, "no help on \"{}\"{}", topic,
                  near.empty() ? "; `heddle help flags` lists the topics"
                               : base::format("; did you mean \"{}\"?", near));
}

int run_help(Arguments arguments) {
  if (arguments.size() > 1) {
    base::fail_user(base::Exit::config, "help: expected one topic, found {}", arguments.size());
  }
  print(arguments.empty() ? first_page() + "\n" + topics_line() : topic_page(arguments[0]));
  return 0;
}

}  // namespace program
