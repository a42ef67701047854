// Datasets by name, and the documents of text and JSONL files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace text {

struct Document {
  std::string name;  // file, or file:line
  std::string text;  // valid UTF-8
};

enum class DataSplit : uint8_t { train, validation };

struct Dataset {
  enum class Kind : uint8_t { novels, files, synthetic, batches };

  std::string name;
  Kind kind = Kind::files;
  std::string path;                     // empty for synthetic
  bool file_order_first_epoch = false;  // as the reference reads; otherwise always shuffled
};

// The dataset that training.dataset and training.dataset_path ask for. Fails with exit 3 on an
// unknown name and on a path that is not there, saying what to do.
Dataset find_dataset(const std::string& name, const std::optional<std::string>& path);

// The documents of `novels` or of files. Only `novels` holds a part back for validation: the last
// 5 % of each novel, cut at a line.
std::vector<Document> read_documents(const Dataset& dataset, DataSplit split);

// Appends the documents of one file or of a folder's files in order of name: *.txt, one document a
// file; *.jsonl and *.json, one a line, its field "text". Fails with exit 3 and file:line, or file
// and byte, on what is malformed or empty.
void append_documents(const std::string& path, std::vector<Document>& documents);

}  // namespace text
