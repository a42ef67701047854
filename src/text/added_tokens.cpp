// A trie walked from every byte that begins some token.
#include "text/added_tokens.h"

#include <algorithm>

#include "text/unicode.h"

namespace text {
namespace {

uint64_t edge(int32_t node, char byte) {
  return static_cast<uint64_t>(node) << 8 | static_cast<unsigned char>(byte);
}

// Where the spaces that end at `end` begin.
size_t spaces_before(std::string_view text, size_t end) {
  while (end > 0) {
    size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 &&
           (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) {
      --begin;
    }
    if (valid_utf8_length(text, begin) != end - begin) return end;
    if (char_class(code_point_at(text, begin).value) != CharClass::space) return end;
    end = begin;
  }
  return end;
}

size_t spaces_behind(std::string_view text, size_t begin) {
  while (begin < text.size() && valid_utf8_length(text, begin) > 0) {
    const CodePoint c = code_point_at(text, begin);
    if (char_class(c.value) != CharClass::space) break;
    begin += c.bytes;
  }
  return begin;
}

}  // namespace

void AddedTokenMatcher::add(const AddedToken& token, TokenId id) {
  int32_t node = 0;
  for (const char byte : token.content) {
    const auto [entry, is_new] =
        children_.emplace(edge(node, byte), static_cast<int32_t>(nodes_.size()));
    if (is_new) nodes_.emplace_back();
    node = entry->second;
  }
  nodes_[static_cast<size_t>(node)].token = static_cast<int32_t>(entries_.size());
  entries_.push_back({id, token.lstrip, token.rstrip});
  first_bytes_[static_cast<unsigned char>(token.content.front())] = true;
}

int32_t AddedTokenMatcher::child(int32_t node, char byte) const {
  const auto found = children_.find(edge(node, byte));
  return found == children_.end() ? -1 : found->second;
}

void AddedTokenMatcher::split(std::string_view text, std::vector<Section>& out) const {
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    if (!first_bytes_[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    int32_t token = -1, node = 0;
    size_t match_end = at;
    for (size_t end = at; end < text.size() && (node = child(node, text[end])) >= 0;) {
      ++end;
      if (nodes_[static_cast<size_t>(node)].token >= 0) {
        token = nodes_[static_cast<size_t>(node)].token;
        match_end = end;
      }
    }
    if (token < 0) {
      ++at;
      continue;
    }
    const Entry& entry = entries_[static_cast<size_t>(token)];
    const size_t begin = entry.lstrip ? std::max(spaces_before(text, at), done) : at;
    const size_t end = entry.rstrip ? spaces_behind(text, match_end) : match_end;
    if (begin > done) out.push_back({text.substr(done, begin - done), {}});
    out.push_back({text.substr(begin, end - begin), entry.id});
    done = end;
    at = match_end;
  }
  if (done < text.size()) out.push_back({text.substr(done), {}});
}

}  // namespace text
