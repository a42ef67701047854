// Names: ours, then the reference's (reference 5.4), which are read in file order at first.
#include "text/dataset.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "text/json.h"
#include "text/unicode.h"

namespace text {
namespace {

using base::Exit;
using base::fail_user;
using base::PathKind;

constexpr uint64_t max_file_bytes = uint64_t{4} << 30;
constexpr double validation_share = 0.05;

struct Known {
  const char* name;
  Dataset::Kind kind;
  const char* default_path;  // empty: training.dataset_path must be set, or none is needed
  bool file_order_first_epoch;
  const char* remedy;  // when the path is not there
};

constexpr Known known_datasets[] = {
    {"novels", Dataset::Kind::novels, "data/novels", false,
     "fetch the novels: scripts/fetch_novels.sh"},
    {"text", Dataset::Kind::files, "", false,
     "set training.dataset_path to a text or JSONL file, or to a folder of them"},
    {"synthetic", Dataset::Kind::synthetic, "", false, ""},
    {"batches", Dataset::Kind::batches, "", false,
     "set training.dataset_path to a safetensors file with input and labels"},
    {"c4_test", Dataset::Kind::files, "tests/assets/c4_test", true,
     "run inside a torchtitan checkout, set training.dataset_path, or train on our text: "
     "--training.dataset novels"},
    {"c4", Dataset::Kind::files, "", true,
     "Heddle downloads nothing: set training.dataset_path to C4's JSONL files, unpacked"},
    {"c4_validation", Dataset::Kind::files, "", true,
     "Heddle downloads nothing: set training.dataset_path to C4's JSONL files, unpacked"},
};

[[noreturn]] void fail_unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const Known& known : known_datasets) names.emplace_back(known.name);
  const std::string close = base::nearest(name, names);
  fail_user(Exit::data,
            "unknown dataset \"{}\"{}; known are {}; for files of your own set "
            "training.dataset_path",
            name, close.empty() ? "" : ", did you mean \"" + close + "\"?",
            base::join(names, ", "));
}

void refuse_invalid_utf8(std::string_view text, const std::string& file, size_t base_offset) {
  if (const std::optional<size_t> bad = first_invalid_utf8(text)) {
    fail_user(Exit::data,
              "{}: byte {} (0x{:02x}) is not UTF-8; convert the file, for instance with: iconv -f "
              "latin1 -t utf-8",
              file, base_offset + *bad, static_cast<unsigned>(static_cast<uint8_t>(text[*bad])));
  }
}

std::string read_text(const std::string& file) {
  std::string text = base::read_file(file, Exit::data, max_file_bytes);
  if (text.empty()) fail_user(Exit::data, "{}: the file is empty", file);
  refuse_invalid_utf8(text, file, 0);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a byte order mark is no text
  return text;
}

std::string text_of_line(std::string_view line, const std::string& file, size_t number) {
  const std::string where = base::format("{}:{}", file, number);
  const JsonValue value = parse_json_line(line, file, number);
  if (!value.is(JsonValue::Kind::object)) {
    fail_user(Exit::data, "{}: expected an object {{\"text\": ...}}, found {}", where,
              to_text(value.kind));
  }
  const JsonValue* text = value.find("text");
  if (!text) {
    std::vector<std::string> fields;
    for (const auto& member : value.members) fields.push_back(member.name);
    fail_user(Exit::data, "{}: no field \"text\"; the fields are: {}", where,
              base::join(fields, ", "));
  }
  if (!text->is(JsonValue::Kind::text)) {
    fail_user(Exit::data, "{}: field \"text\" is {}, expected a string", where,
              to_text(text->kind));
  }
  return text->text;
}

void append_jsonl(const std::string& file, std::vector<Document>& documents) {
  const std::string content = read_text(file);
  if (content.starts_with('[')) {
    fail_user(Exit::data, "{}:1: a JSON array; expected one object a line, as from: jq -c '.[]'",
              file);
  }
  const size_t before = documents.size();
  size_t number = 0;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    const std::string_view line = std::string_view(content).substr(begin, end - begin);
    ++number;
    begin = end + 1;
    if (base::trim(line).empty()) continue;
    documents.push_back({base::format("{}:{}", file, number), text_of_line(line, file, number)});
  }
  if (documents.size() == before) fail_user(Exit::data, "{}: no documents, only blank lines", file);
}

void append_file(const std::string& file, std::vector<Document>& documents) {
  if (file.ends_with(".gz") || file.ends_with(".zst")) {
    fail_user(Exit::data, "{}: compressed files are not read yet; unpack it first", file);
  }
  if (file.ends_with(".jsonl") || file.ends_with(".json")) {
    append_jsonl(file, documents);
  } else {
    documents.push_back({file, read_text(file)});
  }
}

// Where the part that is held back begins: behind the first line break after 95 %.
size_t validation_begin(std::string_view text) {
  const auto target =
      static_cast<size_t>(static_cast<double>(text.size()) * (1 - validation_share));
  const size_t newline = text.find('\n', target);
  return newline == text.npos ? text.size() : newline + 1;
}

}  // namespace

Dataset find_dataset(const std::string& name, const std::optional<std::string>& path) {
  const auto known = std::ranges::find(known_datasets, name, &Known::name);
  Dataset dataset{.name = name};
  const char* remedy = "check training.dataset_path";
  if (known != std::end(known_datasets)) {
    dataset.kind = known->kind;
    dataset.path = known->default_path;
    dataset.file_order_first_epoch = known->file_order_first_epoch;
    remedy = known->remedy;
  } else if (path) {
    dataset.file_order_first_epoch = true;
  } else {
    fail_unknown(name);
  }
  if (dataset.kind == Dataset::Kind::synthetic) {
    if (path)
      fail_user(Exit::data, "dataset \"synthetic\" is made, not read; unset training.dataset_path");
    return dataset;
  }
  if (path) dataset.path = *path;
  if (dataset.path.empty()) fail_user(Exit::data, "dataset \"{}\" has no path: {}", name, remedy);
  if (base::path_kind(dataset.path) == PathKind::missing) {
    fail_user(Exit::data, "dataset \"{}\": {} does not exist; {}", name, dataset.path, remedy);
  }
  return dataset;
}

std::vector<Document> read_documents(const Dataset& dataset, DataSplit split) {
  CHECK(dataset.kind == Dataset::Kind::novels || dataset.kind == Dataset::Kind::files);
  std::vector<Document> documents;
  append_documents(dataset.path, documents);
  if (dataset.kind != Dataset::Kind::novels) return documents;
  for (Document& document : documents) {
    const size_t begin = validation_begin(document.text);
    document.text =
        split == DataSplit::train ? document.text.substr(0, begin) : document.text.substr(begin);
  }
  return documents;
}

void append_documents(const std::string& path, std::vector<Document>& documents) {
  switch (base::path_kind(path)) {
    case PathKind::missing:
      fail_user(Exit::data, "{} does not exist", path);
    case PathKind::file:
    case PathKind::other:
      append_file(path, documents);
      return;
    case PathKind::directory:
      break;
  }
  const size_t before = documents.size();
  const std::string_view endings[] = {".txt", ".jsonl", ".json", ".gz", ".zst"};
  for (const std::string& name : base::list_directory(path, Exit::data)) {
    const auto fits = [&](std::string_view ending) { return name.ends_with(ending); };
    if (std::ranges::any_of(endings, fits)) append_file(base::join_path(path, name), documents);
  }
  if (documents.size() == before) {
    fail_user(Exit::data, "{}: no *.txt, *.jsonl or *.json in this folder", path);
  }
}

}  // namespace text
