#include "filigree/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_folder.h"

namespace filigree::train {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

model::ModelConfig small_config() {
  model::ModelConfig config;
  config.encoder_layers = config.decoder_layers = 1;
  config.d_model = 8;
  config.d_ff = 8;
  config.heads = 2;
  config.source_vocabulary = config.target_vocabulary = 10;
  return config;
}

struct State {
  model::Transformer model{small_config()};
  OptimizerState optimizer;
  Progress progress;

  explicit State(uint64_t seed, bool average = true) {
    model.initialise(seed);
    const int64_t count = model.parameters().count();
    torch::manual_seed(static_cast<int64_t>(seed));
    optimizer.first_moment = torch::randn({count});
    optimizer.second_moment = torch::rand({count});
    if (average) optimizer.average = torch::randn({count});
    progress.step = static_cast<int64_t>(seed);
    progress.epoch = 3;
    progress.batch = 4;
    progress.seed = 0xfedcba9876543210u;
    progress.best_score = 0.1 + 0.2;
  }
  void save(const fs::path& folder, int64_t keep = 5) const {
    save_checkpoint(folder, keep, model, optimizer, progress);
  }
};

TEST(Checkpoint, KeepsEverythingToTheBit) {
  const TemporaryFolder folder;
  const State written(12);
  written.save(folder.path());
  State read(1);
  const auto progress = load_newest_checkpoint(folder.path(), read.model, read.optimizer);
  ASSERT_TRUE(progress);
  EXPECT_TRUE(torch::equal(read.model.parameters().values(), written.model.parameters().values()));
  EXPECT_TRUE(torch::equal(read.optimizer.first_moment, written.optimizer.first_moment));
  EXPECT_TRUE(torch::equal(read.optimizer.second_moment, written.optimizer.second_moment));
  EXPECT_TRUE(torch::equal(read.optimizer.average, written.optimizer.average));
  EXPECT_EQ(progress->step, 12);
  EXPECT_EQ(progress->batch, 4);
  EXPECT_EQ(progress->seed, 0xfedcba9876543210u);
  EXPECT_EQ(progress->best_score, 0.1 + 0.2);
}

TEST(Checkpoint, OnlyTheNewestAreKept) {
  const TemporaryFolder folder;
  for (const uint64_t step : {9, 10, 200}) State(step).save(folder.path(), 2);
  EXPECT_FALSE(fs::exists(folder / "step_000000009"));
  EXPECT_TRUE(fs::exists(folder / "step_000000010"));
  EXPECT_TRUE(fs::exists(folder / "step_000000200"));
}

TEST(Checkpoint, ADamagedOneFallsBackToTheOneBefore) {
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "trainer.json"}) {
    const TemporaryFolder folder;
    State(10).save(folder.path());
    State(20).save(folder.path());
    const fs::path victim = folder.path() / "step_000000020" / file;
    write_file(victim, read_file(victim).substr(0, 40));
    State read(1);
    const auto progress = load_newest_checkpoint(folder.path(), read.model, read.optimizer);
    ASSERT_TRUE(progress) << file;
    EXPECT_EQ(progress->step, 10) << file;
    EXPECT_TRUE(
        torch::equal(read.model.parameters().values(), State(10).model.parameters().values()));
    EXPECT_TRUE(torch::equal(read.optimizer.first_moment, State(10).optimizer.first_moment));
  }
}

TEST(Checkpoint, WhenAllAreDamagedItSaysSo) {
  const TemporaryFolder folder;
  State(10).save(folder.path());
  fs::remove(folder.path() / "step_000000010" / "trainer.json");
  State read(1);
  EXPECT_THROW(load_newest_checkpoint(folder.path(), read.model, read.optimizer), Error);
}

TEST(Checkpoint, AnUnfinishedOneIsNoCheckpoint) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "step_000000010.tmp");
  EXPECT_FALSE(has_checkpoint(folder.path()));
  State read(1);
  EXPECT_FALSE(load_newest_checkpoint(folder.path(), read.model, read.optimizer));
}

TEST(Checkpoint, AFullDiskLeavesTheLastOneWhole) {
  FILIGREE_MOUNT_OR_SKIP(disk, 96 << 10);
  State(10).save(disk->path());
  bool failed = false;
  for (uint64_t step = 20; step < 120 && !failed; step += 10) {
    try {
      State(step).save(disk->path(), 100);
    } catch (const Error& e) {
      failed = true;
      EXPECT_THAT(e.what(), testing::HasSubstr("No space left on device"));
    }
  }
  EXPECT_TRUE(failed);
  State read(1);
  EXPECT_TRUE(load_newest_checkpoint(disk->path(), read.model, read.optimizer));
  for (const auto& entry : fs::directory_iterator(disk->path())) {
    EXPECT_FALSE(entry.path().string().ends_with(".tmp")) << entry.path();
  }
}

}  // namespace
}  // namespace filigree::train
