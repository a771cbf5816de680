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
#include <utility>

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

// Hands out what there is as soon as it is there, so that a line from a pipe can be answered before
// the next one comes; gzread() would wait until its buffer is full.
struct LineReader::Stream {
  explicit Stream(int file) : descriptor(file) {}
  ~Stream() {
    if (compressed) inflateEnd(&inflater);
    close(descriptor);
  }

  /// Puts the next data at the buffer's beginning; leaves it empty at the end. Throws what is
  /// wrong.
  void fill();
  /// What there is, as soon as there is something; 0 at the end of the file.
  size_t read_some(char* to, size_t most);
  void begin();
  void inflate_some();

  const int descriptor;
  bool begun = false, compressed = false;
  bool in_member = true;  // of a compressed file: not between or behind its members
  z_stream inflater{};
  std::vector<char> buffer = std::vector<char>(kBufferSize);
  std::vector<char> input;  // of a compressed file
  size_t position = 0, size = 0;
};

size_t LineReader::Stream::read_some(char* to, size_t most) {
  ssize_t count = 0;
  do {
    count = ::read(descriptor, to, most);
  } while (count < 0 && errno == EINTR);
  if (count < 0) throw Error("{}", system_message());
  return static_cast<size_t>(count);
}

/// Reads the first data and, when it is gzip's, makes it the inflater's input.
void LineReader::Stream::begin() {
  begun = true;
  for (size_t more = 1; size < 2 && more > 0; size += more) {
    more = read_some(buffer.data() + size, buffer.size() - size);
  }
  compressed = size >= 2 && buffer[0] == '\x1f' && buffer[1] == '\x8b';
  if (!compressed) return;
  constexpr int kGzip = 16;
  if (inflateInit2(&inflater, MAX_WBITS + kGzip) != Z_OK) throw Error("not enough memory");
  input.swap(buffer);
  buffer.resize(kBufferSize);
  inflater.next_in = reinterpret_cast<Bytef*>(input.data());
  inflater.avail_in = static_cast<uInt>(std::exchange(size, 0));
}

void LineReader::Stream::fill() {
  position = size = 0;
  if (!begun) begin();
  if (compressed) {
    inflate_some();
  } else if (size == 0) {
    size = read_some(buffer.data(), buffer.size());
  }
}

void LineReader::Stream::inflate_some() {
  while (size == 0) {
    if (inflater.avail_in == 0) {
      inflater.next_in = reinterpret_cast<Bytef*>(input.data());
      inflater.avail_in = static_cast<uInt>(read_some(input.data(), input.size()));
      if (inflater.avail_in == 0) {
        if (in_member) throw Error("unexpected end of file");
        return;
      }
    }
    if (!in_member) {
      if (*inflater.next_in != 0x1f) {  // padding behind the last member, as gzip has it
        inflater.avail_in = 0;
        continue;
      }
      inflateReset(&inflater);
      in_member = true;
    }
    inflater.next_out = reinterpret_cast<Bytef*>(buffer.data());
    inflater.avail_out = static_cast<uInt>(buffer.size());
    const int code = inflate(&inflater, Z_NO_FLUSH);
    if (code == Z_STREAM_END) in_member = false;
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      throw Error("{}", inflater.msg ? inflater.msg : "damaged gzip data");
    }
    size = buffer.size() - inflater.avail_out;
  }
}

LineReader::LineReader(const std::filesystem::path& path) : path_(path) {
  int descriptor = -1;
  if (path == "-") {
    path_ = "standard input";
    descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  } else {
    refuse_folder(path);
    descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (descriptor < 0) throw Error("{}: cannot open: {}", path_.string(), system_message());
  stream_ = std::make_unique<Stream>(descriptor);
}

LineReader::~LineReader() = default;
LineReader::LineReader(LineReader&&) noexcept = default;

std::optional<std::string> LineReader::next() {
  Stream& s = *stream_;
  std::string line;
  bool any = false;
  for (;;) {
    if (s.position == s.size) {
      try {
        s.fill();
      } catch (const Error& error) {
        throw Error("{}: line {}: cannot read: {}", path_.string(), line_number_ + 1, error.what());
      }
      if (s.size == 0) {
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
