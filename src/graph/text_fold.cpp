// Finds the loops of a graph text, and writes its lines out.
//
// Two neighbouring runs of p lines make a loop when their texts agree and each of their numbers
// either stays or steps by one, all in one direction; a third run that goes on like this makes it
// worth folding. The loop's number is the first that steps; others may be ahead of it or behind
// (${e-1}), so a chain of layers folds too. What is written back to lines is exactly what was
// there: a reader that expands the loop sees the same words.
#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "graph/text_lexer.h"
#include "graph/text_lines.h"

namespace graph::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr size_t max_number_digits = 18;  // fits 64 bits with room to step
constexpr size_t max_period = 512;        // lines of one loop body; bounds the search
constexpr int max_candidates = 4;         // periods tried at one line

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

// Digits of a name are a number unless reading them back would not give the same digits.
void add_digits(Line& line, std::string_view digits) {
  if (digits.size() > max_number_digits || (digits.size() > 1 && digits[0] == '0')) {
    line.text += digits;
    return;
  }
  int64_t number = 0;
  for (const char c : digits) number = number * 10 + (c - '0');
  line.text += mark::number;
  line.numbers.push_back(number);
}

size_t digits_end(std::string_view text, size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

}  // namespace

void add_name(Line& line, std::string_view name) {
  for (size_t i = 0; i < name.size();) {
    const size_t end = digits_end(name, i);
    if (end > i) {
      add_digits(line, name.substr(i, end - i));
      i = end;
    } else {
      line.text += name[i++];
    }
  }
}

void add_names(Line& line, std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const bool name = starts_name(text[i]);
    const bool word = name || is_digit(text[i]);
    // A dot or colon inside a path, not the dots of a range.
    while (word && i < text.size() &&
           (continues_name(text[i]) || (name && (text[i] == '.' || text[i] == ':') &&
                                        i + 1 < text.size() && continues_name(text[i + 1])))) {
      ++i;
    }
    if (name) {
      add_name(line, text.substr(begin, i - begin));
    } else {
      i = std::max(i, begin + 1);
      line.text += text.substr(begin, i - begin);
    }
  }
}

void add_string(Line& line, std::string_view text) {
  const bool utf8 = base::is_valid_utf8(text);
  line.text += '"';
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = text[i];
    if (is_digit(text[i])) {
      const size_t end = digits_end(text, i);
      add_digits(line, text.substr(i, end - i));
      i = end;
      continue;
    }
    ++i;
    if (c == '"' || c == '\\' || c == '$') {
      line.text += '\\';
      line.text += static_cast<char>(c);
    } else if (c == '\n') {
      line.text += "\\n";
    } else if (c == '\t') {
      line.text += "\\t";
    } else if (c < ' ' || c == 0x7F || (c >= 0x80 && !utf8)) {
      line.text += base::format("\\x{:02x}", c);
    } else {
      line.text += static_cast<char>(c);
    }
  }
  line.text += '"';
}

namespace {

bool same_text(const Item& a, const Item& b) {
  return a.shape == b.shape && a.head.text == b.head.text &&
         std::equal(a.body.begin(), a.body.end(), b.body.begin(), b.body.end(), same_text);
}

void collect_numbers(const Item& item, std::vector<int64_t>& out) {
  out.insert(out.end(), item.head.numbers.begin(), item.head.numbers.end());
  for (const Item& i : item.body) collect_numbers(i, out);
}

bool takes_number(char c) {
  return c == mark::number || c == mark::loop_line || c == mark::loop_block;
}

// The marks of the numbers that collect_numbers gives.
void collect_marks(const Item& item, std::string& out) {
  std::ranges::copy_if(item.head.text, std::back_inserter(out), takes_number);
  for (const Item& i : item.body) collect_marks(i, out);
}

// How the numbers of a run depend on the loop's number.
struct Pattern {
  std::vector<int64_t> values;  // of the first run; of a stepping number, what it is ahead by
  std::vector<bool> steps;
  int64_t first = 0, direction = 0;  // of the loop's number; direction 0: nothing steps
};

class Folder {
 public:
  Folder(std::vector<Item> items, char loop_mark) : items_(std::move(items)), mark_(loop_mark) {
    next_.resize(items_.size());
    std::unordered_map<uint64_t, size_t> seen;  // looked up only
    for (size_t i = items_.size(); i-- > 0;) {
      const auto [at, fresh] = seen.try_emplace(items_[i].shape, i);
      next_[i] = fresh ? items_.size() : at->second;
      at->second = i;
    }
  }

