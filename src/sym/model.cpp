// A random walk: pick a relation that does not hold, change one of its sizes so that it does or
// nearly does, prefer the change after which the least is violated. In the manner of WalkSAT
// (Selman, Kautz, Cohen 1994), with steps that solve for one size.
#include "sym/model.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "sym/node.h"

namespace sym {
namespace {

constexpr int64_t max_terms_looked_at = 300'000;  // bounds the time of a search, about 5 ms
constexpr int64_t largest_value = int64_t{1} << 40;
constexpr int first_values[] = {-1, 0, 1, 2, 3, 8, -2, -2, -2, -2, -2, -2};  // -1 start, -2 random

class Walk {
 public:
  explicit Walk(std::span<const Wish> wishes) : wishes_(wishes), distance_(wishes.size()) {
    for (const Wish& w : wishes) {
      const std::vector<Leaf> inside = leaves(w.expr);
      leaves_.insert(leaves_.end(), inside.begin(), inside.end());
    }
    std::ranges::sort(leaves_);
    leaves_.erase(std::unique(leaves_.begin(), leaves_.end()), leaves_.end());
    values_.resize(leaves_.size());
    touching_.resize(leaves_.size());
    for (size_t i = 0; i < wishes.size(); ++i) {
      inside_.emplace_back();
      for (const Leaf leaf : leaves(wishes[i].expr)) {
        inside_.back().push_back(place(leaf));
        touching_[place(leaf)].push_back(i);
      }
    }
  }

  bool run(int first, const LeafValue& start) {
    for (size_t i = 0; i < values_.size(); ++i) {
      set(i, first == -1 ? start(leaves_[i]) : first == -2 ? small_number() : first);
    }
    for (size_t i = 0; i < wishes_.size(); ++i) distance_[i] = measure(i);
    for (size_t steps = 40 + 3 * wishes_.size(); steps > 0 && budget_ > 0; --steps) {
      std::vector<size_t> violated;
      for (size_t i = 0; i < distance_.size(); ++i) {
        if (distance_[i] != 0) violated.push_back(i);
      }
      if (violated.empty()) return true;
      step(violated[random() % violated.size()]);
    }
    return false;
  }

  bool exhausted() const { return budget_ <= 0; }
  Model model() const {
    Model out;
    for (size_t i = 0; i < leaves_.size(); ++i) out.emplace_back(leaves_[i], values_[i]);
    return out;
  }

 private:
  uint64_t random() {  // splitmix64, Steele et al. 2014
    uint64_t z = (random_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int64_t small_number() {
    constexpr int64_t some[] = {0, 0, 1, 1, 2, 3, 4, 5, 7, 8, 16, 17};
    return some[random() % std::size(some)];
  }
  size_t place(Leaf leaf) const {
    return static_cast<size_t>(std::ranges::lower_bound(leaves_, leaf) - leaves_.begin());
  }
  void set(size_t i, int64_t value) {
    const int64_t low = leaves_[i].kind == LeafKind::size ? 0 : -largest_value;
    values_[i] = std::clamp(value, low, largest_value);
  }
  std::optional<int64_t> value(size_t wish) {
    budget_ -= static_cast<int64_t>(inside_[wish].size()) + 1;
    try {
      return evaluate(wishes_[wish].expr, [&](Leaf leaf) { return values_[place(leaf)]; });
    } catch (const base::UserError&) {
      return {};  // a division by zero
    }
  }
  // 0 when it holds, else how far off, by orders of magnitude.
  int measure(size_t wish) {
    const auto v = value(wish);
    if (!v) return 64;
    const Wish::Kind kind = wishes_[wish].kind;
    if (kind == Wish::Kind::nonzero) return *v == 0;
    if (kind == Wish::Kind::nonnegative && *v >= 0) return 0;
    return std::bit_width(*v < 0 ? 0 - static_cast<uint64_t>(*v) : static_cast<uint64_t>(*v));
  }
  int around(size_t leaf) {
    int total = 0;
    for (const size_t w : touching_[leaf]) total += measure(w);
    return total;
  }

  // Values of one leaf that may mend the wish: neighbours, and where a straight line would hit.
  std::vector<int64_t> proposals(size_t wish, size_t leaf) {
    const int64_t old = values_[leaf];
    std::vector<int64_t> out{old + 1, old - 1, small_number()};
    const auto here = value(wish);
    set(leaf, old + 1);
    const auto next = value(wish);
    set(leaf, old);
    if (!here || !next || *here == *next) return out;
    const __int128 slope = static_cast<__int128>(*next) - *here;
    const __int128 exact = -static_cast<__int128>(*here) / slope;
    for (int side = -1; side <= 1; ++side) {
      const __int128 to = old + exact + side;
      if (to > -largest_value && to < largest_value) out.push_back(static_cast<int64_t>(to));
    }
    return out;
  }

  void step(size_t wish) {
    const std::vector<size_t>& inside = inside_[wish];
    if (inside.empty()) return;
    constexpr size_t most_leaves = 5;
    size_t best_leaf = inside[0];
    int64_t best_value = values_[best_leaf];
    int best_change = INT32_MAX;
    const bool wander = random() % 8 == 0;
    const size_t first = random() % inside.size();
    for (size_t k = 0; k < std::min(most_leaves, inside.size()); ++k) {
      const size_t leaf = inside[(first + k) % inside.size()];
      const int64_t old = values_[leaf];
      const int before = around(leaf);
      for (const int64_t to : proposals(wish, leaf)) {
        set(leaf, to);
        if (values_[leaf] == old) continue;
        const int change = wander ? static_cast<int>(random() % 1000) : around(leaf) - before;
        if (change < best_change) {
          best_change = change, best_leaf = leaf, best_value = values_[leaf];
        }
      }
      set(leaf, old);
    }
    set(best_leaf, best_value);
    for (const size_t w : touching_[best_leaf]) distance_[w] = measure(w);
  }

  std::span<const Wish> wishes_;
  std::vector<Leaf> leaves_;
  std::vector<int64_t> values_;
  std::vector<std::vector<size_t>> touching_;  // wishes that mention a leaf
  std::vector<std::vector<size_t>> inside_;    // leaves that a wish mentions
  std::vector<int> distance_;
  uint64_t random_ = 1;
  int64_t budget_ = max_terms_looked_at;
};

}  // namespace

std::optional<Model> find_model(std::span<const Wish> wishes, const LeafValue& start) {
  Walk walk(wishes);
  for (const int first : first_values) {
    if (walk.run(first, start)) return walk.model();
    if (walk.exhausted()) break;
  }
  return {};
}

}  // namespace sym
