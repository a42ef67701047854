// A graph text before it is written out: lines with the numbers of their names held apart, so that
// loops are found by comparing trees and numbers, never by comparing strings ("f32" has no number).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace graph::text {

// Text with marks: a hole stands for the next of `numbers`, the others lay the line out.
struct Line {
  std::string text;
  std::vector<int64_t> numbers;
};
namespace mark {
constexpr char number = '\x01';      // a number of a name
constexpr char loop_line = '\x02';   // $e, or ${e+n} where n is the next of `numbers`
constexpr char loop_block = '\x03';  // $l, likewise
constexpr char column = '\x04';      // a column starts here ...
constexpr char pad_name = '\x05';    // ... and is padded here to 8
constexpr char pad_type = '\x06';    // ... or to 16
}  // namespace mark

// A line, or a block: `@scope { }`, `each e in a..b { }`.
struct Item {
  Line head;
  std::vector<Item> body;
  bool is_block = false;
  uint64_t shape = 0;  // hash of all text, without the numbers; filled by `fold`
};

// Adds `name`, whose digits become holes: "layers.1.moe:u12" has two.
void add_name(Line& line, std::string_view name);
// Adds `text`, in which each name does as in add_name; plain numbers do not.
void add_names(Line& line, std::string_view text);
// Adds "..." with escapes; digits become holes.
void add_string(Line& line, std::string_view text);

// Replaces three or more equal neighbours, alike but for numbers that count along, by a loop.
std::vector<Item> fold(std::vector<Item> items);

std::string write(const std::vector<Item>& items, int indent);

}  // namespace graph::text
