// Reads tokenizer.json and tokenizer_config.json into plain structs; refuses what is not supported.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe.h"
#include "text/pre_tokenize.h"

namespace text {

struct AddedToken {
  std::string content;
  std::optional<TokenId> id;  // as the file says; the library goes by content
  bool lstrip = false;        // takes the spaces before it
  bool rstrip = false;
  bool normalized = false;  // found after the others
  bool special = false;
};

struct TokenizerSpec {
  BpeSpec model;
  std::vector<SplitStep> splits;
  std::vector<AddedToken> added_tokens;
  // What the post-processor puts around a text.
  std::vector<TokenId> prefix, suffix;
  bool byte_level_decoder = false;  // else tokens are joined by spaces, as the library does
};

// What torchtitan reads from tokenizer_config.json (reference 5.5).
struct TokenizerConfig {
  std::optional<std::string> bos_token, eos_token;
  bool add_bos = false;
  bool add_eos = false;
  std::vector<AddedToken> added_tokens;  // in the order in which they are added
};

TokenizerSpec read_tokenizer_json(std::string_view json, const std::string& where);
TokenizerConfig read_tokenizer_config(std::string_view json, const std::string& where);

}  // namespace text
