// Safetensors: round trip, and every way a file can be wrong.
#include "host/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/files.h"

namespace host {
namespace {

using base::Exit;

std::string file_of(std::string_view json, size_t data_bytes) {
  const uint64_t length = json.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  bytes += json;
  for (size_t i = 0; i < data_bytes; ++i) bytes += static_cast<char>(i % 2);
  return bytes;
}

SafetensorsFile parse(std::string bytes) {
  return SafetensorsFile::from_bytes(std::move(bytes), "w.safetensors", Exit::checkpoint);
}

template <class Call>
std::string user_error(Call call) {
  try {
    call();
  } catch (const base::UserError& e) {
    EXPECT_EQ(e.exit(), Exit::checkpoint);
    return e.message();
  }
  return "no error";
}

std::string error_of(std::string_view json, size_t data_bytes = 0) {
  return user_error([&] { parse(file_of(json, data_bytes)); });
}

std::string temporary_path() {
  return base::format("{}heddle-{}.safetensors", testing::TempDir(), getpid());
}

std::vector<NamedTensor> samples() {
  std::vector<NamedTensor> tensors;
  const auto add = [&](const std::string& name, DType dtype, Shape shape) {
    Tensor x = Tensor::make(DType::i64, std::move(shape));
    std::iota(x.data<int64_t>(), x.data<int64_t>() + x.count(), 1);
    tensors.push_back({name, cast(x, dtype)});
  };
  add("flags", DType::boolean, {3});
  add("z.weight", DType::f32, {2, 3});
  add("a.weight", DType::f32, {4});
  add("double", DType::f64, {});
  add("half", DType::bf16, {2, 2});
  add("other half", DType::f16, {1});
  add("ids", DType::i64, {5});
  add("small ids", DType::i32, {5});
  add("bytes", DType::u8, {7});
  add("none", DType::f32, {3, 0, 2});
  add("\"quoted\" \xE2\x82\xAC\n", DType::f32, {1});
  return tensors;
}

TEST(Safetensors, RoundTrip) {
  const std::string path = temporary_path();
  const std::vector<NamedTensor> tensors = samples();
  write_safetensors(path, tensors, {{"format", "pt"}, {"step", "1"}}, Exit::checkpoint);
  const SafetensorsFile file(path, Exit::checkpoint);
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}, {"step", "1"}}));
  EXPECT_EQ(file.entries().size(), tensors.size());
  EXPECT_TRUE(std::ranges::is_sorted(file.entries(), {}, &TensorEntry::name));
  for (const NamedTensor& t : tensors) {
    const Tensor x = file.get(t.name);
    EXPECT_TRUE(same_bits(x, t.tensor)) << t.name;
    EXPECT_EQ(x.is_sole_owner(), false) << t.name << ": a view of the file, not a copy";
  }
  // Written again from the mapping, the same bytes come out, whatever the order of the list.
  std::vector<NamedTensor> again;
  for (const TensorEntry& e : file.entries()) again.push_back({e.name, file.get(e.name)});
  write_safetensors(path + "2", again, file.metadata(), Exit::checkpoint);
  EXPECT_EQ(base::read_file(path, Exit::data), base::read_file(path + "2", Exit::data));
  base::remove_file(path, Exit::data);
  base::remove_file(path + "2", Exit::data);
}

