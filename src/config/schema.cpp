// Joins the parts of the schema table; lookup and words about one key.
#include "config/schema.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "config/schema_parts.h"

namespace config {
namespace {

const Section sections[] = {
    {"job", "the run as a whole"},
    {"profiling", "traces and memory snapshots"},
    {"metrics", "what is printed and written while training"},
    {"model", "the model and its tokenizer"},
    {"model.args", "overrides of the flavor's fields"},
    {"model.args.moe_args", "overrides of the flavor's MoE fields"},
    {"optimizer", "the optimizer"},
    {"lr_scheduler", "the learning rate over the steps"},
    {"training", "data, batch, steps, types"},
    {"training.dataloader", "worker processes of the loader"},
    {"parallelism", "how ranks share the work"},
    {"checkpoint", "saving, resuming, start weights"},
    {"activation_checkpoint", "computing again in the backward pass to save memory"},
    {"compile", "the compiler and its switches"},
    {"quantize.linear.float8", "float8 in linear layers"},
    {"quantize.linear.mx", "MX formats in linear layers"},
    {"quantize.grouped_mm.float8", "float8 in experts"},
    {"quantize.grouped_mm.mx", "MX formats in experts"},
    {"comm", "patience with other ranks"},
    {"memory_estimation", "memory estimates"},
    {"fault_tolerance", "replicas that come and go"},
    {"experimental", "Python extensions"},
    {"validation", "loss on other text"},
    {"validation.dataloader", "worker processes of that loader"},
    {"debug", "seeds and looking inside"},
};

const std::map<std::string_view, size_t>& index_by_name() {
  static const std::map<std::string_view, size_t> index = [] {
    std::map<std::string_view, size_t> made;
    const std::span<const Key> keys = all_keys();
    for (size_t i = 0; i < keys.size(); ++i) made[keys[i].name] = i;
    CHECK(made.size() == keys.size());
    return made;
  }();
  return index;
}

std::string number(double value, Kind kind) {
  return kind == Kind::integer ? base::format("{}", static_cast<int64_t>(value))
                               : base::format("{}", value);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += base::format("\\u{:04X}", static_cast<unsigned>(byte));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string list_text(const List& list) {
  List parts;
  for (const std::string& text : list) parts.push_back(quoted(text));
  return "[" + base::join(parts, ", ") + "]";
}

std::string real_text(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = base::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::span<const Key> all_keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> joined;
    for (const std::span<const Key> part :
         {run_keys(), model_keys(), training_keys(), parallel_keys(), save_keys(), quantize_keys(),
          comm_keys(), fault_tolerance_keys(), validation_keys(), debug_keys()}) {
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  }();
  return keys;
}

std::span<const Section> all_sections() { return sections; }

const Key* find_key(std::string_view name) {
  const auto found = index_by_name().find(name);
  return found == index_by_name().end() ? nullptr : &all_keys()[found->second];
}

size_t key_index(std::string_view name) {
  const auto found = index_by_name().find(name);
  if (found == index_by_name().end()) base::fail_internal("no config key named {}", name);
  return found->second;
}

bool is_section(std::string_view name) {
  const std::string prefix = std::string(name) + ".";
  return std::ranges::any_of(all_keys(),
                             [&](const Key& key) { return key.name.starts_with(prefix); });
}

std::string_view section_of(std::string_view key_name) {
  const size_t dot = key_name.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : key_name.substr(0, dot);
}

std::string_view leaf_of(std::string_view key_name) {
  return key_name.substr(key_name.rfind('.') + 1);  // npos + 1 is 0
}

std::vector<const Key*> keys_of(std::string_view section) {
  std::vector<const Key*> found;
  for (const Key& key : all_keys()) {
    if (section_of(key.name) == section) found.push_back(&key);
  }
  return found;
}

std::string type_name(const Key& key) {
  const std::string none = key.optional ? " or none" : "";
  switch (key.kind) {
    case Kind::boolean:
      return "true or false" + none;
    case Kind::integer:
      return "integer" + none;
    case Kind::real:
      return "number" + none;
    case Kind::text:
      return "text" + none;
    case Kind::list:
      return "list of texts" + none;
    case Kind::list_of_lists:
      return "list of lists of texts" + none;
  }
  return {};
}

bool in_range(const Range& range, double value) {
  if (range.also && value == static_cast<double>(*range.also)) return true;
  const bool low = range.above_low ? value > range.low : value >= range.low;
  const bool high = range.below_high ? value < range.high : value <= range.high;
  return low && high;  // NaN is in no range
}

std::string allowed_values(const Range& range, Kind kind) {
  const bool has_low = range.low > -1e300;
  const bool has_high = range.high < largest_stated;
  std::string text;
  if (has_low) {
    text = range.above_low ? "more than " + number(range.low, kind)
                           : number(range.low, kind) + (has_high ? "" : " or more");
  }
  if (has_high) {
    const std::string high = number(range.high, kind);
    if (has_low) text += range.below_high ? " and less than " + high : " to " + high;
    if (!has_low) text = range.below_high ? "less than " + high : high + " or less";
    if (has_low && range.below_high && !range.above_low) text = "at least " + text;
  }
  if (range.also && !text.empty()) text += base::format(", or {}", *range.also);
  return text;
}

std::string allowed_values(const Key& key) {
  if (key.kind == Kind::integer || key.kind == Kind::real) {
    return allowed_values(key.range, key.kind);
  }
  List choices;
  for (const std::string_view choice : key.choices) choices.push_back(quoted(choice));
  return base::join(choices, ", ");
}

std::string to_toml(const Value& value) {
  struct Print {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t i) const { return base::format("{}", i); }
    std::string operator()(double d) const { return real_text(d); }
    std::string operator()(const std::string& s) const { return quoted(s); }
    std::string operator()(const List& list) const { return list_text(list); }
    std::string operator()(const std::vector<List>& lists) const {
      List parts;
      for (const List& list : lists) parts.push_back(list_text(list));
      return "[" + base::join(parts, ", ") + "]";
    }
  };
  return std::visit(Print{}, value);
}

std::string suggest_key(std::string_view name) {
  const std::string_view section = section_of(name), leaf = leaf_of(name);
  List same_leaf, leaves, names;
  for (const Key& key : all_keys()) {
    names.emplace_back(key.name);
    if (leaf_of(key.name) == leaf) same_leaf.emplace_back(key.name);
    if (section_of(key.name) == section) leaves.emplace_back(leaf_of(key.name));
  }
  if (const std::string near = base::nearest(leaf, leaves); !near.empty()) {
    return std::string(section) + "." + near;
  }
  if (const std::string near = base::nearest(name, same_leaf); !near.empty()) return near;
  if (same_leaf.size() == 1 || same_leaf.size() == 2) return same_leaf[0];
  return section.empty() || is_section(section) ? "" : base::nearest(name, names);
}

}  // namespace config
