#include "filigree/base/files.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <string>

#include "filigree/base/error.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_folder.h"

namespace filigree {
namespace {

using test::content_of;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string gzip(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return content_of(path);
}

/// The message of the Error that `action` throws; "" when it throws none.
template <typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(ReadFile, ReturnsEveryByte) {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\r\n\xff", 6);
  EXPECT_EQ(read_file(folder.write("f", bytes)), bytes);
  EXPECT_EQ(read_file(folder.write("empty", "")), "");
}

TEST(ReadFile, NamesWhatIsWrong) {
  const TemporaryFolder folder;
  EXPECT_EQ(message_of([&] { read_file(folder / "absent"); }),
            (folder / "absent") + ": cannot open: No such file or directory");
  EXPECT_EQ(message_of([&] { read_file(folder.path()); }),
            folder.path().string() + ": is a folder, expected a file");
}

TEST(ReadLines, EndAtLineFeedOnly) {
  const TemporaryFolder folder;
  // Unicode's own line separators, vertical tab and form feed are text; so is a carriage return.
  const std::string odd = "a\u2028b\u0085c\vd\fe\r";
  EXPECT_THAT(read_lines(folder.write("f", odd + "\nnext\n")), ElementsAre(odd, "next"));
}

TEST(ReadLines, LastLineNeedsNoLineFeed) {
  const TemporaryFolder folder;
  EXPECT_THAT(read_lines(folder.write("f", "a\nb")), ElementsAre("a", "b"));
  EXPECT_THAT(read_lines(folder.write("g", "a\n\n")), ElementsAre("a", ""));
  EXPECT_THAT(read_lines(folder.write("h", "\n")), ElementsAre(""));
  EXPECT_THAT(read_lines(folder.write("i", "")), ElementsAre());
}

TEST(ReadLines, LinesLongerThanTheBufferAreWhole) {
  const TemporaryFolder folder;
  const std::string line(5'000'000, 'x');
  EXPECT_THAT(read_lines(folder.write("f", line + "\ny\n")), ElementsAre(line, "y"));
}

TEST(ReadLines, GzipIsToldByContent) {
  const TemporaryFolder folder;
  EXPECT_THAT(read_lines(folder.write("no-suffix", gzip("a\nb\n"))), ElementsAre("a", "b"));
  EXPECT_THAT(read_lines(folder.write("plain.gz", "a\nb\n")), ElementsAre("a", "b"));
  EXPECT_THAT(read_lines(folder.write("two.gz", gzip("a\nb") + gzip("c\n"))),
              ElementsAre("a", "bc"));
}

TEST(ReadLines, TruncatedGzipIsAnError) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i * 7919) + "\n";
  const std::string whole = gzip(text);
  for (const size_t kept : {whole.size() - 1, whole.size() - 8, whole.size() / 2, size_t{20}}) {
    const std::string path = folder.write("cut.gz", whole.substr(0, kept));
    EXPECT_THAT(message_of([&] { read_lines(path); }), StartsWith(path + ": line "))
        << kept << " of " << whole.size() << " bytes";
  }
}

TEST(ReadLines, DamagedGzipIsAnError) {
  const TemporaryFolder folder;
  std::string bytes = gzip(std::string(10'000, 'a') + "\n");
  bytes[bytes.size() - 6] ^= 1;  // The checksum.
  const std::string path = folder.write("bad.gz", bytes);
  EXPECT_THAT(message_of([&] { read_lines(path); }), HasSubstr("cannot read"));
}

TEST(ReadLines, MissingFileAndFolderAreErrors) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of([&] { read_lines(folder / "absent"); }),
              HasSubstr("absent: cannot open: No such file or directory"));
  EXPECT_THAT(message_of([&] { read_lines(folder.path()); }), HasSubstr("is a folder"));
}

TEST(LineReader, CountsLines) {
  const TemporaryFolder folder;
  LineReader reader(folder.write("f", "a\nb\n"));
  EXPECT_EQ(reader.line_number(), 0);
  reader.next();
  EXPECT_EQ(reader.line_number(), 1);
  reader.next();
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.line_number(), 2);
}