TEST(Safetensors, TensorsOutliveTheFile) {
  const Tensor x =
      parse(file_of(R"({"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", 3)).get("w");
  EXPECT_EQ(x.data<uint8_t>()[1], 1);
}

TEST(Safetensors, WritesStridedViewsRowMajor) {
  const std::string path = temporary_path();
  const Tensor x = samples()[1].tensor;
  const Tensor turned = x.view({3, 2}, {1, 3}, 0);
  write_safetensors(path, std::vector<NamedTensor>{{"w", turned}}, {}, Exit::checkpoint);
  EXPECT_TRUE(same_bits(SafetensorsFile(path, Exit::checkpoint).get("w"), turned));
  write_safetensors(path, {}, {}, Exit::checkpoint);
  EXPECT_EQ(base::read_file(path, Exit::data), file_of("{}      ", 0));
  EXPECT_TRUE(SafetensorsFile(path, Exit::checkpoint).entries().empty());
  base::remove_file(path, Exit::data);
}

TEST(Safetensors, WriterRefusesOneNameTwice) {
  const std::vector<NamedTensor> twice = {samples()[0], samples()[0]};
  EXPECT_THROW(write_safetensors(temporary_path(), twice, {}, Exit::checkpoint),
               base::InternalError);
}

TEST(Safetensors, TruncatedAtEveryByte) {
  const std::string path = temporary_path();
  write_safetensors(path, samples(), {{"format", "pt"}}, Exit::checkpoint);
  const std::string whole = base::read_file(path, Exit::data);
  base::remove_file(path, Exit::data);
  EXPECT_EQ(parse(whole).entries().size(), samples().size());
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string message = user_error([&] { parse(whole.substr(0, size)); });
    EXPECT_NE(message.find("w.safetensors: "), std::string::npos) << size << ": " << message;
    EXPECT_NE(message.find(" found"), std::string::npos) << size << ": " << message;
  }
  EXPECT_NE(user_error([&] { parse(whole + "x"); }), "no error");
}

TEST(Safetensors, AnyOneByteChangedNeverCrashes) {
  const std::string whole = file_of(
      R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  int accepted = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char byte : std::string_view("\0\"{}[],:9-e \x80\xff", 14)) {
      std::string bytes = whole;
      bytes[at] = byte;
      try {
        const SafetensorsFile file = parse(bytes);
        for (const TensorEntry& e : file.entries()) EXPECT_EQ(file.get(e.name).count(), 2);
        ++accepted;
      } catch (const base::UserError&) {
      }
    }
  }
  EXPECT_GT(accepted, 8 * 14) << "all that changes data only, or letters of a name";
}

TEST(Safetensors, WrongHeaders) {
  EXPECT_EQ(user_error([] { parse("abc"); }),
            "w.safetensors: no safetensors file: at least 8 bytes expected, 3 found");
  EXPECT_EQ(user_error([] { parse(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10)); }),
            "w.safetensors: no safetensors file: header of at most 100000000 bytes expected, "
            "100000001 found");
  EXPECT_EQ(user_error([] { parse(std::string("\x00\xe1\xf5\x05\0\0\0\0{}", 10)); }),
            "w.safetensors: header of 100000000 bytes expected, 2 found: the file is cut off");
  EXPECT_EQ(error_of(""), "w.safetensors: header does not start with {");
  EXPECT_EQ(error_of(" {}"), "w.safetensors: header does not start with {");
  EXPECT_EQ(error_of("\xEF\xBB\xBF{}"), "w.safetensors: header does not start with {");
  EXPECT_EQ(error_of("[]"), "w.safetensors: header does not start with {");
  EXPECT_NE(error_of(std::string("{}\0", 3)).find("NUL"), std::string::npos);
  for (const char* json :
       {"{", "{}x", "{\"a\"", "{\"a\":}", "{\"\xff\":{}}", "{}{}", "{\"a\":{},}"}) {
    EXPECT_NE(error_of(json).find("w.safetensors: "), std::string::npos) << json;
  }
  EXPECT_EQ(error_of("{}"), "no error");
  EXPECT_EQ(error_of("{}  \n "), "no error");
  EXPECT_EQ(error_of("{}", 1), "w.safetensors: 0 bytes of data expected, 1 found");
}

