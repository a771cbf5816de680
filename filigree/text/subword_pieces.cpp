#include "filigree/text/subword_pieces.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "filigree/base/error.h"

namespace filigree::text {
namespace {

// Protocol buffers on the wire: a field is a number (field · 8 + type) and then a number (type 0),
// 8 bytes (1), a length and as many bytes (2), or 4 bytes (5).
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  /// Moves to the next field; false at the end.
  bool next() {
    if (rest_.empty()) return false;
    const uint64_t tag = number();
    field_ = tag >> 3;
    switch (tag & 7) {
      case 0:
        value_ = number();
        break;
      case 1:
        bytes_ = take(8);
        break;
      case 2:
        bytes_ = take(number());
        break;
      case 5:
        bytes_ = take(4);
        break;
      default:
        damaged();
    }
    return true;
  }
  uint64_t field() const { return field_; }
  uint64_t value() const { return value_; }
  std::string_view bytes() const { return bytes_; }
  float as_float() const {
    if (bytes_.size() != sizeof(float)) damaged();
    float value;
    std::memcpy(&value, bytes_.data(), sizeof(value));
    return value;
  }

 private:
  [[noreturn]] static void damaged() { throw Error("the SentencePiece model is damaged"); }
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) damaged();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    damaged();
  }

  std::string_view rest_, bytes_;
  uint64_t field_ = 0, value_ = 0;
};

SubwordPieces::Piece parse_piece(std::string_view bytes) {
  SubwordPieces::Piece piece;
  for (WireReader reader(bytes); reader.next();) {
    if (reader.field() == 1) piece.text = reader.bytes();
    if (reader.field() == 2) piece.score = reader.as_float();
    if (reader.field() == 3) piece.kind = static_cast<SubwordPieces::Kind>(reader.value());
  }
  return piece;
}

}  // namespace

SubwordPieces parse_subword_model(std::string_view bytes) {
  constexpr uint64_t kPieces = 1, kTrainerSpec = 2, kModelType = 3;  // fields of the format
  SubwordPieces model;
  for (WireReader reader(bytes); reader.next();) {
    if (reader.field() == kPieces) model.pieces.push_back(parse_piece(reader.bytes()));
    if (reader.field() != kTrainerSpec) continue;
    for (WireReader spec(reader.bytes()); spec.next();) {
      if (spec.field() == kModelType) {
        model.algorithm = static_cast<SubwordPieces::Algorithm>(spec.value());
      }
    }
  }
  return model;
}

}  // namespace filigree::text
