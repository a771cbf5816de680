#include "filigree/train/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "filigree/base/files.h"
#include "filigree/train/event_records.h"
#include "tests/model/small_config.h"
#include "tests/support/temporary_folder.h"

namespace filigree::train {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using testing::Pair;
using testing::UnorderedElementsAre;

template <typename T>
T take(std::string_view& bytes) {
  T value;
  EXPECT_GE(bytes.size(), sizeof(T));
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

uint64_t take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = take<uint8_t>(bytes);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

/// A message in protocol buffer encoding as (field number, raw content); numbers as 8 bytes.
std::vector<std::pair<uint64_t, std::string>> fields(std::string_view bytes) {
  std::vector<std::pair<uint64_t, std::string>> found;
  while (!bytes.empty()) {
    const uint64_t key = take_varint(bytes);
    std::string content;
    if ((key & 7) == 0) {
      const uint64_t value = take_varint(bytes);
      content.assign(reinterpret_cast<const char*>(&value), sizeof(value));
    } else {
      const size_t size = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : take_varint(bytes);
      content = bytes.substr(0, size);
      EXPECT_EQ(content.size(), size);
      bytes.remove_prefix(content.size());
    }
    found.emplace_back(key >> 3, content);
  }
  return found;
}

template <typename T>
T as(const std::string& content) {
  std::string_view bytes = content;
  return take<T>(bytes);
}

struct Event {
  double wall_time = 0;
  int64_t step = 0;
  std::string version;
  std::optional<uint64_t> session_status;
  std::map<std::string, float> scalars;
};

Event parse_event(std::string_view bytes) {
  Event event;
  for (const auto& [field, content] : fields(bytes)) {
    if (field == 1) event.wall_time = as<double>(content);
    if (field == 2) event.step = as<int64_t>(content);
    if (field == 3) event.version = content;
    if (field == 7) event.session_status = as<uint64_t>(fields(content).at(0).second);
    if (field != 5) continue;
    for (const auto& [one, value] : fields(content)) {
      EXPECT_EQ(one, 1u);
      const auto parts = fields(value);
      EXPECT_EQ(parts.at(0).first, 1u);
      EXPECT_EQ(parts.at(1).first, 2u);
      event.scalars[parts[0].second] = as<float>(parts[1].second);
    }
  }
  return event;
}

uint32_t unmasked(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8;
  return rotated >> 17 | rotated << 15;
}

std::vector<Event> read_events(const fs::path& file) {
  const std::string content = read_file(file);
  std::vector<Event> events;
  for (std::string_view rest = content; !rest.empty();) {
    const std::string_view length_bytes = rest.substr(0, 8);
    const auto length = take<uint64_t>(rest);
    EXPECT_EQ(unmasked(take<uint32_t>(rest)), crc32c(length_bytes));
    const std::string_view data = rest.substr(0, length);
    rest.remove_prefix(data.size());
    EXPECT_EQ(unmasked(take<uint32_t>(rest)), crc32c(data));
    events.push_back(parse_event(data));
  }
  return events;
}

std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("events.out.tfevents."));
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// RFC 3720, appendix B.4, and the check value of the CRC catalogues.
TEST(TensorBoard, ChecksumIsCrc32c) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(TensorBoard, ReportsReadBack) {
  const TemporaryFolder folder;
  model::ModelConfig config = model::small_config(10);
  config.encoder_attention.transform = model::Transform::kEntmax15;
  const model::Transformer transformer(config);
  model::AttentionCounts counts(config);
  counts.pairs = {8, 4, 4};
  counts.nonzero[0] = {6, 8};
  TensorBoard board(folder.path(), 0);
  board.write(TrainingReport{300, 1.5, 3.25, 1e-3, 0.75, 12345});
  ValidationReport report;
  report.step = 300;
  report.loss = 2.5;
  report.perplexity = 12.25;
  report.chrf = 44.5;
  board.write(report, transformer, counts);

  const std::vector<fs::path> files = event_files(folder.path());
  ASSERT_EQ(files.size(), 1u);
  const std::vector<Event> events = read_events(files[0]);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_GT(events[0].wall_time, 1.7e9);
  EXPECT_EQ(events[2].step, 300);
  EXPECT_THAT(events[2].scalars,
              UnorderedElementsAre(Pair("train/loss", 3.25f), Pair("train/learning_rate", 1e-3f),
                                   Pair("train/gradient_norm", 0.75f), Pair("train/epoch", 1.5f),
                                   Pair("train/tokens_per_second", 12345.0f)));
  std::map<std::string, float> validation = events[3].scalars;
  EXPECT_EQ(events[3].step, 300);
  EXPECT_EQ(validation.size(), 3u + 3 * 2 * 2);
  EXPECT_EQ(validation["valid/loss"], 2.5f);
  EXPECT_EQ(validation["valid/perplexity"], 12.25f);
  EXPECT_EQ(validation["valid/chrf"], 44.5f);
  EXPECT_EQ(validation["density/encoder/layer_0/head_0"], 0.75f);
  EXPECT_EQ(validation["density/encoder/layer_0/head_1"], 1.0f);
  EXPECT_EQ(validation["alpha/encoder/layer_0/head_1"], 1.5f);
}

TEST(TensorBoard, ATrainingThatGoesOnWithdrawsLaterSteps) {
  const TemporaryFolder folder;
  TensorBoard(folder.path(), 0).write(TrainingReport{100, 1, 3, 0.1, 1, 1000});
  TensorBoard(folder.path(), 50).write(TrainingReport{100, 1, 2, 0.1, 1, 1000});
  const std::vector<fs::path> files = event_files(folder.path());
  ASSERT_EQ(files.size(), 2u);
  constexpr uint64_t kStart = 1;
  EXPECT_EQ(read_events(files[1]).at(1).session_status, kStart);
  EXPECT_EQ(read_events(files[1]).at(1).step, 51);
  EXPECT_EQ(read_events(files[1]).at(2).scalars["train/loss"], 2.0f);
}

}  // namespace
}  // namespace filigree::train