TEST(Safetensors, WrongEntries) {
  const auto entry_error = [](const std::string& body, size_t data_bytes = 8) {
    const std::string message = error_of("{\"w\":" + body + "}", data_bytes);
    const std::string prefix = "w.safetensors: tensor w: ";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  };
  EXPECT_EQ(entry_error("3"), "{...} expected, 3 found");
  EXPECT_EQ(entry_error("null"), "{...} expected, null found");
  EXPECT_EQ(entry_error("[]"), "{...} expected, [...] found");
  EXPECT_EQ(entry_error("{}"), "key dtype is missing");
  EXPECT_EQ(entry_error(R"({"dtype":"F32"})"), "key shape is missing");
  EXPECT_EQ(entry_error(R"({"dtype":"F32","shape":[2]})"), "key data_offsets is missing");
  EXPECT_EQ(entry_error(R"({"dtype":"F33","shape":[2],"data_offsets":[0,8]})"),
            "dtype such as F32, BF16 or I64 expected, \"F33\" found");
  EXPECT_EQ(entry_error(R"({"dtype":32,"shape":[2],"data_offsets":[0,8]})"),
            "dtype: a string expected, 32 found");
  EXPECT_EQ(entry_error(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})"),
            "shape: a list of whole numbers expected, 2 found");
  EXPECT_EQ(entry_error(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
            "shape: a whole number from 0 to 2^63 - 1 expected, -2 found");
  EXPECT_EQ(entry_error(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"),
            "shape: a whole number from 0 to 2^63 - 1 expected, 2.0 found");
  EXPECT_EQ(entry_error(R"({"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]})"),
            "shape: a whole number from 0 to 2^63 - 1 expected, 9223372036854775808 found");
  EXPECT_EQ(entry_error(R"({"dtype":"F32","shape":[[2]],"data_offsets":[0,8]})"),
            "shape: a whole number from 0 to 2^63 - 1 expected, [...] found");
  EXPECT_EQ(entry_error(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"),
            "data_offsets with 2 numbers expected, 1 found");
  EXPECT_EQ(entry_error(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})"),
            "data_offsets: 2 whole numbers from 0 expected, 9 found");
  EXPECT_EQ(entry_error(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})"),
            "keys dtype, shape and data_offsets expected, \"x\" found");
  EXPECT_EQ(entry_error(R"({"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})"),
            "w.safetensors: w: key \"dtype\" appears twice");
}

TEST(Safetensors, WrongOffsets) {
  const auto one = [](const std::string& shape, const std::string& offsets, size_t data_bytes = 8) {
    return error_of(
        base::format(R"({{"w":{{"dtype":"F32","shape":{},"data_offsets":{}}}}})", shape, offsets),
        data_bytes);
  };
  EXPECT_EQ(one("[2]", "[0,8]"), "no error");
  EXPECT_EQ(one("[2]", "[0,4]"),
            "w.safetensors: tensor w: 8 bytes expected for F32 [2], data_offsets [0, 4] found");
  EXPECT_EQ(one("[2]", "[8,0]"),
            "w.safetensors: tensor w: 8 bytes expected for F32 [2], data_offsets [8, 0] found");
  EXPECT_EQ(one("[2]", "[4,12]", 12),
            "w.safetensors: tensor w: data expected at offset 0, 4 found: a gap");
  EXPECT_EQ(one("[2]", "[0,8]", 7),
            "w.safetensors: 8 bytes of data expected, 7 found: the file is cut off");
  EXPECT_EQ(one("[2]", "[0,8]", 9), "w.safetensors: 8 bytes of data expected, 9 found");
  EXPECT_EQ(one("[2]", "[18446744073709551608,18446744073709551616]"),
            "w.safetensors: tensor w: data_offsets: 2 whole numbers from 0 expected, "
            "18446744073709551616 found");
  for (const char* shape :
       {"[4611686018427387904,4]", "[9223372036854775807,9223372036854775807,0]",
        "[4294967296,4294967296]"}) {
    EXPECT_NE(one(shape, "[0,0]", 0).find("is no whole number of bytes"), std::string::npos);
  }
  EXPECT_EQ(one("[0,9223372036]", "[0,0]", 0), "no error");
  const auto two = [](const std::string& offsets, size_t data_bytes) {
    return error_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                    R"("b":{"dtype":"U8","shape":[4],"data_offsets":)" +
                        offsets + "}}",
                    data_bytes);
  };
  EXPECT_EQ(two("[4,8]", 8), "no error");
  EXPECT_EQ(two("[2,6]", 6),
            "w.safetensors: tensor b: data expected at offset 4, 2 found: an overlap");
  EXPECT_EQ(two("[0,4]", 4),
            "w.safetensors: tensor b: data expected at offset 4, 0 found: an overlap");
  EXPECT_EQ(two("[5,9]", 9), "w.safetensors: tensor b: data expected at offset 4, 5 found: a gap");
}

