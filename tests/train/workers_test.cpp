// Trainings by several processes on this machine: the real program, with real ends of processes.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <sstream>
#include <thread>

#include "filigree/base/progress.h"
#include "tests/cli/matchers.h"
#include "tests/cli/process.h"
#include "tests/cli/toy_corpus.h"
#include "tests/train/worker_runs.h"

namespace filigree::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// As long as a test needs it.
const std::vector<std::string> kEndless = {"--max-steps", "1000000",    "--max-epochs",
                                           "1000000",     "--patience", "0"};
constexpr const char* kSaved = "the same command goes on from the last checkpoint";

class Workers : public testing::Test {
 protected:
  std::vector<std::string> command(const std::string& model, int workers,
                                   std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--workers", std::to_string(workers)});
    return filigree(folder_.train_command(folder_ / model, more));
  }

  std::vector<std::string> endless(const std::string& model, int workers) const {
    return command(model, workers, kEndless);
  }

  // One of several workers, started as torchrun or SLURM would.
  std::unique_ptr<Process> start_with(const Variables& variables,
                                      const std::vector<std::string>& arguments) const {
    return with_variables(variables, [&] { return start_filigree(arguments); });
  }

  ToyFolder folder_;
};

std::vector<pid_t> children_of(pid_t process) {
  std::istringstream text(content_of(fmt::format("/proc/{}/task/{}/children", process, process)));
  std::vector<pid_t> children;
  for (pid_t child = 0; text >> child;) children.push_back(child);
  return children;
}

bool is_running(pid_t process) { return kill(process, 0) == 0; }

std::string free_port() {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_TRUE(bind(descriptor, any, size) == 0 && getsockname(descriptor, any, &size) == 0);
  close(descriptor);
  return std::to_string(ntohs(address.sin_port));
}