TEST(AtomicFile, AppearsOnlyAtCommit) {
  const TemporaryFolder folder;
  folder.write("f", "old");
  AtomicFile file(folder / "f");
  file.write("new");
  EXPECT_EQ(content_of(folder / "f"), "old");
  file.commit();
  EXPECT_EQ(content_of(folder / "f"), "new");
  EXPECT_EQ(folder.listing(), "f");
}

TEST(AtomicFile, WithoutCommitNothingStays) {
  const TemporaryFolder folder;
  { AtomicFile(folder / "f").write("half"); }
  EXPECT_EQ(folder.listing(), "");
}

TEST(AtomicFile, WritesLargeAndSmallPiecesInOrder) {
  const TemporaryFolder folder;
  std::string expected;
  AtomicFile file(folder / "f");
  for (const size_t size : {1u, 3'000'000u, 7u, 1'048'576u, 1'048'575u, 2u}) {
    const std::string piece(size, static_cast<char>('a' + expected.size() % 26));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_TRUE(content_of(folder / "f") == expected);
}

TEST(AtomicFile, MissingFolderIsAnErrorThatNamesTheFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(message_of([&] { write_file(folder.path() / "no" / "f", "x"); }),
            (folder / "no/f") + ": cannot write: No such file or directory");
}

TEST(AtomicFile, FullDiskIsAnErrorAndKeepsTheOldFile) {
  FILIGREE_MOUNT_OR_SKIP(disk, 64 << 10);
  write_file(*disk / "f", "old");
  EXPECT_EQ(message_of([&] { write_file(*disk / "f", std::string(1 << 20, 'x')); }),
            (*disk / "f") + ": cannot write: No space left on device");
  EXPECT_EQ(content_of(*disk / "f"), "old");
  write_file(*disk / "g", std::string(16 << 10, 'x'));  // The failed attempt left no litter.
}

TEST(RemoveAbandonedFiles, RemovesThoseOfProcessesThatAreGone) {
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  const TemporaryFolder folder;
  folder.write("a.tmp" + std::to_string(gone), "");
  folder.write("b.tmp" + std::to_string(getpid()), "");
  folder.write("c.tmp", "");
  folder.write("d.tmp12x", "");
  folder.write("e", "");
  remove_abandoned_files(folder.path());
  EXPECT_EQ(folder.listing(), "b.tmp" + std::to_string(getpid()) + " c.tmp d.tmp12x e");
  remove_abandoned_files(folder.path() / "absent");
}

TEST(AppendToFile, MakesAndExtends) {
  const TemporaryFolder folder;
  append_to_file(folder / "f", "a\n");
  append_to_file(folder / "f", "b\n");
  EXPECT_EQ(content_of(folder / "f"), "a\nb\n");
}

TEST(AppendToFile, FullDeviceIsAnError) {
  EXPECT_EQ(message_of([] { append_to_file("/dev/full", "x"); }),
            "/dev/full: cannot write: No space left on device");
}

TEST(MakeWritableFolder, MakesTheFoldersAbove) {
  const TemporaryFolder folder;
  make_writable_folder(folder.path() / "a" / "b");
  make_writable_folder(folder.path() / "a" / "b");
  EXPECT_TRUE(std::filesystem::is_directory(folder.path() / "a" / "b"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "a" / "b"));
}

TEST(MakeWritableFolder, AFileInItsPlaceIsAnError) {
  const TemporaryFolder folder;
  folder.write("f", "");
  EXPECT_THAT(message_of([&] { make_writable_folder(folder / "f"); }), StartsWith(folder / "f"));
  EXPECT_THAT(message_of([&] { make_writable_folder(folder / "f/below"); }),
              StartsWith(folder / "f/below: cannot make the folder"));
}

TEST(MakeWritableFolder, AReadOnlyDiskIsAnError) {
  FILIGREE_MOUNT_OR_SKIP(disk, 64 << 10);
  disk->make_read_only();
  EXPECT_EQ(message_of([&] { make_writable_folder(disk->path()); }),
            disk->path().string() + ": cannot write into the folder: Read-only file system");
}

}  // namespace
}  // namespace filigree