TEST(Safetensors, DuplicatesAndMetadata) {
  const std::string w = R"("w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(error_of("{" + w + "," + w + "}"), "w.safetensors: tensor w appears twice");
  EXPECT_EQ(error_of(R"({"__metadata__":{"a":"b"},"__metadata__":{}})"),
            "w.safetensors: __metadata__ appears twice");
  EXPECT_EQ(error_of(R"({"__metadata__":{"a":"b","a":"c"}})"),
            "w.safetensors: __metadata__: key \"a\" appears twice");
  EXPECT_EQ(error_of(R"({"__metadata__":{"a":1}})"),
            "w.safetensors: __metadata__: key \"a\": a string expected, 1 found");
  EXPECT_EQ(error_of(R"({"__metadata__":[]})"),
            "w.safetensors: __metadata__: {...} expected, [...] found");
}

TEST(Safetensors, SubByteTypesComeToWholeBytes) {
  EXPECT_EQ(error_of(R"({"w":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}})", 2), "no error");
  EXPECT_EQ(error_of(R"({"w":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}})", 3),
            "no error");
  EXPECT_EQ(error_of(R"({"w":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2),
            "w.safetensors: tensor w: F4 [3] is no whole number of bytes below 2^60");
}

TEST(Safetensors, GetChecksNameTypeAndShape) {
  const SafetensorsFile file =
      parse(file_of(R"({"layers.0.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                    R"("f8":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[8,12]},)"
                    R"("odd":{"dtype":"I32","shape":[1],"data_offsets":[13,17]},)"
                    R"("flag":{"dtype":"BOOL","shape":[1],"data_offsets":[12,13]}})",
                    17));
  EXPECT_EQ(user_error([&] { file.get("layers.0.wieght"); }),
            "w.safetensors: no tensor layers.0.wieght; did you mean layers.0.weight?");
  EXPECT_EQ(user_error([&] { file.get("f8"); }),
            "w.safetensors: tensor f8: F64, F32, BF16, F16, I64, I32, U8 or BOOL expected, F8_E4M3 "
            "found");
  EXPECT_EQ(user_error([&] { file.get("layers.0.weight", DType::f32, Shape{2, 1}); }),
            "w.safetensors: tensor layers.0.weight: shape [2, 1] expected, [2] found");
  EXPECT_EQ(user_error([&] { file.get("layers.0.weight", DType::i64, Shape{2}); }),
            "w.safetensors: tensor layers.0.weight: an integer type expected, F32 found");
  EXPECT_EQ(file.get("layers.0.weight", DType::f64, Shape{2}).dtype(), DType::f64);
  EXPECT_EQ(file.get("odd").data<int32_t>()[0], 0x00010001) << "misaligned data is copied";
  EXPECT_EQ(file.find("none"), nullptr);
  std::string bytes = file_of(R"({"b":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", 1);
  bytes.back() = 7;
  EXPECT_EQ(user_error([&] { parse(bytes).get("b"); }),
            "w.safetensors: tensor b: bytes 0 or 1 expected in BOOL, others found");
}

TEST(Safetensors, NamesTheMissingFile) {
  EXPECT_EQ(user_error([] { SafetensorsFile file("/none/x.safetensors", Exit::checkpoint); }),
            "cannot read /none/x.safetensors: no such file or directory");
}

}  // namespace
}  // namespace host
