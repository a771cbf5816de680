#include "filigree/base/random_access_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "filigree/base/error.h"

namespace filigree {

RandomAccessFile::RandomAccessFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw Error("{}: cannot open: {}", path_.string(), system_message());
  struct stat status {};
  const bool known = fstat(descriptor_, &status) == 0;
  if (!known || S_ISDIR(status.st_mode)) {
    const std::string why = known ? "is a folder, expected a file" : system_message();
    close(descriptor_);
    throw Error("{}: {}", path_.string(), why);
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

RandomAccessFile::~RandomAccessFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

RandomAccessFile::RandomAccessFile(RandomAccessFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

void RandomAccessFile::read(uint64_t offset, void* buffer, size_t size) const {
  auto place = static_cast<char*>(buffer);
  while (size > 0) {
    const ssize_t got = pread(descriptor_, place, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error("{}: cannot read: {}", path_.string(), system_message());
    if (got == 0) throw Error("{}: was cut short while in use", path_.string());
    place += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
}

RandomAccessFile::Mapping RandomAccessFile::map(uint64_t offset, size_t size) const {
  Mapping mapping;
  if (size == 0) return mapping;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  const size_t length = size + static_cast<size_t>(offset - begin);
  void* const pages =
      mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor_, static_cast<off_t>(begin));
  if (pages == MAP_FAILED) throw Error("{}: cannot map: {}", path_.string(), system_message());
  mapping.pages_ = std::shared_ptr<const void>(
      pages, [length](const void* p) { munmap(const_cast<void*>(p), length); });
  mapping.bytes_ = {static_cast<const std::byte*>(pages) + (offset - begin), size};
  return mapping;
}

}  // namespace filigree