  std::vector<Item> run() {
    std::vector<Item> out;
    for (size_t i = 0; i < items_.size();) {
      const size_t folded = fold_at(i, out);
      if (folded == 0) out.push_back(std::move(items_[i]));
      i += std::max<size_t>(folded, 1);
    }
    return out;
  }

 private:
  // Adds the loop that starts at `i`, if there is one; returns how many items went into it.
  size_t fold_at(size_t i, std::vector<Item>& out) {
    size_t next = next_[i];
    for (int c = 0; c < max_candidates && next < items_.size(); ++c, next = next_[next]) {
      const size_t period = next - i;
      if (period > max_period || i + 3 * period > items_.size()) break;
      if (alike_until(i, period) < i + 2 * period) continue;
      const Pattern pattern = find_pattern(i, period);
      if (pattern.direction == 0) continue;
      size_t runs = 2;
      while (goes_on(pattern, i, period, runs)) ++runs;
      if (runs < 3) continue;
      const size_t skipped = runs > 3 ? ragged(pattern, i, period) : 0;
      if (skipped > 0) {  // the loop is found again, whole, a few items on
        std::move(items_.begin() + static_cast<std::ptrdiff_t>(i),
                  items_.begin() + static_cast<std::ptrdiff_t>(i + skipped),
                  std::back_inserter(out));
        return skipped;
      }
      out.push_back(make_loop(pattern, i, period, static_cast<int64_t>(runs)));
      return runs * period;
    }
    return 0;
  }

  // How many blocks to leave before the loop so that its body is one layer: the heads of a ragged
  // body step from one number to the next on the way, as in "26.attention, 25.moe, 25.attention,
  // 24.moe, ...".
  size_t ragged(const Pattern& p, size_t i, size_t period) const {
    std::optional<int64_t> layer;
    size_t place = 0;
    for (size_t k = i; k < i + period; ++k) {
      const size_t first = place;
      std::vector<int64_t> inside;
      collect_numbers(items_[k], inside);
      place += inside.size();
      if (!items_[k].is_block || items_[k].head.numbers.empty() || !p.steps[first]) continue;
      if (layer && *layer != p.values[first]) return k - i;
      layer = p.values[first];
    }
    return 0;
  }

  // The first place from `i` on whose shape differs from the one a period later. Remembered for
  // each period, so that the search stays linear.
  size_t alike_until(size_t i, size_t period) {
    auto& [from, until] = alike_[period];
    if (i < from || i > until || until == 0) {
      from = until = i;
      while (until + period < items_.size() &&
             items_[until].shape == items_[until + period].shape) {
        ++until;
      }
    }
    return until;
  }

  std::vector<int64_t> numbers(size_t begin, size_t count) const {
    std::vector<int64_t> out;
    for (size_t i = begin; i < begin + count; ++i) collect_numbers(items_[i], out);
    return out;
  }

  bool same_texts(size_t a, size_t b, size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      if (!same_text(items_[a + i], items_[b + i])) return false;
    }
    return true;
  }

  Pattern find_pattern(size_t i, size_t period) const {
    Pattern p;
    if (!same_texts(i, i + period, period)) return p;
    p.values = numbers(i, period);
    p.steps.resize(p.values.size());
    const std::vector<int64_t> second = numbers(i + period, period);
    std::string marks;
    for (size_t k = i; k < i + period; ++k) collect_marks(items_[k], marks);
    for (size_t k = 0; k < second.size(); ++k) {
      const int64_t step = second[k] - p.values[k];
      if (step == 0) continue;
      if (marks[k] != mark::number) return {};  // ahead of an inner loop by ever more
      if (p.direction == 0) p.direction = step, p.first = p.values[k];
      if (step != p.direction || (step != 1 && step != -1)) return {};
      p.steps[k] = true;
      p.values[k] -= p.first;
    }
    return p;
  }

