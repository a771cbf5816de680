#include "filigree/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "tests/model/small_config.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_folder.h"

namespace filigree::train {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

struct State {
  model::Transformer model{model::small_config(10)};
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
    progress.bad_steps = 2;
    progress.rate_factor = 0.125;
    progress.recent.loss = 1.0 / 3;
    progress.recent.steps = 5;
  }
  void save(const fs::path& folder, int64_t keep = 5) const {
    save_checkpoint(folder, {.last = keep}, model, optimizer, progress);
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
  EXPECT_EQ(progress->bad_steps, 2);
  EXPECT_EQ(progress->rate_factor, 0.125);
  EXPECT_EQ(progress->recent.loss, 1.0 / 3);
  EXPECT_EQ(progress->recent.steps, 5);
}

TEST(Checkpoint, ThoseOfEverySoManyStepsStay) {
  const TemporaryFolder folder;
  for (const uint64_t step : {50, 100, 150, 200, 210, 220}) {
    const State state(step);
    save_checkpoint(folder.path(), {.last = 2, .every = 100}, state.model, state.optimizer,
                    state.progress);
  }
  EXPECT_EQ(folder.listing(), "step_000000100 step_000000200 step_000000210 step_000000220");
}

TEST(Checkpoint, TheOneBeforeAStepIsFoundAndLaterOnesAreRemoved) {
  const TemporaryFolder folder;
  for (const uint64_t step : {10, 20, 30}) State(step).save(folder.path());
  State read(1);
  EXPECT_EQ(load_newest_checkpoint(folder.path(), read.model, read.optimizer, 30)->step, 20);
  EXPECT_EQ(load_newest_checkpoint(folder.path(), read.model, read.optimizer, 31)->step, 30);
  EXPECT_FALSE(load_newest_checkpoint(folder.path(), read.model, read.optimizer, 10));
  remove_checkpoints_from(folder.path(), 20);
  EXPECT_EQ(folder.listing(), "step_000000010");
}

TEST(Checkpoint, ItsProgressCanBeReplaced) {
  const TemporaryFolder folder;
  State state(10);
  state.save(folder.path());
  state.progress.best_score.reset();
  state.progress.validated_step = 10;
  update_checkpoint(folder.path(), state.progress);
  State read(1);
  const auto progress = load_newest_checkpoint(folder.path(), read.model, read.optimizer);
  EXPECT_EQ(progress->validated_step, 10);
  EXPECT_FALSE(progress->best_score);
}

// A flipped bit in a tensor leaves a file that reads well: only the hash tells.
TEST(Checkpoint, AFlippedBitAnywhereIsDamage) {
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "trainer.json"}) {
    const TemporaryFolder folder;
    State(10).save(folder.path());
    State(20).save(folder.path());
    const fs::path victim = folder.path() / "step_000000020" / file;
    const std::string whole = read_file(victim);
    for (const size_t at : {size_t{9}, whole.size() / 2, whole.size() - 5}) {
      std::string content = whole;
      content[at] ^= 1;
      write_file(victim, content);
      State read(1);
      const auto progress = load_newest_checkpoint(folder.path(), read.model, read.optimizer);
      EXPECT_EQ(progress->step, 10) << file << " byte " << at;
    }
  }
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
  fs::create_directories(folder / "step_000000010.tmp/below");
  EXPECT_FALSE(has_checkpoint(folder.path()));
  State read(1);
  EXPECT_FALSE(load_newest_checkpoint(folder.path(), read.model, read.optimizer));
  remove_unfinished_checkpoints(folder.path());
  EXPECT_EQ(folder.listing(), "");
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
