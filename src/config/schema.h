// The one table of configuration keys. TOML reading, flags, help, `config explain`, validation and
// the machine-readable schema are all made from it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace config {

using List = std::vector<std::string>;
// monostate: unset. The last alternative is a list of lists, which only a TOML file can set.
using Value =
    std::variant<std::monostate, bool, int64_t, double, std::string, List, std::vector<List>>;

enum class Kind : uint8_t { boolean, integer, real, text, list, list_of_lists };

// A question about one key's value: "is checkpoint.enable on?"
struct Condition {
  enum class How : uint8_t { never, is_true, is_set, above, nonempty, is, is_not, has };
  std::string_view key = {};  // empty: the key that carries the test
  How how = How::never;
  std::string_view text = {};  // for is, is_not, has
  int64_t bound = 0;           // for above
};

// Larger bounds only guard against overflow; help does not state them.
inline constexpr double largest_stated = 1e12;

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;            // low itself is excluded
  bool below_high = false;           // high itself is excluded
  std::optional<int64_t> also = {};  // one more value, outside the range
};

struct Key {
  std::string_view name;  // "training.seq_len"
  Kind kind = Kind::text;
  Value fallback = {};    // the default
  bool optional = false;  // may be unset; `none` unsets it
  std::vector<std::string_view> choices = {};
  Range range = {};
  std::string_view help;
  std::string_view unset = {};      // what unset means
  Condition counts_if = {};         // inert unless this holds
  std::string_view no_effect = {};  // why the key never matters here; inert always
  Condition missing_if = {};        // then the key asks for what Heddle does not have:
  std::string_view missing = {};    // "checkpoints"
  std::string_view reference = {};  // how it differs from torchtitan's key
  bool takes_text = false;          // a list that may also be written as one text
};

struct Section {
  std::string_view name;  // "training.dataloader"
  std::string_view help;
};

std::span<const Key> all_keys();  // grouped by section, in the order of `all_sections`
std::span<const Section> all_sections();
const Key* find_key(std::string_view name);  // exact; null when there is none
bool is_section(std::string_view name);      // also a parent such as "quantize"
size_t key_index(std::string_view name);     // a name that must exist

std::string_view section_of(std::string_view key_name);  // "training.dataloader"
std::string_view leaf_of(std::string_view key_name);     // "num_workers"
std::vector<const Key*> keys_of(std::string_view section);

std::string type_name(const Key& key);       // "integer", "text or none", "list of texts"
std::string allowed_values(const Key& key);  // "1 or more", "\"Adam\" or \"AdamW\"", or empty
std::string allowed_values(const Range& range, Kind kind);
bool in_range(const Range& range, double value);

std::string to_toml(const Value& value);  // as in a TOML file; "none" when unset

// The nearest known key or section, for "did you mean"; empty when nothing is near. A key that has
// the same last part in another section counts as near.
std::string suggest_key(std::string_view name);

}  // namespace config
