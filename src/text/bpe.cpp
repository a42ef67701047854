// Short pieces merge by scanning for the lowest rank, long ones by a heap; words are remembered.
#include "text/bpe.h"

#include <algorithm>
#include <cstring>
#include <queue>
#include <unordered_map>

#include "base/error.h"
#include "base/hash.h"
#include "text/unicode.h"

namespace text {
namespace {

constexpr size_t scan_limit = 48;        // symbols; beyond it the heap is faster
constexpr size_t max_cached_bytes = 64;  // longer pieces hardly ever come again
constexpr size_t max_cache_entries = 1u << 17;
constexpr TokenId none = -1;

uint64_t hash_bytes(std::string_view bytes) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ bytes.size();
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    hash = base::hash_combine(hash, word);
  }
  uint64_t tail = 0;
  if (i < bytes.size()) std::memcpy(&tail, bytes.data() + i, bytes.size() - i);
  return base::hash_combine(hash, tail);
}

// Open addressing over pairs of ids: 128,000 merges are looked up a few times a word.
class MergeTable {
 public:
  struct Entry {
    uint64_t pair = empty;
    int32_t rank = 0;
    TokenId merged = none;
  };

  explicit MergeTable(size_t count) : entries_(slots(count)), mask_(entries_.size() - 1) {}

  void set(TokenId left, TokenId right, int32_t rank, TokenId merged) {
    entries_[slot(key(left, right))] = {key(left, right), rank, merged};
  }
  const Entry* find(TokenId left, TokenId right) const {
    const Entry& entry = entries_[slot(key(left, right))];
    return entry.pair == empty ? nullptr : &entry;
  }

 private:
  static constexpr uint64_t empty = ~uint64_t{0};  // no pair: ids are not negative
  static size_t slots(size_t count) {
    size_t size = 16;
    while (size < 2 * count + 2) size *= 2;
    return size;
  }
  static uint64_t key(TokenId left, TokenId right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t slot(uint64_t pair) const {
    size_t at = base::hash_combine(0, pair) & mask_;
    while (entries_[at].pair != empty && entries_[at].pair != pair) at = (at + 1) & mask_;
    return at;
  }

  std::vector<Entry> entries_;
  size_t mask_;
};

// A symbol of a piece being merged by the heap; ids become `none` when merged into the left one.
struct Link {
  TokenId id;
  int32_t previous, next;
};

struct Candidate {
  int32_t rank;
  int32_t position;
  TokenId merged;
  bool operator>(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};

void merge_by_scan(const MergeTable& merges, std::vector<TokenId>& symbols) {
  while (symbols.size() > 1) {
    const MergeTable::Entry* best = nullptr;
    size_t where = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const MergeTable::Entry* entry = merges.find(symbols[i], symbols[i + 1]);
      if (entry && (!best || entry->rank < best->rank)) {
        best = entry;
        where = i;
      }
    }
    if (!best) return;
    symbols[where] = best->merged;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(where) + 1);
  }
}

void merge_by_heap(const MergeTable& merges, std::vector<TokenId>& symbols) {
  const auto count = static_cast<int32_t>(symbols.size());
  std::vector<Link> links(symbols.size());
  for (int32_t i = 0; i < count; ++i) {
    links[static_cast<size_t>(i)] = {symbols[static_cast<size_t>(i)], i - 1,
                                     i + 1 < count ? i + 1 : -1};
  }
  const auto link = [&](int32_t i) -> Link& { return links[static_cast<size_t>(i)]; };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap;
  const auto offer = [&](int32_t left) {
    if (left < 0 || link(left).next < 0) return;
    const auto* entry = merges.find(link(left).id, link(link(left).next).id);
    if (entry) heap.push({entry->rank, left, entry->merged});
  };
  for (int32_t i = 0; i < count; ++i) offer(i);
  while (!heap.empty()) {
    const Candidate top = heap.top();
    heap.pop();
    if (link(top.position).id == none || link(top.position).next < 0) continue;
    Link& left = link(top.position);
    Link& right = link(left.next);
    const auto* entry = merges.find(left.id, right.id);
    if (!entry || entry->merged != top.merged) continue;  // a neighbour changed since
    left.id = top.merged;
    right.id = none;
    left.next = right.next;
    if (left.next >= 0) link(left.next).previous = top.position;
    offer(left.previous);
    offer(top.position);
  }
  symbols.clear();
  for (const Link& l : links) {
    if (l.id != none) symbols.push_back(l.id);
  }
}

}  // namespace

struct Bpe::State {
  explicit State(size_t merge_count) : merges(merge_count) {}

  MergeTable merges;
  std::unordered_map<std::string, TokenId> ids;  // looked up only
  std::array<TokenId, 256> byte_ids;             // of a byte-level model
  std::optional<TokenId> unknown;
  bool fuse_unknown, ignore_merges, byte_level;

  // The symbols of `piece` before any merge.
  void symbols_of(std::string_view piece, std::vector<TokenId>& symbols) const {
    bool in_unknown = false;
    const auto add = [&](TokenId id) {
      if (id != none) {
        symbols.push_back(id);
      } else if (unknown && !(in_unknown && fuse_unknown)) {
        symbols.push_back(*unknown);
      }
      in_unknown = id == none;
    };
    for (size_t i = 0; i < piece.size();) {
      if (byte_level) {
        add(byte_ids[static_cast<unsigned char>(piece[i++])]);
        continue;
      }
      const size_t length = std::max<size_t>(valid_utf8_length(piece, i), 1);
      const auto found = ids.find(std::string(piece.substr(i, length)));
      add(found == ids.end() ? none : found->second);
      i += length;
    }
  }

