// GPT-2's pattern as a scanner over code points; Splits by their matches.
#include "text/pre_tokenize.h"

#include "text/unicode.h"

namespace text {
namespace {

// Cuts of a text: where the next piece ends, and whether it is a match.
struct Cut {
  size_t begin, end;
  bool is_match;
};

size_t contraction_length(std::string_view rest) {  // 's 't 'm 'd 're 've 'll
  if (rest.size() < 2) return 0;
  const char c = rest[1];
  if (c == 's' || c == 't' || c == 'm' || c == 'd') return 2;
  if (rest.size() < 3) return 0;
  const std::string_view two = rest.substr(1, 2);
  return two == "re" || two == "ve" || two == "ll" ? 3 : 0;
}

size_t run_end(std::string_view text, size_t at, CharClass wanted) {
  while (at < text.size()) {
    const CodePoint c = code_point_at(text, at);
    if (char_class(c.value) != wanted) break;
    at += c.bytes;
  }
  return at;
}

// \s+(?!\S)|\s+ : the last space of a run belongs to what follows, if anything does.
size_t space_end(std::string_view text, size_t begin) {
  size_t last = begin, end = begin;
  while (end < text.size()) {
    const CodePoint c = code_point_at(text, end);
    if (char_class(c.value) != CharClass::space) break;
    last = end;
    end += c.bytes;
  }
  return end == text.size() || last == begin ? end : last;
}

std::vector<Cut> cuts(std::string_view piece, const SplitStep& step,
                      std::vector<Pattern::Match>& matches) {
  step.pattern->find_all(piece, matches);
  std::vector<Cut> result;
  size_t at = 0;
  for (const Pattern::Match& match : matches) {
    if (match.begin > at) result.push_back({at, match.begin, step.invert});
    result.push_back({match.begin, match.end, !step.invert});
    at = match.end;
  }
  if (at < piece.size()) result.push_back({at, piece.size(), step.invert});
  return result;
}

// Joins cuts as the behaviour says. Adjacent cuts touch, so a join moves one border.
std::vector<Cut> join_cuts(const std::vector<Cut>& cuts, SplitBehavior behavior) {
  std::vector<Cut> out;
  bool previous_is_match = false;
  switch (behavior) {
    case SplitBehavior::isolated:
      return cuts;
    case SplitBehavior::removed:
      for (const Cut& cut : cuts) {
        if (!cut.is_match) out.push_back(cut);
      }
      return out;
    case SplitBehavior::contiguous:
      for (const Cut& cut : cuts) {
        if (!out.empty() && out.back().is_match == cut.is_match) {
          out.back().end = cut.end;
        } else {
          out.push_back(cut);
        }
      }
      return out;
    case SplitBehavior::merged_with_previous:
      for (const Cut& cut : cuts) {
        if (cut.is_match && !previous_is_match && !out.empty()) {
          out.back().end = cut.end;
        } else {
          out.push_back(cut);
        }
        previous_is_match = cut.is_match;
      }
      return out;
    case SplitBehavior::merged_with_next:
      for (size_t i = cuts.size(); i-- > 0;) {
        if (cuts[i].is_match && !previous_is_match && !out.empty()) {
          out.back().begin = cuts[i].begin;
        } else {
          out.push_back(cuts[i]);
        }
        previous_is_match = cuts[i].is_match;
      }
      return {out.rbegin(), out.rend()};
  }
  return cuts;
}

void split_piece(std::string_view piece, const SplitStep& step, SplitScratch& scratch) {
  if (step.add_prefix_space && !piece.empty() && piece[0] != ' ') {
    piece = scratch.added.emplace_back(" ").append(piece);
  }
  if (step.gpt2_pattern) {
    for (size_t at = 0; at < piece.size();) {
      const size_t end = gpt2_piece_end(piece, at);
      scratch.next.push_back(piece.substr(at, end - at));
      at = end;
    }
    return;
  }
  if (!step.pattern) {
    if (!piece.empty()) scratch.next.push_back(piece);
    return;
  }
  for (const Cut& cut : join_cuts(cuts(piece, step, scratch.matches), step.behavior)) {
    if (cut.end > cut.begin) scratch.next.push_back(piece.substr(cut.begin, cut.end - cut.begin));
  }
}

}  // namespace

size_t gpt2_piece_end(std::string_view text, size_t begin) {
  CodePoint c = code_point_at(text, begin);
  if (c.value == '\'') {
    const size_t length = contraction_length(text.substr(begin));
    if (length > 0) return begin + length;
  }
  size_t at = begin;
  if (c.value == ' ' && begin + 1 < text.size()) {
    const CodePoint next = code_point_at(text, begin + 1);
    if (char_class(next.value) != CharClass::space) {
      c = next;
      at = begin + 1;
    }
  }
  const CharClass wanted = char_class(c.value);
  if (wanted == CharClass::space) return space_end(text, begin);
  return run_end(text, at + c.bytes, wanted);
}

void split_text(std::string_view text, const std::vector<SplitStep>& steps, SplitScratch& scratch) {
  scratch.added.clear();
  scratch.pieces.clear();
  if (!text.empty()) scratch.pieces.push_back(text);
  for (const SplitStep& step : steps) {
    scratch.next.clear();
    for (const std::string_view piece : scratch.pieces) split_piece(piece, step, scratch);
    scratch.pieces.swap(scratch.next);
  }
}

}  // namespace text
