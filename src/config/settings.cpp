// From file and flags to the resolved table: defaults, then the file, then the command line.
#include "config/settings.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "config/problems.h"

namespace config {
namespace {

constexpr size_t largest_file = 1 << 20;  // bytes; a real configuration has a few thousand

// The last --job.config_file that the flags name.
const Assignment* config_file(const Draft& draft) {
  const size_t key = key_index("job.config_file");
  const Assignment* found = nullptr;
  for (const Assignment& assignment : draft.assignments) {
    if (assignment.key == key && std::holds_alternative<std::string>(assignment.value)) {
      found = &assignment;
    }
  }
  return found;
}

// An old key that still works, with a warning.
void apply_old_key(Draft& draft, Settings& settings, std::string_view old_key,
                   std::string_view key) {
  if (!settings.given(old_key)) return;
  const Setting& old = settings.at(old_key);
  const auto* text = std::get_if<std::string>(&old.value);
  if (text == nullptr || text->empty()) return;
  settings.values[key_index(key)] = old;
  draft.warnings.push_back(base::format("{} is deprecated; use {}", old_key, key));
}

Settings resolve(Draft& draft) {
  Settings settings;
  for (const Key& key : all_keys()) settings.values.push_back({key.fallback, {}});
  for (Assignment& assignment : draft.assignments) {
    settings.values[assignment.key] = {std::move(assignment.value), std::move(assignment.origin)};
  }
  apply_old_key(draft, settings, "model.tokenizer_path", "model.hf_assets_path");
  apply_old_key(draft, settings, "experimental.custom_args_module", "job.custom_config_module");
  fill_model_args(draft, settings);
  check_settings(draft, settings);
  if (!draft.problems.empty()) {
    throw base::UserError(base::Exit::config, to_text(std::move(draft.problems)));
  }
  settings.warnings = std::move(draft.warnings);
  return settings;
}

// Flags win over the file, so they come behind it.
void append(Draft& draft, Draft&& flags) {
  for (Assignment& a : flags.assignments) draft.assignments.push_back(std::move(a));
  for (Problem& p : flags.problems) draft.problems.push_back(std::move(p));
  for (size_t i = 0; i < flags.broken.size(); ++i) {
    if (flags.broken[i]) draft.broken[i] = true;
  }
}

template <class T>
const T& get(const Settings& settings, std::string_view key) {
  const T* value = std::get_if<T>(&settings.at(key).value);
  if (value == nullptr) base::fail_internal("config key {} was read as another type", key);
  return *value;
}

}  // namespace

bool Settings::given(std::string_view key) const {
  const Origin::From from = at(key).origin.from;
  return from == Origin::From::file || from == Origin::From::command_line;
}

bool Settings::flag(std::string_view key) const { return get<bool>(*this, key); }
int64_t Settings::integer(std::string_view key) const { return get<int64_t>(*this, key); }
double Settings::real(std::string_view key) const { return get<double>(*this, key); }
const std::string& Settings::text(std::string_view key) const {
  return get<std::string>(*this, key);
}
const List& Settings::list(std::string_view key) const { return get<List>(*this, key); }

bool holds(const Condition& test, std::string_view owner, const Settings& settings) {
  const Value& value = settings.at(test.key.empty() ? owner : test.key).value;
  const auto* text = std::get_if<std::string>(&value);
  const auto* list = std::get_if<List>(&value);
  switch (test.how) {
    case Condition::How::never:
      return false;
    case Condition::How::is_true:
      return std::holds_alternative<bool>(value) && std::get<bool>(value);
    case Condition::How::is_set:
      return !std::holds_alternative<std::monostate>(value);
    case Condition::How::above:
      return std::holds_alternative<int64_t>(value) && std::get<int64_t>(value) > test.bound;
    case Condition::How::nonempty:
      return (list && !list->empty()) || (text && !text->empty());
    case Condition::How::is:
      return (text ? *text : to_toml(value)) == test.text;
    case Condition::How::is_not:
      return (text ? *text : to_toml(value)) != test.text;
    case Condition::How::has:
      return list && std::ranges::find(*list, test.text) != list->end();
  }
  return false;
}

std::string why_inert(const Key& key, const Settings& settings) {
  if (!key.no_effect.empty()) return std::string(key.no_effect);
  if (key.counts_if.how == Condition::How::never) return {};
  const Key& decider = all_keys()[key_index(key.counts_if.key)];
  if (!holds(key.counts_if, key.name, settings)) {
    return base::format("{} is {}", decider.name, clip(to_toml(settings.at(decider.name).value)));
  }
  return why_inert(decider, settings);
}

Settings read_settings(std::span<const std::string> flags) {
  Draft from_flags;
  read_flags(from_flags, flags);
  Draft draft;
  if (const Assignment* file = config_file(from_flags)) {
    const std::string& path = std::get<std::string>(file->value);
    try {
      read_toml(draft, base::read_file(path, base::Exit::config, largest_file), path);
    } catch (const base::UserError& error) {
      draft.problems.push_back({error.message(), file->origin});
    }
  }
  append(draft, std::move(from_flags));
  return resolve(draft);
}

Settings read_settings_text(std::string_view toml, std::string_view file_name,
                            std::span<const std::string> flags) {
  Draft draft;
  read_toml(draft, toml, file_name);
  Draft from_flags;
  read_flags(from_flags, flags);
  append(draft, std::move(from_flags));
  return resolve(draft);
}

}  // namespace config
