// A training that is killed over and over, also while it writes a checkpoint, ends with the same
// weights as one that is left alone. Takes minutes: `ctest -C slow -L slow`.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "filigree/base/progress.h"
#include "filigree/base/random.h"
#include "tests/cli/process.h"
#include "tests/cli/toy_corpus.h"

namespace filigree::test {
namespace {

namespace fs = std::filesystem;

int kills_wanted() {
  const char* const given = std::getenv("FILIGREE_KILLS");
  return given ? std::atoi(given) : 200;
}

bool has_half_a_checkpoint(const fs::path& model) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(model, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step_") && name.ends_with(".tmp")) return true;
  }
  return false;
}

// How far the checkpoints in the folder have come, by the newest one's name.
std::string newest_checkpoint(const fs::path& model) {
  std::string newest;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(model, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step_") && !name.ends_with(".tmp")) newest = std::max(newest, name);
  }
  return newest;
}

// The suite runs only when asked for, see CMakeLists.txt.
TEST(DISABLED_Kills, TheFinalWeightsAreThoseOfAnUndisturbedTraining) {
  const ToyFolder folder;
  const auto command = [&](const std::string& model) {
    return folder.train_command(model, {"--save-every", "1", "--max-steps", "120", "--valid-every",
                                        "10", "--max-epochs", "1000"});
  };
  const double started = now_seconds();
  ASSERT_EQ(run_filigree(command(folder / "whole")).exit_code, 0);
  const double whole_seconds = now_seconds() - started;

  const uint64_t seed = std::random_device()();
  std::cout << "seed " << seed << ", undisturbed " << whole_seconds << " s\n";
  Random random(seed);
  int kills = 0, while_saving = 0, finished = 0;
  std::set<std::string> places;
  const fs::path model = folder / "killed";
  while (kills < kills_wanted()) {
    const auto process = start_filigree(command(model));
    // Up to half a run: most kills come while it trains and saves, some while it reads its text.
    std::this_thread::sleep_for(
        std::chrono::duration<double>(0.5 * whole_seconds * random.uniform()));
    if (process->running()) {
      process->send(SIGKILL);
      const Outcome outcome = process->wait();
      if (outcome.exit_code != 128 + SIGKILL) continue;  // it ended in this very moment
      ++kills;
      while_saving += has_half_a_checkpoint(model);
      places.insert(newest_checkpoint(model));
      continue;
    }
    ASSERT_EQ(process->wait().exit_code, 0);
    ASSERT_TRUE(content_of(model / "model.safetensors") ==
                content_of(folder / "whole/model.safetensors"));
    ++finished;
    fs::remove_all(model);
  }
  const Outcome last = run_filigree(command(model));
  EXPECT_EQ(last.exit_code, 0) << last.err;
  for (const char* file : {"model.safetensors", "step_000000120/model.safetensors",
                           "step_000000120/optimizer.safetensors"}) {
    EXPECT_TRUE(content_of(model / file) == content_of(fs::path(folder / "whole") / file)) << file;
  }
  EXPECT_FALSE(has_half_a_checkpoint(model));
  std::cout << kills << " kills, " << while_saving << " while a checkpoint was written, at "
            << places.size() << " different checkpoints, " << finished + 1
            << " trainings brought to their end, " << now_seconds() - started << " s\n";
}

}  // namespace
}  // namespace filigree::test
