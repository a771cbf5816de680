#include "filigree/train/event_records.h"

#include <array>
#include <bit>

namespace filigree::train {
namespace {

// Field numbers of tensorflow/core/util/event.proto and framework/summary.proto.
enum EventField : int { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
constexpr int kSummaryValue = 1;
constexpr int kValueTag = 1;
constexpr int kValueSimple = 2;
constexpr int kSessionStatus = 1;
constexpr uint64_t kSessionStart = 1;

enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <typename T>
void append_little_endian(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

void append_key(std::string& out, int field, WireType type) {
  append_varint(out, static_cast<uint64_t>(field) << 3 | type);
}

void append_number(std::string& out, int field, uint64_t value) {
  append_key(out, field, kVarint);
  append_varint(out, value);
}

void append_bytes(std::string& out, int field, std::string_view bytes) {
  append_key(out, field, kBytes);
  append_varint(out, bytes.size());
  out += bytes;
}

std::string event(double wall_time, int64_t step) {
  std::string out;
  append_key(out, kWallTime, kFixed64);
  append_little_endian(out, std::bit_cast<uint64_t>(wall_time));
  append_number(out, kStep, static_cast<uint64_t>(step));
  return out;
}

constexpr std::array<uint32_t, 256> crc_table() {
  constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, bits reversed.
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8; }

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = crc_table();
  uint32_t crc = ~uint32_t{0};
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  return ~crc;
}

std::string tf_record(std::string_view bytes) {
  std::string out;
  append_little_endian(out, static_cast<uint64_t>(bytes.size()));
  append_little_endian(out, masked_crc(out));
  out += bytes;
  append_little_endian(out, masked_crc(bytes));
  return out;
}

std::string version_event(double wall_time) {
  std::string out = event(wall_time, 0);
  append_bytes(out, kFileVersion, "brain.Event:2");
  return out;
}

std::string restart_event(double wall_time, int64_t step) {
  std::string log;
  append_number(log, kSessionStatus, kSessionStart);
  std::string out = event(wall_time, step);
  append_bytes(out, kSessionLog, log);
  return out;
}

std::string scalars_event(double wall_time, int64_t step, const std::vector<Scalar>& scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;
    append_bytes(value, kValueTag, scalar.tag);
    append_key(value, kValueSimple, kFixed32);
    append_little_endian(value, std::bit_cast<uint32_t>(static_cast<float>(scalar.value)));
    append_bytes(summary, kSummaryValue, value);
  }
  std::string out = event(wall_time, step);
  append_bytes(out, kSummary, summary);
  return out;
}

}  // namespace filigree::train
