#include "filigree/text/text_file.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/support/temporary_folder.h"
#include "tests/text/matchers.h"

namespace filigree::text {
namespace {

using test::TemporaryFolder;
using testing::ElementsAre;

TEST(TextFile, KeepsEmptyLinesAndALastLineWithoutEnd) {
  const TemporaryFolder folder;
  EXPECT_THAT(read_text(folder.write("a", "one\n\n two \nthree")),
              ElementsAre("one", "", " two ", "three"));
}

TEST(TextFile, RemovesDosLineEndsAndTheByteOrderMark) {
  const TemporaryFolder folder;
  EXPECT_THAT(read_text(folder.write("a", "\xEF\xBB\xBFone\r\ntwo\r\n")),
              ElementsAre("one", "two"));
}

TEST(TextFile, NamesFileLineAndByteOfInvalidUtf8) {
  const TemporaryFolder folder;
  const std::string path = folder.write("latin1.txt", "caf\xC3\xA9\ncaf\xE9\n");
  EXPECT_THROWS(read_text(path), Error,
                path + ":2: byte 4 is not valid UTF-8; convert the file to UTF-8");
}

TEST(TextFile, NamesFileAndLineOfANulByte) {
  const TemporaryFolder folder;
  const std::string path = folder.write("binary", std::string("a\n\0\n", 4));
  EXPECT_THROWS(read_text(path), Error, path + ":2: contains a NUL byte; is this a text file?");
}

TEST(TextFile, MissingFileIsAnError) {
  EXPECT_THROWS(read_text("/no/such/file"), Error,
                "/no/such/file: cannot open: No such file or directory");
}

TEST(TextReader, TellsBadLinesApartWhenTheyAreToBeDropped) {
  const TemporaryFolder folder;
  TextReader reader(folder.write("a", std::string("good\nb\xE4"
                                                  "d\nn\0l\n",
                                                  13)),
                    BadLines::kDrop);
  EXPECT_EQ(reader.next(), "good");
  EXPECT_EQ(reader.fault(), LineFault::kNone);
  EXPECT_TRUE(reader.next());
  EXPECT_EQ(reader.fault(), LineFault::kInvalidUtf8);
  EXPECT_TRUE(reader.next());
  EXPECT_EQ(reader.fault(), LineFault::kNulByte);
  EXPECT_EQ(reader.line_number(), 3);
  EXPECT_FALSE(reader.next());
}

}  // namespace
}  // namespace filigree::text
