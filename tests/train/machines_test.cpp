// Two machines with a cable between them, as two network namespaces of this one: each worker sees
// its own addresses and nothing else of the other.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "filigree/base/progress.h"
#include "tests/cli/matchers.h"
#include "tests/cli/process.h"
#include "tests/cli/toy_corpus.h"
#include "tests/train/worker_runs.h"

namespace filigree::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Machines : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to make network namespaces";
    // Names are for all of this machine; so are, until they have moved, those of the cable's ends.
    for (const char* side : {"a", "b"}) names_.push_back(fmt::format("fg{}{}", getpid(), side));
    const std::string &a = names_[0], &b = names_[1];
    const std::string problem =
        first_problem({{"netns", "add", a},
                       {"netns", "add", b},
                       {"link", "add", a, "netns", a, "type", "veth", "peer", b, "netns", b},
                       {"-n", a, "address", "add", "10.77.0.1/24", "dev", a},
                       {"-n", b, "address", "add", "10.77.0.2/24", "dev", b},
                       {"-n", a, "link", "set", "lo", "up"},
                       {"-n", b, "link", "set", "lo", "up"},
                       {"-n", a, "link", "set", a, "up"},
                       {"-n", b, "link", "set", b, "up"}});
    if (!problem.empty()) GTEST_SKIP() << "cannot make network namespaces: " << problem;
  }

  void TearDown() override {
    workers_.clear();
    for (const std::string& name : names_) run({"ip", "netns", "delete", name});
  }

  static std::string first_problem(const std::vector<std::vector<std::string>>& commands) {
    for (std::vector<std::string> words : commands) {
      words.insert(words.begin(), "ip");
      const Outcome outcome = run(words);
      if (outcome.exit_code != 0) return fmt::format("{}: {}", fmt::join(words, " "), outcome.err);
    }
    return "";
  }

  // A worker on either machine; those of the first listen at its end of the cable.
  void start(const std::string& model, std::vector<std::string> more) {
    more.insert(more.end(), {"--data-cache", folder_ / "cache"});
    for (size_t rank = 0; rank < names_.size(); ++rank) {
      std::vector<std::string> command = filigree(folder_.train_command(folder_ / model, more));
      const std::vector<std::string> there = {"ip", "netns", "exec", names_[rank]};
      command.insert(command.begin(), there.begin(), there.end());
      workers_.push_back(with_variables({{"RANK", std::to_string(rank)},
                                         {"WORLD_SIZE", "2"},
                                         {"MASTER_ADDR", "10.77.0.1"},
                                         {"MASTER_PORT", "29500"}},
                                        [&] { return std::make_unique<Process>(command); }));
    }
  }

  ToyFolder folder_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Process>> workers_;
};

TEST_F(Machines, LearnWhatTwoThreadsOfOneProcessLearn) {
  ASSERT_EQ(run_filigree(folder_.train_command(folder_ / "one", {"--threads", "2"})).exit_code, 0);
  start("two", {});
  for (const auto& worker : workers_) {
    const Outcome outcome = worker->wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  expect_same_curve(curve(folder_ / "two"), curve(folder_ / "one"));
}

// A cable that is cut closes no connection, so only silence tells.
TEST_F(Machines, DISABLED_EndWithinAMinuteWhenTheCableIsCut) {
  start("model", {"--max-steps", "1000000", "--max-epochs", "1000000", "--patience", "0"});
  ASSERT_TRUE(workers_[0]->wait_for("step     10")) << workers_[0]->err();
  ASSERT_EQ(first_problem({{"-n", names_[0], "link", "set", names_[0], "down"}}), "");
  const double cut = now_seconds();
  EXPECT_THAT(workers_[0]->wait(), EndsWithError(1, HasSubstr("worker 1 (of 0 to 1) is gone")));
  EXPECT_THAT(workers_[1]->wait(),
              EndsWithError(1, AllOf(HasSubstr("worker 0 (of 0 to 1) does not answer"),
                                     HasSubstr("goes on from the last checkpoint"))));
  EXPECT_LT(now_seconds() - cut, 60);
}

}  // namespace
}  // namespace filigree::test
