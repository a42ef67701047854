// Tokenizers: golden ids of the official library, round trips, training, and files that are
// refused.
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "text/bpe.h"
#include "text/bpe_train.h"
#include "text/json.h"
#include "text/pre_tokenize.h"
#include "text/unicode.h"

namespace text {
namespace {

constexpr uint64_t seed = 20240607;

std::string refusal(std::string_view json, std::string_view config = "") {
  try {
    Tokenizer::parse(json, config, "dir/tokenizer.json");
  } catch (const base::UserError& error) {
    EXPECT_EQ(error.exit(), base::Exit::data);
    return error.message();
  }
  return "accepted";
}

// A tokenizer.json with the given parts; the model has the ASCII letters a to d and a few merges.
std::string small_json(std::string_view pre_tokenizer, std::string_view more = "",
                       std::string_view model_more = "") {
  return base::format(
      R"({{"pre_tokenizer": {}, "decoder": {{"type": "ByteLevel"}}{},
"model": {{"type": "BPE", "vocab": {{"a": 0, "b": 1, "c": 2, "d": 3, "ab": 4, "bc": 5, "abc": 6, "Ġ": 7, "Ġa": 8}},
"merges": ["b c", ["a", "b"], "a bc", "Ġ a"]{}}}}})",
      pre_tokenizer, more, model_more);
}
constexpr std::string_view byte_level =
    R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})";

using Ids = std::vector<TokenId>;
Ids encode(std::string_view json, std::string_view text) {
  return Tokenizer::parse(json, "", "t.json").encode(text);
}

// A tokenizer of 256 bytes and no merges, in the manner of the reference's test tokenizer: the
// vocabulary holds raw ASCII, not the byte alphabet.
std::string raw_ascii_json() {
  std::string vocab;
  for (int c = 0; c < 128; ++c) {
    vocab += json_quote(std::string(1, static_cast<char>(c))) + ": " + std::to_string(c) + ", ";
  }
  return base::format(
      R"({{"pre_tokenizer": {}, "decoder": {{"type": "ByteLevel"}}, "post_processor": {{"type": "ByteLevel"}},
"added_tokens": [], "model": {{"type": "BPE", "vocab": {{{}"<|image|>": 128, "<|pad|>": 129}}, "merges": []}}}})",
      byte_level, vocab);
}

TEST(Tokenizer, merges_lowest_rank_first_leftmost_on_a_tie) {
  const std::string json = small_json(byte_level);
  EXPECT_EQ(encode(json, "abc"), (Ids{6}));  // bc first, then a+bc
  EXPECT_EQ(encode(json, "ab"), (Ids{4}));
  EXPECT_EQ(encode(json, "aab ab"), (Ids{0, 4, 7, 4}));  // pieces "aab", " ab": a+b before Ġ+a
  EXPECT_EQ(encode(json, ""), Ids{});
}

TEST(Tokenizer, long_pieces_merge_as_short_ones_do) {
  const std::string json = small_json(R"({"type": "ByteLevel", "add_prefix_space": false,
      "use_regex": false})");
  const Tokenizer tokenizer = Tokenizer::parse(json, "", "t.json");
  std::mt19937_64 rng(seed);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (size_t i = 0; i < 40; ++i) text += "abcd "[rng() % 5];
    // "d" merges with nothing, so the parts of a long text merge each for itself.
    const Ids part = tokenizer.encode(text);
    Ids repeated;
    std::string longer;
    for (int i = 0; i < 4; ++i) {
      longer += text + "d";
      repeated.insert(repeated.end(), part.begin(), part.end());
      repeated.push_back(3);
    }
    ASSERT_EQ(tokenizer.encode(longer), repeated) << "seed " << seed << ": " << text;
  }
}

// Expected ids from the tokenizers library 0.23.3 on the same file.
TEST(Tokenizer, unknown_symbols_are_dropped_fused_or_kept_apart) {
  EXPECT_EQ(encode(small_json(byte_level), "axyb"), (Ids{4}));  // dropped before merging
  const auto with = [](std::string_view more) { return small_json(byte_level, "", more); };
  EXPECT_EQ(encode(with(R"(, "unk_token": "d")"), "axyb"), (Ids{0, 3, 3, 1}));
  EXPECT_EQ(encode(with(R"(, "unk_token": "d", "fuse_unk": true)"), "axyb"), (Ids{0, 3, 1}));
  EXPECT_EQ(encode(with(R"(, "ignore_merges": true)"), "abc"), (Ids{6}));
}

