// The command line of heddle: the table of commands, help, and how errors become exit codes.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace program {

using Arguments = std::span<const std::string>;

struct Command {
  std::string_view name;
  std::string_view group;           // heading of the first help page
  std::string_view summary;         // one line of that page
  std::string_view usage;           // the page of `heddle NAME --help`
  int (*run)(Arguments arguments);  // after the command's name; returns the exit code
};

std::span<const Command> commands();

// Runs a whole command line (without the program's name) and returns its exit code. Errors go to
// stderr as "error: ..."; nothing is thrown.
int run(Arguments arguments);

// The pages of help.
std::string first_page();
std::string all_flags();
std::string topic_page(std::string_view topic);  // throws UserError for an unknown topic

// Writes to stdout; a full disk or closed pipe is a SystemError, not a silent loss.
void print(std::string_view text);

}  // namespace program
