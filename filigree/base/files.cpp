#include "filigree/base/files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "filigree/base/error.h"

namespace filigree {
namespace {

constexpr size_t kBufferSize = 1 << 20;
constexpr std::string_view kTemporary = ".tmp";  // Followed by the process's id.

void write_all(int descriptor, const char* data, size_t size, const std::filesystem::path& path) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, data, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      throw Error("{}: cannot write: {}", path.string(), system_message());
    }
    data += written;
    size -= static_cast<size_t>(written);
  }
}

void refuse_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error("{}: is a folder, expected a file", path.string());
  }
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  refuse_folder(path);
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) throw Error("{}: cannot open: {}", path.string(), system_message());
  std::string content;
  std::vector<char> buffer(kBufferSize);
  while (const size_t size = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    content.append(buffer.data(), size);
  }
  if (std::ferror(file.get())) throw Error("{}: cannot read: {}", path.string(), system_message());
  return content;
}

// gzread passes plain data through unchanged, so that one stream serves both kinds.
struct LineReader::Stream {
  gzFile file = nullptr;
  std::vector<char> buffer = std::vector<char>(kBufferSize);
  size_t position = 0, size = 0;
  ~Stream() {
    if (file) gzclose(file);
  }
};

LineReader::LineReader(const std::filesystem::path& path)
    : path_(path), stream_(std::make_unique<Stream>()) {
  if (path == "-") {
    path_ = "standard input";
    stream_->file = gzdopen(dup(STDIN_FILENO), "rb");
  } else {
    refuse_folder(path);
    stream_->file = gzopen(path.c_str(), "rb");
  }
  if (!stream_->file) throw Error("{}: cannot open: {}", path_.string(), system_message());
}

LineReader::~LineReader() = default;
LineReader::LineReader(LineReader&&) noexcept = default;

std::optional<std::string> LineReader::next() {
  Stream& s = *stream_;
  std::string line;
  bool any = false;
  for (;;) {
    if (s.position == s.size) {
      const int size = gzread(s.file, s.buffer.data(), static_cast<unsigned>(s.buffer.size()));
      int code = Z_OK;
      const char* message = gzerror(s.file, &code);
      // A gzip file that was cut short ends with Z_BUF_ERROR rather than with a failing read.
      if (size < 0 || code == Z_BUF_ERROR) {
        throw Error("{}: line {}: cannot read: {}", path_.string(), line_number_ + 1,
                    code == Z_ERRNO ? system_message() : std::string(message));
      }
      s.position = 0;
      s.size = static_cast<size_t>(size);
      if (size == 0) {
        if (!any) return std::nullopt;
        break;
      }
    }
    any = true;
    const char* begin = s.buffer.data() + s.position;
    const void* end = std::memchr(begin, '\n', s.size - s.position);
    const size_t length =
        end ? static_cast<size_t>(static_cast<const char*>(end) - begin) : s.size - s.position;
    line.append(begin, length);
    s.position += length;
    if (end) {
      ++s.position;
      break;
    }
  }
  ++line_number_;
  return line;
}

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  while (auto line = reader.next()) lines.push_back(std::move(*line));
  return lines;
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  temporary_ = path_;
  temporary_ += std::string(kTemporary) + std::to_string(getpid());
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw Error("{}: cannot write: {}", path_.string(), system_message());
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) { write(bytes.data(), bytes.size()); }

void AtomicFile::write(const void* data, size_t size) {
  if (buffer_.size() + size > kBufferSize) flush();
  if (size > kBufferSize) {
    write_all(descriptor_, static_cast<const char*>(data), size, path_);
  } else {
    buffer_.append(static_cast<const char*>(data), size);
  }
}

void AtomicFile::flush() {
  write_all(descriptor_, buffer_.data(), buffer_.size(), path_);
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  if (fsync(descriptor_) != 0)
    throw Error("{}: cannot write: {}", path_.string(), system_message());
  if (close(std::exchange(descriptor_, -1)) != 0 ||
      rename(temporary_.c_str(), path_.c_str()) != 0) {
    const std::string why = system_message();
    unlink(temporary_.c_str());
    throw Error("{}: cannot write: {}", path_.string(), why);
  }
  sync_folder(path_.parent_path());
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

void remove_abandoned_files(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const size_t at = name.rfind(kTemporary);
    if (at == std::string::npos || !entry.is_regular_file(ignored)) continue;
    pid_t process = 0;
    const char* const begin = name.data() + at + kTemporary.size();
    const char* const end = name.data() + name.size();
    const auto [parsed, error] = std::from_chars(begin, end, process);
    if (error != std::errc() || parsed != end || process <= 0) continue;
    if (kill(process, 0) != 0 && errno == ESRCH) std::filesystem::remove(entry.path(), ignored);
  }
}

void append_to_file(const std::filesystem::path& path, std::string_view content) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) throw Error("{}: cannot write: {}", path.string(), system_message());
  const std::unique_ptr<const int, void (*)(const int*)> closer(&descriptor,
                                                                [](const int* d) { close(*d); });
  write_all(descriptor, content.data(), content.size(), path);
}

void make_writable_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw Error("{}: cannot make the folder: {}", path.string(), error.message());
  if (!std::filesystem::is_directory(path)) {
    throw Error("{}: is a file, expected a folder", path.string());
  }
  const std::string probe = (path / ("probe.tmp" + std::to_string(getpid()))).string();
  const int descriptor = open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    throw Error("{}: cannot write into the folder: {}", path.string(), system_message());
  }
  close(descriptor);
  unlink(probe.c_str());
}

void sync_folder(const std::filesystem::path& path) {
  const int descriptor =
      open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);  // Some file systems refuse this on folders; the rename stands all the same.
  close(descriptor);
}

}  // namespace filigree
