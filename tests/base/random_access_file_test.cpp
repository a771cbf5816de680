#include "filigree/base/random_access_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "filigree/base/error.h"
#include "tests/support/temporary_folder.h"

namespace filigree {
namespace {

using test::TemporaryFolder;

std::string text_of(const RandomAccessFile::Mapping& mapping) {
  return {reinterpret_cast<const char*>(mapping.bytes().data()), mapping.bytes().size()};
}

TEST(RandomAccessFile, ReadsAndMapsAnyPlace) {
  const TemporaryFolder folder;
  std::string content;
  for (int i = 0; i < 3000; ++i) content += std::to_string(i) + " ";
  const RandomAccessFile file(folder.write("f", content));
  EXPECT_EQ(file.size(), content.size());
  for (const size_t offset : {0, 1, 4095, 4096, 9000}) {
    std::string part(100, 0);
    file.read(offset, part.data(), part.size());
    EXPECT_EQ(part, content.substr(offset, 100));
    EXPECT_EQ(text_of(file.map(offset, 100)), content.substr(offset, 100));
  }
  EXPECT_EQ(text_of(file.map(content.size(), 0)), "");
}

TEST(RandomAccessFile, StaysWholeWhenTheFileIsRemoved) {
  const TemporaryFolder folder;
  RandomAccessFile::Mapping mapping;
  {
    const RandomAccessFile file(folder.write("f", "content"));
    mapping = file.map(3, 4);
    std::filesystem::remove(folder / "f");
    std::string part(3, 0);
    file.read(0, part.data(), 3);
    EXPECT_EQ(part, "con");
  }
  EXPECT_EQ(text_of(mapping), "tent");
}

TEST(RandomAccessFile, ReadingBeyondTheEndIsAnError) {
  const TemporaryFolder folder;
  const RandomAccessFile file(folder.write("f", "content"));
  char buffer[8];
  EXPECT_THROW(file.read(0, buffer, 8), Error);
  EXPECT_THROW(file.read(100, buffer, 1), Error);
}

TEST(RandomAccessFile, MissingFilesAndFoldersAreErrors) {
  const TemporaryFolder folder;
  EXPECT_THROW(RandomAccessFile(folder / "absent"), Error);
  EXPECT_THROW(RandomAccessFile(folder.path()), Error);
}

}  // namespace
}  // namespace filigree
