// JSON as a plain tree that keeps the order of the file: the order of members matters to
// tokenizers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace text {

struct JsonMember;

struct JsonValue {
  enum class Kind : uint8_t { null, boolean, integer, real, text, array, object };

  Kind kind = Kind::null;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<JsonValue> items;     // of an array
  std::vector<JsonMember> members;  // of an object, in file order

  bool is(Kind k) const { return kind == k; }
  // The member `key` of an object; null when this is no object or has no such member.
  const JsonValue* find(std::string_view key) const;
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

std::string to_text(JsonValue::Kind kind);  // "a string", "an object", ...

// Fails with exit 3 and "WHERE:LINE:COLUMN: ..." on text that is not JSON, is nested deeper than
// 64, or gives an object one key twice.
JsonValue parse_json(std::string_view text, std::string_view where);
// The same for line `number` of the file `where`.
JsonValue parse_json_line(std::string_view line, std::string_view where, size_t number);

// `text` as a JSON string with its quotes. It must be valid UTF-8.
std::string json_quote(std::string_view text);

}  // namespace text
