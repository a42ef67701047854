// Reads TOML file and flags into one table with the origin of every value; everything wrong with
// them is reported together.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace config {

struct Origin {
  enum class From : uint8_t { fallback, flavor, file, command_line };
  From from = From::fallback;
  std::string name = {};       // the file, the flag as typed, or the flavor
  int line = 0, column = 0;    // of the value in the file, from 1
  std::string line_text = {};  // that line of the file, or the part of it around the place
  int mark = 0, width = 0;     // first character of line_text to mark, from 1; how many
};

std::string to_text(const Origin& origin);  // "default", "run.toml:14", "command line"

struct Setting {
  Value value;
  Origin origin;
};

struct Settings {
  std::vector<Setting> values;  // one a key, in the order of `all_keys`
  List warnings;                // for the user to see once, such as a deprecated key

  const Setting& at(std::string_view key) const { return values[key_index(key)]; }
  bool given(std::string_view key) const;  // set by file or command line

  // Values by type; the key must have that type and be set.
  bool flag(std::string_view key) const;
  int64_t integer(std::string_view key) const;
  double real(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  const List& list(std::string_view key) const;
};

bool holds(const Condition& test, std::string_view owner, const Settings& settings);

// Why a key's value does not matter in these settings: "checkpoint.enable is false". Empty when it
// does matter.
std::string why_inert(const Key& key, const Settings& settings);

// Flags as after `heddle train`; the file is the one that --job.config_file names. Throws UserError
// with every problem found (exit 2).
Settings read_settings(std::span<const std::string> flags);

// The same with the text of the file at hand. `file_name` is for messages.
Settings read_settings_text(std::string_view toml, std::string_view file_name,
                            std::span<const std::string> flags);

}  // namespace config