TEST(Tokenizer, the_reference_test_tokenizer_keeps_only_printable_ascii) {
  const std::string config = R"({"added_tokens_decoder": {"128000": {"content": "<|begin_of_text|>",
    "special": true, "normalized": false}, "7": {"content": "<|image|>", "special": true}},
    "bos_token": "<|begin_of_text|>", "eos_token": {"content": "<|end_of_text|>"}, "pad_token": "<|pad|>"})";
  const Tokenizer tokenizer = Tokenizer::parse(raw_ascii_json(), config, "t.json");
  EXPECT_EQ(tokenizer.encode("Hello world!\n"),
            (Ids{72, 101, 108, 108, 111, 119, 111, 114, 108, 100, 33}));
  // Ids follow the model and the order of the seven standard tokens, not the config's numbers.
  EXPECT_EQ(tokenizer.bos_id(), 130);
  EXPECT_EQ(tokenizer.eos_id(), 131);
  EXPECT_EQ(tokenizer.vocab_size(), 132);
  EXPECT_EQ(tokenizer.encode("a<|image|>b", {.bos = true, .eos = true}),
            (Ids{130, 97, 128, 98, 131}));
  ASSERT_EQ(tokenizer.warnings().size(), 1u);
  EXPECT_NE(tokenizer.warnings()[0].find("no symbol for 162 of the 256 bytes, among them space, "
                                         "newline, tab; they are dropped"),
            std::string::npos)
      << tokenizer.warnings()[0];
}

TEST(Tokenizer, added_tokens_match_leftmost_longest_and_strip) {
  const std::string json = small_json(byte_level, R"(, "added_tokens": [
    {"id": 9, "content": "<x", "special": true, "normalized": false},
    {"id": 10, "content": "<x>", "special": true, "normalized": false},
    {"id": 11, "content": "X", "lstrip": true, "normalized": false, "special": true},
    {"id": 12, "content": "Y", "rstrip": true, "normalized": false, "special": true},
    {"id": 13, "content": "bX", "normalized": true, "special": false}])");
  EXPECT_EQ(encode(json, "a<x>b<xa"), (Ids{0, 10, 1, 9, 0}));
  EXPECT_EQ(encode(json, "a  X a"), (Ids{0, 11, 8}));
  EXPECT_EQ(encode(json, "aY \na"), (Ids{0, 12, 0}));
  EXPECT_EQ(encode(json, "abX"), (Ids{4, 11}));  // "bX" is looked for after X was cut out
  const Tokenizer tokenizer = Tokenizer::parse(json, "", "t.json");
  EXPECT_EQ(tokenizer.decode(Ids{0, 10, 1}), "a<x>b");
  EXPECT_EQ(tokenizer.decode(Ids{0, 10, 1}, Tokenizer::SpecialTokens::skip), "ab");
  EXPECT_EQ(tokenizer.id_of("abc"), 6);
  EXPECT_EQ(tokenizer.token_of(13), "bX");
  EXPECT_EQ(tokenizer.token_of(14), std::nullopt);
  EXPECT_THROW(tokenizer.decode(Ids{14}), base::UserError);
  EXPECT_THROW(tokenizer.decode(Ids{-1}), base::UserError);
}

TEST(Tokenizer, templates_put_bos_once) {
  const std::string json =
      small_json(byte_level, R"(, "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "B", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"B": {"id": "B", "ids": [9], "tokens": ["<s>"]}}},
    "added_tokens": [{"id": 9, "content": "<s>"}, {"id": 10, "content": "</s>"}])");
  const Tokenizer tokenizer = Tokenizer::parse(
      json, R"({"bos_token": "<s>", "eos_token": "</s>", "add_eos_token": true})", "t.json");
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{9, 4, 10}));
  EXPECT_EQ(tokenizer.encode("ab", {.bos = true, .eos = false}), (Ids{9, 4}));
  // One token for both is BOS only, as in the reference.
  const Tokenizer same =
      Tokenizer::parse(json, R"({"bos_token": "<s>", "eos_token": "<s>"})", "t.json");
  EXPECT_EQ(same.eos_id(), std::nullopt);
}

// Expected pieces from the tokenizers library 0.23.3.
TEST(PreTokenizer, gpt2_pattern) {
  const auto pieces = [](std::string_view text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      const size_t end = gpt2_piece_end(text, at);
      out += "[" + std::string(text.substr(at, end - at)) + "]";
      at = end;
    }
    return out;
  };
  EXPECT_EQ(pieces("it's we'll I'M 'a' ''s"), "[it]['s][ we]['ll][ I]['][M][ '][a]['][ ''][s]");
  EXPECT_EQ(pieces("a  b   1234\n\n x "), "[a][ ][ b][  ][ 1234][\n\n][ x][ ]");
  EXPECT_EQ(pieces("x\u00a0y \u3000z"), "[x][\u00a0][y][ ][\u3000][z]");
  EXPECT_EQ(pieces("d\u00e9j\u00e0 \u4f60\u597d\u0301!?"),
            "[d\u00e9j\u00e0][ \u4f60\u597d][\u0301!?]");
}

