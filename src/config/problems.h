// Collects what is wrong with a configuration and prints it; inside this room only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/model_args.h"
#include "config/settings.h"

namespace config {

struct Problem {
  std::string message;
  Origin at;
  std::string hint = {};  // what to try; stands behind the caret
};

// One value that file or command line gives to one key.
struct Assignment {
  size_t key = 0;
  Value value;
  Origin origin;
};

struct Draft {
  std::vector<Assignment> assignments;  // later ones win
  std::vector<Problem> problems;
  std::vector<bool> broken;  // by key: a value was refused, so rules over it are left out
  List warnings;

  Draft() : broken(all_keys().size(), false) {}
};

// Collected at most; the file is then left alone.
inline constexpr size_t enough_problems = 100;

// Text of users in messages: no control characters, not endlessly long.
std::string clip(std::string_view text);
std::string show(std::string_view text);  // the same in quotes

std::string expectation(const Key& key);  // "an integer"

// `hint` as "did you mean "x"?", or empty.
std::string did_you_mean(std::string_view suggestion);

// All problems as one text, in order of files, lines and flags. The first line has no "error: "
// before it: whoever prints an error writes that.
std::string to_text(std::vector<Problem> problems);

// Checks type (after reading), range and choices of a value; adds a problem or an assignment.
void assign(Draft& draft, const Key& key, Value value, Origin origin);

void read_toml(Draft& draft, std::string_view text, std::string_view file_name);
void read_flags(Draft& draft, std::span<const std::string> flags);

// Rules over several keys, and features that Heddle does not have.
void check_settings(Draft& draft, Settings& settings);

// Fills model.args.* that nobody set from the flavor; checks the fields against each other.
void fill_model_args(Draft& draft, Settings& settings);
ModelArgs model_args(const Settings& settings);

List keys_in_job_config();  // all but model.args.*

}  // namespace config