  bool goes_on(const Pattern& p, size_t i, size_t period, size_t run) const {
    const size_t begin = i + run * period;
    if (begin + period > items_.size() || !same_texts(i, begin, period)) return false;
    const std::vector<int64_t> found = numbers(begin, period);
    const int64_t loop = p.first + p.direction * static_cast<int64_t>(run);
    for (size_t k = 0; k < found.size(); ++k) {
      if (found[k] != p.values[k] + (p.steps[k] ? loop : 0)) return false;
    }
    return true;
  }

  Item make_loop(const Pattern& p, size_t i, size_t period, int64_t runs) {
    Item loop;
    loop.is_block = true;
    loop.head.text = base::format("each {} in {}..{}", mark_ == mark::loop_line ? "e" : "l",
                                  p.first, p.first + p.direction * (runs - 1));
    size_t place = 0;
    for (size_t k = i; k < i + period; ++k) {
      set_loop_marks(items_[k], p, place);
      loop.body.push_back(std::move(items_[k]));
    }
    return loop;
  }

  void set_loop_marks(Item& item, const Pattern& p, size_t& place) const {
    size_t number = 0;
    for (char& c : item.head.text) {
      if (!takes_number(c)) continue;
      if (p.steps[place]) c = mark_;
      item.head.numbers[number++] = p.values[place++];
    }
    for (Item& i : item.body) set_loop_marks(i, p, place);
  }

  std::vector<Item> items_;
  std::vector<size_t> next_;                                     // the next item of the same shape
  std::unordered_map<size_t, std::pair<size_t, size_t>> alike_;  // by period; looked up only
  char mark_;
};

std::vector<Item> fold_with(std::vector<Item> items, char loop_mark) {
  for (Item& item : items) {
    if (item.is_block) item.body = fold_with(std::move(item.body), mark::loop_line);
    item.shape = std::hash<std::string>()(item.head.text);
    for (const Item& i : item.body) item.shape = mix(item.shape, i.shape);
  }
  items = Folder(std::move(items), loop_mark).run();
  for (Item& item : items) {
    if (item.shape != 0) continue;  // a new loop
    item.shape = std::hash<std::string>()(item.head.text);
    for (const Item& i : item.body) item.shape = mix(item.shape, i.shape);
  }
  return items;
}

void write_loop_number(std::string& out, char name, int64_t ahead, char after) {
  out += '$';
  if (ahead == 0 && !continues_name(after)) {
    out += name;
  } else {
    out += base::format(ahead == 0 ? "{{{}}}" : "{{{}{:+}}}", name, ahead);
  }
}

void write_line(std::string& out, const Line& line) {
  size_t number = 0, column = out.size();
  for (size_t i = 0; i < line.text.size(); ++i) {
    const char c = line.text[i];
    const char after = i + 1 < line.text.size() ? line.text[i + 1] : '\0';
    if (c == mark::number) {
      out += std::to_string(line.numbers[number++]);
    } else if (c == mark::loop_line || c == mark::loop_block) {
      write_loop_number(out, c == mark::loop_line ? 'e' : 'l', line.numbers[number++], after);
    } else if (c == mark::column) {
      column = out.size();
    } else if (c == mark::pad_name || c == mark::pad_type) {
      const size_t width = column + (c == mark::pad_name ? 8 : 16);
      if (out.size() < width) out.append(width - out.size(), ' ');
    } else {
      out += c;
    }
  }
}

void write_items(std::string& out, const std::vector<Item>& items, int indent) {
  for (const Item& item : items) {
    out.append(static_cast<size_t>(indent), ' ');
    write_line(out, item.head);
    out += item.is_block ? " {\n" : "\n";
    if (!item.is_block) continue;
    write_items(out, item.body, indent + 2);
    out.append(static_cast<size_t>(indent), ' ');
    out += "}\n";
  }
}

}  // namespace

std::vector<Item> fold(std::vector<Item> items) {
  return fold_with(std::move(items), mark::loop_block);
}

std::string write(const std::vector<Item>& items, int indent) {
  std::string out;
  write_items(out, items, indent);
  return out;
}

}  // namespace graph::text