TEST(PreTokenizer, split_behaviors) {
  const auto pieces = [](std::string_view behavior, bool invert) {
    const std::string json = small_json(
        base::format(R"({{"type": "Split", "pattern": {{"Regex": "c+"}}, "behavior": "{}",
                     "invert": {}}})",
                     behavior, invert),
        "", R"(, "ignore_merges": true)");
    return json;
  };
  // Without ByteLevel symbols are code points; "abc" is one token only if no cut parts it.
  EXPECT_EQ(encode(pieces("Isolated", false), "abcab"), (Ids{4, 2, 4}));
  EXPECT_EQ(encode(pieces("Removed", false), "abcab"), (Ids{4, 4}));
  EXPECT_EQ(encode(pieces("Removed", true), "abcab"), (Ids{2}));
  EXPECT_EQ(encode(pieces("MergedWithPrevious", false), "abcab"), (Ids{6, 4}));
  EXPECT_EQ(encode(pieces("MergedWithNext", false), "abcab"), (Ids{4, 2, 4}));
  EXPECT_EQ(encode(pieces("Contiguous", false), "abcab"), (Ids{4, 2, 4}));
}

TEST(PreTokenizer, patterns_that_engines_read_differently_are_refused) {
  const auto with = [](std::string_view regex) {
    return refusal(small_json(
        base::format(R"({{"type": "Split", "pattern": {{"Regex": {}}}, "behavior": "Isolated"}})",
                     json_quote(regex))));
  };
  for (const std::string_view regex : {"\\w+", "a\\b", "[[:alpha:]]", "[a&&b]", "\\h", "\\R",
                                       "[\\S]", "\\p{Foo}", "\\pL", "(*UTF)", "\\u12", "a\\"}) {
    EXPECT_NE(with(regex).find("is not supported: PCRE2 and Oniguruma read it"), std::string::npos)
        << regex << ": " << with(regex);
  }
  EXPECT_NE(with("(").find("does not compile"), std::string::npos);
  EXPECT_EQ(with("[^\\s\\p{L}]+|\\s+(?!\\S)|[]a]|\\p{Han}{1,3}|\\u4e00"), "accepted");
}

std::string random_bytes(std::mt19937_64& rng, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(rng());
  return bytes;
}

TrainedTokenizer trained() {
  const std::string_view documents[] = {
      "It is a truth universally acknowledged, that a single man in possession of a good fortune, "
      "must be in want of a wife. It's the truth; isn't it? That is the thing that they want."};
  return train_bpe(documents, {.vocab_size = 300});
}

TEST(Tokenizer, any_bytes_come_back) {
  const TrainedTokenizer t = trained();
  const Tokenizer tokenizer = Tokenizer::parse(t.tokenizer_json, t.config_json, "t.json");
  std::mt19937_64 rng(seed);
  for (int round = 0; round < 300; ++round) {
    const std::string bytes = random_bytes(rng, rng() % 200) + " that \xe4\xbd\xa0 \xf0\x9f";
    ASSERT_EQ(tokenizer.decode(tokenizer.encode(bytes)), bytes) << "seed " << seed;
  }
}

TEST(Tokenizer, cost_is_near_linear_in_one_long_piece) {
  const TrainedTokenizer t = trained();
  const Tokenizer tokenizer = Tokenizer::parse(t.tokenizer_json, t.config_json, "t.json");
  const std::string text(2'000'000, 't');  // a quadratic algorithm would take hours
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}

TEST(BpeTrain, merges_by_count_then_bytes) {
  // Words "cd", " cd" x 3, " ab" x 4, ...: pairs " a", "ab" and "cd" occur 4 times each.
  const std::string_view documents[] = {"cd cd cd cd ab ab ab ab xy xy"};
  const TrainedTokenizer t = train_bpe(documents, {.vocab_size = 258 + 3});
  const Tokenizer tokenizer = Tokenizer::parse(t.tokenizer_json, t.config_json, "t.json");
  EXPECT_EQ(tokenizer.vocab_size(), 261);
  EXPECT_EQ(tokenizer.token_of(258), "Ġa");  // a space comes before all letters
  EXPECT_EQ(tokenizer.token_of(259), "Ġab");
  EXPECT_EQ(tokenizer.token_of(260), "cd");
  EXPECT_EQ(tokenizer.token_of(0), "<|begin_of_text|>");
  EXPECT_EQ(tokenizer.bos_id(), 0);
  EXPECT_EQ(tokenizer.eos_id(), 1);
  EXPECT_TRUE(tokenizer.warnings().empty());
}