  std::optional<TokenId> whole(std::string_view piece) const {
    const auto found = ids.find(byte_level ? to_byte_alphabet(piece) : std::string(piece));
    if (found == ids.end()) return std::nullopt;
    return found->second;
  }
};

struct Bpe::Cache::State {
  struct Entry {
    uint64_t hash = 0;
    uint32_t key = 0, key_bytes = 0;  // in `keys`; no bytes: free
    uint32_t ids = 0, count = 0;      // in `values`
  };
  std::vector<Entry> entries = std::vector<Entry>(1024);  // a power of two
  size_t used = 0;
  std::string keys;
  std::vector<TokenId> values;
  std::vector<TokenId> symbols;

  Entry& find(std::string_view piece, uint64_t hash) {
    size_t at = hash & (entries.size() - 1);
    while (entries[at].key_bytes != 0) {
      const Entry& entry = entries[at];
      if (entry.hash == hash && entry.key_bytes == piece.size() &&
          std::memcmp(keys.data() + entry.key, piece.data(), piece.size()) == 0) {
        break;
      }
      at = (at + 1) & (entries.size() - 1);
    }
    return entries[at];
  }

  void add(std::string_view piece, uint64_t hash, std::span<const TokenId> ids) {
    if (used == max_cache_entries) return;
    if (2 * ++used > entries.size()) grow();
    find(piece, hash) = {hash, static_cast<uint32_t>(keys.size()),
                         static_cast<uint32_t>(piece.size()), static_cast<uint32_t>(values.size()),
                         static_cast<uint32_t>(ids.size())};
    keys += piece;
    values.insert(values.end(), ids.begin(), ids.end());
  }

  void grow() {
    std::vector<Entry> old(2 * entries.size());
    old.swap(entries);
    for (const Entry& entry : old) {
      if (entry.key_bytes == 0) continue;
      size_t at = entry.hash & (entries.size() - 1);
      while (entries[at].key_bytes != 0) at = (at + 1) & (entries.size() - 1);
      entries[at] = entry;
    }
  }
};

Bpe::Cache::Cache() : state_(std::make_unique<State>()) {}
Bpe::Cache::~Cache() = default;

Bpe::Bpe(const BpeSpec& spec) : state_(std::make_unique<State>(spec.merges.size())) {
  State& s = *state_;
  for (const auto& [token, id] : spec.vocab) s.ids.emplace(token, id);
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const auto [left, right] = spec.merges[rank];
    s.merges.set(left, right, static_cast<int32_t>(rank), spec.merged[rank]);
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string symbol;
    append_utf8(symbol, byte_alphabet()[byte]);
    const auto found = s.ids.find(symbol);
    s.byte_ids[byte] = found == s.ids.end() ? none : found->second;
  }
  s.unknown = spec.unknown;
  s.fuse_unknown = spec.fuse_unknown;
  s.ignore_merges = spec.ignore_merges;
  s.byte_level = spec.byte_level;
}
Bpe::~Bpe() = default;
Bpe::Bpe(Bpe&&) noexcept = default;
Bpe& Bpe::operator=(Bpe&&) noexcept = default;

void Bpe::encode(std::string_view piece, Cache& cache, std::vector<TokenId>& out) const {
  if (piece.empty()) return;
  Cache::State& c = *cache.state_;
  const bool cacheable = piece.size() <= max_cached_bytes;
  const uint64_t hash = cacheable ? hash_bytes(piece) : 0;
  if (cacheable) {
    const Cache::State::Entry& entry = c.find(piece, hash);
    if (entry.key_bytes != 0) {
      const TokenId* ids = c.values.data() + entry.ids;
      out.insert(out.end(), ids, ids + entry.count);
      return;
    }
  }
  c.symbols.clear();
  const std::optional<TokenId> whole = state_->ignore_merges ? state_->whole(piece) : std::nullopt;
  if (whole) {
    c.symbols.push_back(*whole);
  } else {
    state_->symbols_of(piece, c.symbols);
    if (c.symbols.size() <= scan_limit) {
      merge_by_scan(state_->merges, c.symbols);
    } else {
      merge_by_heap(state_->merges, c.symbols);
    }
  }
  out.insert(out.end(), c.symbols.begin(), c.symbols.end());
  if (cacheable) c.add(piece, hash, c.symbols);
}

std::vector<uint8_t> Bpe::missing_bytes() const {
  std::vector<uint8_t> missing;
  if (!state_->byte_level) return missing;
  for (size_t byte = 0; byte < 256; ++byte) {
    if (state_->byte_ids[byte] == none) missing.push_back(static_cast<uint8_t>(byte));
  }
  return missing;
}

const std::array<uint32_t, 256>& byte_alphabet() {
  static const std::array<uint32_t, 256> alphabet = [] {
    std::array<uint32_t, 256> table;
    uint32_t next = 0x100;
    for (uint32_t b = 0; b < 256; ++b) {
      const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      table[b] = printable ? b : next++;
    }
    return table;
  }();
  return alphabet;
}

std::string to_byte_alphabet(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) append_utf8(out, byte_alphabet()[static_cast<unsigned char>(c)]);
  return out;
}

std::optional<std::string> from_byte_alphabet(std::string_view token) {
  static const std::array<int16_t, 0x144> bytes = [] {  // the alphabet ends at U+0143
    std::array<int16_t, 0x144> table;
    table.fill(-1);
    for (size_t b = 0; b < 256; ++b) table[byte_alphabet()[b]] = static_cast<int16_t>(b);
    return table;
  }();
  std::string out;
  for (size_t i = 0; i < token.size();) {
    const CodePoint c = code_point_at(token, i);
    if (c.value >= bytes.size() || bytes[c.value] < 0) return std::nullopt;
    out.push_back(static_cast<char>(bytes[c.value]));
    i += c.bytes;
  }
  return out;
}

}  // namespace text
