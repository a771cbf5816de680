#include "filigree/model/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "filigree/base/error.h"
#include "filigree/base/files.h"

namespace filigree::model {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr size_t kSizeBytes = 8;
constexpr size_t kAlignment = 8;

// Bytes per element, or 0 for a dtype that the format does not know.
size_t element_size(const std::string& dtype) {
  static const std::map<std::string, size_t> sizes = {
      {"F64", 8},  {"I64", 8}, {"U64", 8}, {"F32", 4}, {"I32", 4}, {"U32", 4}, {"F16", 2},
      {"BF16", 2}, {"I16", 2}, {"U16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

// Bytes that a tensor takes; false when a dimension is negative or the product overflows.
bool byte_size(const std::vector<int64_t>& shape, size_t element, size_t& bytes) {
  bytes = element;
  for (const int64_t dimension : shape) {
    if (dimension < 0) return false;
    const auto d = static_cast<size_t>(dimension);
    if (d != 0 && bytes > std::numeric_limits<size_t>::max() / d) return false;
    bytes *= d;
  }
  return true;
}

struct Range {
  size_t begin, end;
  std::string name;
};

TensorRead parse_tensor(const std::string& name, const Json& json, const std::string& file,
                        std::vector<Range>& ranges) {
  TensorRead tensor{};
  std::vector<size_t> offsets;
  try {
    tensor.dtype = json.at("dtype").get<std::string>();
    tensor.shape = json.at("shape").get<std::vector<int64_t>>();
    offsets = json.at("data_offsets").get<std::vector<size_t>>();
  } catch (const Json::exception&) {
    throw Error("{}: damaged header: tensor \"{}\" lacks a dtype, shape or data_offsets", file,
                name);
  }
  const size_t element = element_size(tensor.dtype);
  if (element == 0) throw Error("{}: tensor \"{}\" has unknown dtype {}", file, name, tensor.dtype);
  if (offsets.size() != 2 || offsets[0] > offsets[1] ||
      !byte_size(tensor.shape, element, tensor.bytes) || offsets[1] - offsets[0] != tensor.bytes) {
    throw Error("{}: damaged header: tensor \"{}\" has a byte range that does not fit its shape",
                file, name);
  }
  ranges.push_back({offsets[0], offsets[1], name});
  return tensor;
}

// The ranges must tile the data exactly, as the format demands.
void check_ranges(std::vector<Range> ranges, size_t data_size, const std::string& file) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  size_t position = 0;
  for (const Range& range : ranges) {
    if (range.end > data_size) {
      throw Error("{}: cut short: tensor \"{}\" ends at byte {} of {} bytes of data", file,
                  range.name, range.end, data_size);
    }
    if (range.begin != position) {
      throw Error("{}: damaged header: tensor \"{}\" starts at byte {}, expected {}", file,
                  range.name, range.begin, position);
    }
    position = range.end;
  }
  if (position != data_size) {
    throw Error("{}: {} bytes after the last tensor", file, data_size - position);
  }
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  Json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  size_t offset = 0;
  std::vector<size_t> sizes;
  for (const TensorToWrite& tensor : tensors) {
    size_t bytes = 0;
    byte_size(tensor.shape, element_size(tensor.dtype), bytes);
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
    sizes.push_back(bytes);
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const uint64_t size = text.size();

  AtomicFile file(path);
  file.write(&size, kSizeBytes);
  file.write(text);
  for (size_t i = 0; i < tensors.size(); ++i) file.write(tensors[i].data, sizes[i]);
  file.commit();
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : content_(read_file(path)) {
  const std::string file = path.string();
  if (content_.size() < kSizeBytes) {
    throw Error("{}: cut short: {} bytes, not even a header", file, content_.size());
  }
  uint64_t header_size = 0;
  std::memcpy(&header_size, content_.data(), kSizeBytes);
  if (header_size > content_.size() - kSizeBytes) {
    throw Error("{}: cut short or not a safetensors file: header of {} bytes in a file of {}", file,
                header_size, content_.size());
  }
  const char* const begin = content_.data() + kSizeBytes;
  const char* const data = begin + header_size;
  const Json header = Json::parse(begin, data, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) throw Error("{}: damaged header: not a JSON object", file);

  std::vector<Range> ranges;
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") {
      if (!json.is_object()) throw Error("{}: damaged header: metadata is not an object", file);
      for (const auto& [key, value] : json.items()) {
        if (value.is_string()) metadata_[key] = value.get<std::string>();
      }
    } else {
      tensors_[name] = parse_tensor(name, json, file, ranges);
      tensors_[name].data = data + ranges.back().begin;
    }
  }
  check_ranges(std::move(ranges), static_cast<size_t>(content_.data() + content_.size() - data),
               file);
}

}  // namespace filigree::model