TEST(BpeTrain, repeats_and_stops_when_no_pair_repeats) {
  EXPECT_EQ(trained().tokenizer_json, trained().tokenizer_json);
  const std::string_view documents[] = {"aaaa aaaa bcbc"};
  const TrainedTokenizer t = train_bpe(documents, {.vocab_size = 2048});
  EXPECT_LT(t.vocab_size, 270);
  EXPECT_NE(Tokenizer::parse(t.tokenizer_json, "", "t.json").id_of("aaaa"), std::nullopt);
  EXPECT_THROW(train_bpe(documents, {.vocab_size = 257}), base::UserError);
}

TEST(TokenizerFile, unsupported_parts_are_named) {
  const auto expect = [](const std::string& json, std::string_view part) {
    const std::string message = refusal(json);
    EXPECT_NE(message.find(part), std::string::npos) << part << ": " << message;
    EXPECT_NE(message.find("not supported"), std::string::npos) << message;
  };
  expect(small_json(R"({"type": "Metaspace"})"), "pre_tokenizer: pre-tokenizer \"Metaspace\"");
  expect(small_json("null", R"(, "normalizer": {"type": "NFC"})"), "normalizer \"NFC\"");
  expect(small_json("null", R"(, "post_processor": {"type": "BertProcessing"})"), "BertProcessing");
  expect(small_json("null", "", R"(, "byte_fallback": true)"), "model.byte_fallback");
  expect(small_json("null", "", R"(, "dropout": 0.1)"), "model.dropout");
  expect(small_json("null", "", R"(, "end_of_word_suffix": "</w>")"), "model.end_of_word_suffix");
  expect(R"({"model": {"type": "Unigram", "vocab": []}})", "model.type: model \"Unigram\"");
  expect(
      small_json("null", R"(, "added_tokens": [{"id": 9, "content": "x", "single_word": true}])"),
      "added_tokens[0].single_word");
  expect(
      small_json(R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "Split",
         "pattern": {"String": "x"}, "behavior": "Isolated"}]})"),
      "pre_tokenizer.pretokenizers[1]");
}

TEST(TokenizerFile, malformed_files_are_refused_with_their_place) {
  EXPECT_NE(refusal("{\n  \"model\": [1,\n}").find("dir/tokenizer.json:3:1: "), std::string::npos)
      << refusal("{\n  \"model\": [1,\n}");
  EXPECT_NE(refusal("{\"a\": 1, \"a\": 2}").find("key \"a\" stands twice"), std::string::npos);
  EXPECT_NE(refusal(std::string(100000, '[')).find("nested deeper"), std::string::npos);
  EXPECT_NE(refusal("[]").find("expected an object, found an array"), std::string::npos);
  EXPECT_NE(refusal("{}").find("model: missing"), std::string::npos);
  EXPECT_NE(refusal(small_json(byte_level), "{").find("dir/tokenizer_config.json:1:"),
            std::string::npos);
  const auto model = [](std::string_view vocab, std::string_view merges) {
    return base::format(R"({{"model": {{"vocab": {}, "merges": {}}}}})", vocab, merges);
  };
  EXPECT_NE(refusal(model(R"({"a": 0, "b": 0})", "[]")).find("id 0 belongs to"), std::string::npos);
  EXPECT_NE(refusal(model(R"({"a": -1})", "[]")).find("outside 0 to"), std::string::npos);
  EXPECT_NE(refusal(model(R"({"a": 99999999999})", "[]")).find("outside 0 to"), std::string::npos);
  EXPECT_NE(refusal(model(R"({"a": 1.5})", "[]")).find("a whole number"), std::string::npos);
  EXPECT_NE(refusal(model(R"({"a": 0})", R"(["a a"])")).find("model.merges[0]: \"aa\" is not in"),
            std::string::npos);
  EXPECT_NE(refusal(model(R"({"a": 0})", R"(["aa"])")).find("two tokens with a space"),
            std::string::npos);
  EXPECT_NE(refusal(model(R"({"a": 0})", "[[\"a\"]]")).find("model.merges[0]"), std::string::npos);
}

TEST(TokenizerFile, truncated_at_every_byte) {
  const TrainedTokenizer t = trained();
  for (size_t size = 0; size + 2 < t.tokenizer_json.size(); size += size < 2000 ? 1 : 37) {
    ASSERT_NE(refusal(t.tokenizer_json.substr(0, size)), "accepted") << "at byte " << size;
  }
}

TEST(Utf8, finds_the_first_bad_byte) {
  EXPECT_EQ(first_invalid_utf8("plain text, more than eight bytes"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("\u00e9\u4f60\U0001f600\U0010ffff"), std::nullopt);
  for (const std::string_view bad : {"\xff", "\xc0\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                                     "\xf4\x90\x80\x80", "\xe4\xbd", "\x80", "\xf0\x8f\xbf\xbf"}) {
    EXPECT_EQ(first_invalid_utf8("twelve bytes" + std::string(bad) + "x"), 12u);
  }
}

}  // namespace
}  // namespace text
