#include "filigree/train/worker_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "filigree/base/error.h"

namespace filigree::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

class WorkerPlaceTest : public testing::Test {
 protected:
  ~WorkerPlaceTest() override { clear(); }

  static WorkerPlace place(const Variables& variables) {
    clear();
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    return worker_place();
  }

  static std::string complaint(const Variables& variables) {
    try {
      place(variables);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  }

  static void clear() {
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
                             "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS",
                             "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RESTART_COUNT"}) {
      unsetenv(name);
    }
  }

  const Variables torchrun_ = {{"RANK", "3"},
                               {"WORLD_SIZE", "4"},
                               {"LOCAL_WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "node7"},
                               {"MASTER_PORT", "29500"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                               {"TORCHELASTIC_RESTART_COUNT", "5"}};

  Variables torchrun_with(const std::string& name, const std::string& value) const {
    Variables variables = torchrun_;
    variables[name] = value;
    return variables;
  }
};

TEST_F(WorkerPlaceTest, WithoutVariablesAProcessIsAlone) {
  EXPECT_EQ(place({}).size, 1);
  EXPECT_EQ(place({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).size, 1);
  // In a batch script, outside of srun.
  EXPECT_EQ(place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).size, 1);
}

TEST_F(WorkerPlaceTest, TorchrunsVariablesAreRead) {
  const WorkerPlace p = place(torchrun_);
  EXPECT_EQ(p.rank, 3);
  EXPECT_EQ(p.size, 4);
  EXPECT_EQ(p.local_size, 2);
  EXPECT_EQ(p.address, "node7");
  EXPECT_EQ(p.port, 29500);
  EXPECT_TRUE(p.agent_serves);
  EXPECT_EQ(p.attempt, 5);
}

TEST_F(WorkerPlaceTest, SlurmsVariablesAreReadWhereTheWorkersCanMeet) {
  const WorkerPlace p = place({{"SLURM_PROCID", "1"},
                               {"SLURM_NTASKS", "2"},
                               {"MASTER_ADDR", "10.0.0.1"},
                               {"MASTER_PORT", "4000"}});
  EXPECT_EQ(p.rank, 1);
  EXPECT_EQ(p.size, 2);
  EXPECT_FALSE(p.agent_serves);
  EXPECT_THAT(
      complaint({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_NUM_TASKS", "2"}}),
      HasSubstr("MASTER_ADDR"));
}

TEST_F(WorkerPlaceTest, WhatIsMissingOrWrongIsNamed) {
  EXPECT_THAT(complaint({{"RANK", "0"}}), AllOf(HasSubstr("WORLD_SIZE"), HasSubstr("not set")));
  EXPECT_THAT(complaint({{"WORLD_SIZE", "2"}}), AllOf(HasSubstr("RANK"), HasSubstr("not set")));
  EXPECT_THAT(complaint(torchrun_with("RANK", "4")), HasSubstr("RANK is \"4\""));
  EXPECT_THAT(complaint(torchrun_with("RANK", "-1")), HasSubstr("from 0 to 3"));
  EXPECT_THAT(complaint(torchrun_with("WORLD_SIZE", "four")), HasSubstr("WORLD_SIZE is \"four\""));
  EXPECT_THAT(complaint(torchrun_with("MASTER_PORT", "70000")), HasSubstr("MASTER_PORT"));
  EXPECT_THAT(complaint(torchrun_with("MASTER_PORT", "29500x")), HasSubstr("MASTER_PORT"));
  EXPECT_THAT(complaint(torchrun_with("MASTER_ADDR", "")), HasSubstr("MASTER_ADDR is not set"));
  EXPECT_THAT(complaint(torchrun_with("LOCAL_WORLD_SIZE", "5")), HasSubstr("LOCAL_WORLD_SIZE"));
}

}  // namespace
}  // namespace filigree::train