TEST_F(Workers, LearnWhatAsManyThreadsOfOneProcessLearn) {
  for (const int workers : {2, 3}) {
    const std::string one = fmt::format("one-{}", workers), all = fmt::format("all-{}", workers);
    ASSERT_EQ(run_filigree(folder_.train_command(folder_ / one, {"--accumulate", "2", "--threads",
                                                                 std::to_string(workers)}))
                  .exit_code,
              0);
    const Outcome outcome = run(command(all, workers, {"--accumulate", "2"}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_same_curve(curve(folder_ / all), curve(folder_ / one));
    EXPECT_EQ(run_filigree({"info", folder_ / all}).exit_code, 0);
  }
}

TEST_F(Workers, AKilledOneEndsTheOthersAndTrainingGoesOnWithAnotherNumber) {
  Process process(endless("model", 3));
  ASSERT_TRUE(process.wait_for("step     10")) << process.err();
  const std::vector<pid_t> children = children_of(process.id());
  ASSERT_EQ(children.size(), 2);
  const double killed = now_seconds();
  kill(children[1], SIGKILL);
  const Outcome outcome = process.wait();
  EXPECT_LT(now_seconds() - killed, 60);
  EXPECT_THAT(outcome,
              EndsWithError(1, AllOf(ContainsRegex("worker [12] .of 0 to 2, process [0-9]+. was "
                                                   "ended by signal 9 .Killed."),
                                     HasSubstr(kSaved))));
  EXPECT_FALSE(is_running(children[0]));

  const Outcome resumed = run(command("model", 2));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("going on from step"));
}

TEST_F(Workers, EndWhenTheFirstIsKilledAndSaySo) {
  Process process(endless("model", 3));
  ASSERT_TRUE(process.wait_for("step     10")) << process.err();
  const std::vector<pid_t> children = children_of(process.id());
  process.send(SIGKILL);
  const double killed = now_seconds();
  while (now_seconds() - killed < 60 && (is_running(children[0]) || is_running(children[1]))) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_FALSE(is_running(children[0]) || is_running(children[1]));
  EXPECT_THAT(process.err(), AllOf(HasSubstr("error: worker 0 (of 0 to 2)"), HasSubstr(kSaved)));
}

TEST_F(Workers, ASignalToAnyOfThemSavesAndEndsAll) {
  Process process(endless("model", 3));
  ASSERT_TRUE(process.wait_for("step     10")) << process.err();
  kill(children_of(process.id())[0], SIGTERM);
  const Outcome outcome = process.wait();
  EXPECT_THAT(outcome, EndsWithError(128 + SIGTERM, HasSubstr("signal 15")));
  EXPECT_THAT(outcome.err, HasSubstr("saved step"));
  EXPECT_EQ(run(command("model", 1)).exit_code, 0);
}

TEST_F(Workers, WhatOneOfThemCannotDoIsOneLine) {
  EXPECT_THAT(run(command("model", 3,
                          {"--train-sets", folder_ / "absent", folder_ / "train.trg", "--log-level",
                           "error"})),
              FailsWith(1, HasSubstr("absent: cannot open")));
  EXPECT_THAT(run(command("model", 3, {"--train-sets", "-", folder_ / "train.trg"})),
              EndsWithError(2, HasSubstr("several workers")));
}

TEST_F(Workers, VariablesOfTorchrunAreEnough) {
  const Variables common = {
      {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", free_port()}};
  std::vector<std::unique_ptr<Process>> processes;
  for (const char* rank : {"0", "1"}) {
    auto variables = common;
    variables["RANK"] = rank;
    processes.push_back(start_with(variables, folder_.train_command(folder_ / "model")));
  }
  const Outcome first = processes[0]->wait(), second = processes[1]->wait();
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("finished after 40 steps"));
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(second.err, "");
}

TEST_F(Workers, AllThatTorchrunStartedSayWhichOneWasKilled) {
  Variables variables = {
      {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", free_port()}};
  std::vector<std::unique_ptr<Process>> processes;
  for (const char* rank : {"0", "1", "2"}) {
    variables["RANK"] = rank;
    processes.push_back(start_with(variables, folder_.train_command(folder_ / "model", kEndless)));
  }
  ASSERT_TRUE(processes[0]->wait_for("step     10")) << processes[0]->err();
  processes[2]->send(SIGKILL);
  for (const int rank : {0, 1}) {
    EXPECT_THAT(
        processes[static_cast<size_t>(rank)]->wait(),
        EndsWithError(1, AllOf(HasSubstr("worker 2 (of 0 to 2) is gone"), HasSubstr(kSaved))));
  }
}

TEST_F(Workers, OtherOptionsThanTheFirstHasAreRefused) {
  const std::string port = free_port();
  std::vector<std::unique_ptr<Process>> processes;
  for (const char* rank : {"0", "1"}) {
    processes.push_back(start_with(
        {{"SLURM_NTASKS", "2"},
         {"SLURM_PROCID", rank},
         {"MASTER_ADDR", "127.0.0.1"},
         {"MASTER_PORT", port}},
        folder_.train_command(folder_ / "model",
                              {"--batch-tokens", std::string(rank) == "0" ? "256" : "300"})));
  }
  for (const auto& process : processes) {
    EXPECT_THAT(process->wait(), EndsWithError(1, HasSubstr("worker 1 was given other text")));
  }
}

TEST_F(Workers, BadVariablesAreOneLine) {
  const auto outcome_with = [&](const Variables& variables,
                                const std::vector<std::string>& more = {}) {
    return start_with(variables, folder_.train_command(folder_ / "model", more))->wait();
  };
  EXPECT_THAT(outcome_with({{"RANK", "0"}}), FailsWith(2, HasSubstr("WORLD_SIZE")));
  EXPECT_THAT(outcome_with({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
              FailsWith(2, HasSubstr("RANK is \"2\"")));
  EXPECT_THAT(outcome_with({{"RANK", "0"},
                            {"WORLD_SIZE", "2"},
                            {"MASTER_ADDR", "127.0.0.1"},
                            {"MASTER_PORT", "4000"}},
                           {"--workers", "2"}),
              FailsWith(2, HasSubstr("--workers")));
}

}  // namespace
}  // namespace filigree::test
