// Pre-tokenizers: cut text into the pieces that byte-pair encoding never merges across.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/pattern.h"

namespace text {

// What becomes of the matches of a Split; the names are those of tokenizer.json.
enum class SplitBehavior : uint8_t {
  removed,
  isolated,
  merged_with_previous,
  merged_with_next,
  contiguous
};

// One step of a pre-tokenizer: a Split, or ByteLevel's own pattern.
struct SplitStep {
  std::optional<Pattern> pattern;  // none: GPT-2's pattern when `gpt2_pattern`, else no cut
  bool gpt2_pattern = false;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;            // the text between the matches counts as matches
  bool add_prefix_space = false;  // a space before each piece that does not begin with one
};

// Buffers that calls of `split` share. Pieces may point into `added`.
struct SplitScratch {
  std::vector<std::string_view> pieces, next;
  std::vector<Pattern::Match> matches;
  std::deque<std::string> added;  // pieces with a prefix space
};

// The pieces of valid UTF-8, without empty ones, in scratch.pieces.
void split_text(std::string_view text, const std::vector<SplitStep>& steps, SplitScratch& scratch);

// The end of the piece that GPT-2's pattern ("Language models are unsupervised multitask learners",
// Radford et al. 2019, encoder.py) matches at `begin`, by hand: every text is covered by matches.
size_t gpt2_piece_end(std::string_view text, size_t begin);

}  // namespace text
