// The bytes of TensorBoard's event files: TFRecord frames, each around one Event message in
// protocol buffer encoding. Only the few fields that scalars need are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace filigree::train {

struct Scalar {
  std::string tag;  ///< such as "train/loss"; TensorBoard groups by what is before the first slash
  double value;     ///< written as float32
};

/// CRC-32C (Castagnoli), the checksum of iSCSI, RFC 3720.
uint32_t crc32c(std::string_view bytes);

/// A frame: the length (8 bytes), its checksum (4), the bytes, their checksum (4), all
/// little-endian; checksums are CRC-32C, masked as TFRecord asks.
std::string tf_record(std::string_view bytes);

/// The messages. wall_time: seconds since 1970.
std::string version_event(double wall_time);  ///< the first of every file
/// Makes TensorBoard forget what it has read of this step and later.
std::string restart_event(double wall_time, int64_t step);
std::string scalars_event(double wall_time, int64_t step, const std::vector<Scalar>& scalars);

}  // namespace filigree::train
