// The schema and resolved settings as text: for `heddle config`, `heddle help` and run folders.
#pragma once

#include <string>
#include <string_view>

#include "config/settings.h"

namespace config {

enum class Origins : uint8_t { hidden, shown };

// A TOML file that reads back to the same settings. Inert keys are marked.
std::string to_toml(const Settings& settings, Origins origins);

// Indented JSON, as job.print_config and job.save_config_file want it; unset is null.
std::string to_json(const Settings& settings);

// Everything about one key, with its value in `settings`, or a list of the keys of a section.
// Throws UserError for a name that is neither.
std::string explain(std::string_view name, const Settings& settings);

std::string section_help(std::string_view section);  // its flags, one a line

std::string flag_form(const Key& key);  // "--training.steps N"

// The whole table for programs.
std::string schema_json();

}  // namespace config
