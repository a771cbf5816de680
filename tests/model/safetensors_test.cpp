#include "filigree/model/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "filigree/base/error.h"
#include "tests/support/temporary_folder.h"

namespace filigree::model {
namespace {

using test::content_of;
using test::TemporaryFolder;
using testing::HasSubstr;

// A file with this header text and data.
std::string file_with(const std::string& header, const std::string& data) {
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + header + data;
}

std::string failure_of(const std::string& content) {
  const TemporaryFolder folder;
  const std::string path = folder.write("x.safetensors", content);
  try {
    SafetensorsFile{path};
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::StartsWith(path + ": "));
    EXPECT_THAT(e.what(), testing::Not(HasSubstr("\n")));
    return e.what();
  }
  return "no error";
}

const std::string kOneTensor = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

TEST(Safetensors, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> b = {7};
  write_safetensors(folder / "x",
                    {{"a", "F32", {2, 3}, a.data()},
                     {"b", "I64", {}, b.data()},
                     {"none", "F32", {0, 4}, nullptr}},
                    {{"format", "test"}});
  const SafetensorsFile file(folder / "x");
  ASSERT_EQ(file.tensors().size(), 3u);
  const TensorRead& read = file.tensors().at("a");
  EXPECT_EQ(read.dtype, "F32");
  EXPECT_EQ(read.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(read.data, a.data(), read.bytes), 0);
  EXPECT_EQ(*reinterpret_cast<const int64_t*>(file.tensors().at("b").data), 7);
  EXPECT_EQ(file.metadata().at("format"), "test");
}

TEST(Safetensors, WritesTheDocumentedLayout) {
  const TemporaryFolder folder;
  const float value = 2;
  write_safetensors(folder / "x", {{"a", "F32", {1}, &value}});
  const std::string content = content_of(folder / "x");
  uint64_t size = 0;
  std::memcpy(&size, content.data(), 8);
  EXPECT_EQ(size % 8, 0u);
  EXPECT_THAT(content.substr(8, size),
              testing::StartsWith(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"));
  EXPECT_EQ(content.size(), 8 + size + 4);
}

TEST(Safetensors, EveryCutIsAnError) {
  const std::string whole = file_with(kOneTensor, std::string(8, 'x'));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(failure_of(whole.substr(0, size)), "no error") << size;
  }
  EXPECT_EQ(failure_of(whole), "no error");
}

TEST(Safetensors, EveryKindOfDamageIsNamed) {
  const std::string data(8, 'x');
  EXPECT_THAT(failure_of(""), HasSubstr("cut short"));
  EXPECT_THAT(failure_of(std::string(64, '\xff')), HasSubstr("not a safetensors file"));
  EXPECT_THAT(failure_of(file_with("{nonsense", data)), HasSubstr("not a JSON object"));
  EXPECT_THAT(failure_of(file_with("[1]", data)), HasSubstr("not a JSON object"));
  EXPECT_THAT(failure_of(file_with(R"({"a":{"dtype":"F32","shape":[2]}})", data)),
              HasSubstr("\"a\""));
  EXPECT_THAT(
      failure_of(file_with(R"({"a":{"dtype":"Q7","shape":[2],"data_offsets":[0,8]}})", data)),
      HasSubstr("unknown dtype Q7"));
  EXPECT_THAT(
      failure_of(file_with(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", data)),
      HasSubstr("does not fit its shape"));
  EXPECT_THAT(
      failure_of(file_with(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", data)),
      HasSubstr("does not fit its shape"));
  EXPECT_THAT(
      failure_of(file_with(
          R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", "")),
      HasSubstr("does not fit its shape"));
  EXPECT_THAT(
      failure_of(file_with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", data)),
      HasSubstr("starts at byte 4"));
  EXPECT_THAT(failure_of(file_with(kOneTensor, data + "more")), HasSubstr("after the last tensor"));
  EXPECT_THAT(failure_of(file_with(
                  R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                      "b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                  data)),
              HasSubstr("\"b\" starts at byte 4"));
}

TEST(Safetensors, AMissingFileIsAnError) {
  const TemporaryFolder folder;
  EXPECT_THROW(SafetensorsFile(folder / "none"), Error);
}

}  // namespace
}  // namespace filigree::model
