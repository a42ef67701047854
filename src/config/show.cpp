// The schema and resolved settings as text.
#include "config/show.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"

namespace config {
namespace {

using Json = nlohmann::ordered_json;

bool is_unset(const Value& value) { return std::holds_alternative<std::monostate>(value); }

Json json_value(const Value& value) {
  struct Convert {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(double d) const { return std::isfinite(d) ? Json(d) : Json(to_toml(d)); }
    Json operator()(bool b) const { return b; }
    Json operator()(int64_t i) const { return i; }
    Json operator()(const std::string& s) const { return s; }
    Json operator()(const List& list) const { return list; }
    Json operator()(const std::vector<List>& lists) const { return lists; }
  };
  return std::visit(Convert{}, value);
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

// "unset: 0"; a flavor may leave a field unset, and then that is all there is to say.
std::string unset_text(const Key& key, const Setting& setting) {
  const bool by_flavor = setting.origin.from == Origin::From::flavor;
  return key.unset.empty() || by_flavor ? "unset" : "unset: " + std::string(key.unset);
}

// One line of `config show`; a comment where nothing was set, so that the rest is valid TOML.
std::string setting_line(const Key& key, const Setting& setting) {
  const std::string leaf(leaf_of(key.name));
  if (!is_unset(setting.value)) return leaf + " = " + to_toml(setting.value);
  const bool by_default = is_unset(key.fallback) && setting.origin.from != Origin::From::file &&
                          setting.origin.from != Origin::From::command_line;
  if (!by_default && key.optional) return leaf + " = \"none\"";
  return "# " + leaf + " is " + unset_text(key, setting);
}

std::string annotation(const Key& key, const Settings& settings, Origins origins) {
  const std::string inert = why_inert(key, settings);
  std::string note =
      origins == Origins::shown ? to_text(settings.at(key.name).origin) : std::string();
  if (!inert.empty()) note += (note.empty() ? "inert: " : "; inert: ") + inert;
  return note;
}

std::string_view test_word(Condition::How how) {
  switch (how) {
    case Condition::How::never:
      return "never";
    case Condition::How::is_true:
      return "is true";
    case Condition::How::is_set:
      return "is set";
    case Condition::How::above:
      return "above";
    case Condition::How::nonempty:
      return "is not empty";
    case Condition::How::is:
      return "is";
    case Condition::How::is_not:
      return "is not";
    case Condition::How::has:
      return "has";
  }
  return {};
}

// "checkpoint.enable is true", "parallelism.tensor_parallel_degree above 1".
std::string condition(const Condition& test, std::string_view owner) {
  std::string text(test.key.empty() ? owner : test.key);
  text += " " + std::string(test_word(test.how));
  if (test.how == Condition::How::above) return text + base::format(" {}", test.bound);
  const bool with_text = test.how == Condition::How::is || test.how == Condition::How::is_not ||
                         test.how == Condition::How::has;
  return with_text ? text + " " + to_toml(std::string(test.text)) : text;
}

std::string fallback_text(const Key& key) {
  if (!is_unset(key.fallback)) return to_toml(key.fallback);
  return key.unset.empty() ? "unset" : std::string(key.unset);
}

Json key_json(const Key& key) {
  Json json{{"name", key.name}, {"type", type_name(key)}, {"default", json_value(key.fallback)}};
  if (!key.unset.empty()) json["unset"] = key.unset;
  if (!key.choices.empty()) json["choices"] = key.choices;
  if (std::isfinite(key.range.low)) json["minimum"] = key.range.low;
  if (std::isfinite(key.range.high)) json["maximum"] = key.range.high;
  if (key.range.above_low) json["above_minimum"] = true;
  if (key.range.below_high) json["below_maximum"] = true;
  if (key.range.also) json["also"] = *key.range.also;
  json["help"] = key.help;
  if (key.counts_if.how != Condition::How::never)
    json["counts_if"] = condition(key.counts_if, key.name);
  if (!key.no_effect.empty()) json["no_effect"] = key.no_effect;
  if (key.missing_if.how != Condition::How::never) {
    json["error_if"] = condition(key.missing_if, key.name);
  }
  if (!key.reference.empty()) json["reference"] = key.reference;
  return json;
}

std::string explain_key(const Key& key, const Settings& settings) {
  const Setting& setting = settings.at(key.name);
  std::string out = base::format("{}\n  {}\n  type     {}\n", key.name, key.help, type_name(key));
  if (const std::string allowed = allowed_values(key); !allowed.empty()) {
    out += base::format("  allowed  {}\n", allowed);
  }
  out += base::format("  default  {}\n", fallback_text(key));
  const std::string value =
      is_unset(setting.value) ? unset_text(key, setting) : to_toml(setting.value);
  out += base::format("  now      {} ({})\n", value, to_text(setting.origin));
  if (!key.no_effect.empty()) out += base::format("  inert    always: {}\n", key.no_effect);
  if (key.counts_if.how != Condition::How::never) {
    out += base::format("  counts   if {}\n", condition(key.counts_if, key.name));
  }
  if (key.missing_if.how != Condition::How::never) {
    out += base::format("  error    if {}: Heddle does not have {}\n",
                        condition(key.missing_if, key.name), key.missing);
  }
  if (!key.reference.empty()) out += base::format("  note     {}\n", key.reference);
  out += base::format("  flag     {}\n", flag_form(key));
  return out;
}

}  // namespace

std::string flag_form(const Key& key) {
  const std::string name = "--" + std::string(key.name);
  switch (key.kind) {
    case Kind::boolean:
      return base::format("{} | --{}.no_{}", name, section_of(key.name), leaf_of(key.name));
    case Kind::integer:
      return name + " N";
    case Kind::real:
      return name + " X";
    case Kind::text:
      return name + " TEXT";
    case Kind::list:
      return name + " A,B,C";
    case Kind::list_of_lists:
      return "none: set it in the TOML file";
  }
  return name;
}

std::string to_toml(const Settings& settings, Origins origins) {
  std::string out;
  for (const Section& section : all_sections()) {
    out += base::format("{}[{}]\n", out.empty() ? "" : "\n", section.name);
    for (const Key* key : keys_of(section.name)) {
      const std::string line = setting_line(*key, settings.at(key->name));
      const std::string note = annotation(*key, settings, origins);
      out += note.empty() ? line + "\n" : base::format("{:<40}  # {}\n", line, note);
    }
  }
  return out;
}

std::string to_json(const Settings& settings) {
  Json root = Json::object();
  for (const Key& key : all_keys()) {
    Json* at = &root;
    for (const std::string& part : base::split(section_of(key.name), '.')) at = &(*at)[part];
    (*at)[std::string(leaf_of(key.name))] = json_value(settings.at(key.name).value);
  }
  return dump(root);
}

std::string explain(std::string_view name, const Settings& settings) {
  std::string plain(name.starts_with("--") ? name.substr(2) : name);
  std::ranges::replace(plain, '-', '_');
  if (const Key* key = find_key(plain)) return explain_key(*key, settings);
  if (is_section(plain)) {
    std::string out;
    for (const Section& section : all_sections()) {
      if (section.name == plain || section.name.starts_with(plain + ".")) {
        out += (out.empty() ? "" : "\n") + section_help(section.name);
      }
    }
    return out;
  }
  const std::string near = suggest_key(plain);
  base::fail_user(base::Exit::config, "unknown key \"{}\"{}", plain,
                  near.empty() ? "; `heddle config schema` lists all"
                               : base::format("; did you mean \"{}\"?", near));
}

std::string section_help(std::string_view section) {
  std::string out;
  for (const Section& known : all_sections()) {
    if (known.name == section) out = base::format("[{}]  {}\n", known.name, known.help);
  }
  for (const Key* key : keys_of(section)) {
    out += base::format("  {}\n      {} (default {})\n", flag_form(*key), key->help,
                        fallback_text(*key));
    if (const std::string allowed = allowed_values(*key); !allowed.empty()) {
      out += base::format("      allowed: {}\n", allowed);
    }
    if (!key->missing.empty()) out += base::format("      Heddle does not have {}\n", key->missing);
  }
  return out;
}

std::string schema_json() {
  Json sections = Json::array();
  for (const Section& section : all_sections()) {
    Json keys = Json::array();
    for (const Key* key : keys_of(section.name)) keys.push_back(key_json(*key));
    sections.push_back({{"name", section.name}, {"help", section.help}, {"keys", keys}});
  }
  return dump({{"sections", sections}});
}

}  // namespace config
