// A file that is read in places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace filigree {

/// Open for reading; const methods may be called from several threads.
class RandomAccessFile {
 public:
  /// Throws Error naming the path when the file is missing, a folder or not readable.
  explicit RandomAccessFile(std::filesystem::path path);
  ~RandomAccessFile();
  RandomAccessFile(RandomAccessFile&&) noexcept;

  const std::filesystem::path& path() const { return path_; }
  /// Bytes, when it was opened.
  uint64_t size() const { return size_; }

  /// Fills `buffer` with the bytes from `offset` on. Throws Error when the file ends first.
  void read(uint64_t offset, void* buffer, size_t size) const;

  /// Pages of a file mapped into memory: read when they are touched, and given up by the system
  /// when memory is short.
  class Mapping {
   public:
    std::span<const std::byte> bytes() const { return bytes_; }

   private:
    friend class RandomAccessFile;
    std::shared_ptr<const void> pages_;
    std::span<const std::byte> bytes_;
  };
  /// Maps the bytes from `offset` on, which must be in the file. They stay mapped when the file is
  /// closed or removed.
  Mapping map(uint64_t offset, size_t size) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

}  // namespace filigree
