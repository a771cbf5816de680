// The safetensors format: an 8-byte little-endian header size, a JSON header that gives every
// tensor's dtype, shape and byte range, then the data. Nothing in a file is trusted: all of it is
// checked before any of it is used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace filigree::model {

/// A tensor to be written; `data` points to its elements, contiguous and row-major.
struct TensorToWrite {
  std::string name;
  std::string dtype;  ///< the format's name: F64, F32, BF16, F16, I64, I32, U8, …
  std::vector<int64_t> shape;
  const void* data;
};

/// A tensor in a file that was read; `data` points into the file's content.
struct TensorRead {
  std::string dtype;
  std::vector<int64_t> shape;
  const char* data;
  size_t bytes;
};

/// Writes a file atomically. metadata: free text entries of the header.
void write_safetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// A file's tensors by name. Throws Error in one line that names the file and what is wrong: cut
/// short, a header that is not JSON, ranges that overlap, leave gaps, or do not fit shape and
/// dtype.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::map<std::string, TensorRead>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::string content_;
  std::map<std::string, TensorRead> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace filigree::model
