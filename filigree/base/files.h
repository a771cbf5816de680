// Files: whole, by lines (plain or gzip), and written so that nothing half-done is ever seen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace filigree {

/// The whole file. Throws Error naming the path.
std::string read_file(const std::filesystem::path& path);

/// Reads lines that end at '\n' only, from a plain file or gzip (told by its content).
/// "-" is standard input. A last line without '\n' counts; a '\r' before '\n' is kept.
class LineReader {
 public:
  /// Throws Error when the file is missing, a folder, or not readable.
  explicit LineReader(const std::filesystem::path& path);
  ~LineReader();
  LineReader(LineReader&&) noexcept;

  /// The next line without its '\n', or nothing at the end. Throws Error on damaged gzip data.
  std::optional<std::string> next();
  /// Lines returned so far: the 1-based number of the last one.
  int64_t line_number() const { return line_number_; }

 private:
  struct Stream;
  std::filesystem::path path_;
  std::unique_ptr<Stream> stream_;
  int64_t line_number_ = 0;
};

/// All lines of a file, see LineReader.
std::vector<std::string> read_lines(const std::filesystem::path& path);

/// Writes a file under a temporary name beside its place; commit() syncs and renames it there.
/// Without commit() the destructor removes it, so that a reader sees the old file, the whole new
/// one, or none. Every failure (a full disk, say) throws Error naming the final path.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void write(const void* data, size_t size);
  void commit();

 private:
  void flush();
  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
  std::string buffer_;
};

/// AtomicFile with the whole content at once.
void write_file(const std::filesystem::path& path, std::string_view content);

/// Removes what AtomicFile left in a folder because its process was killed.
void remove_abandoned_files(const std::filesystem::path& folder);

/// Appends to a file (made when absent) with one write call, so that a line is whole or absent.
void append_to_file(const std::filesystem::path& path, std::string_view content);

/// Makes the folder and those above it, and checks that files can be made in it.
void make_writable_folder(const std::filesystem::path& path);

/// fsync on a folder, which makes a rename inside it durable.
void sync_folder(const std::filesystem::path& path);

}  // namespace filigree
