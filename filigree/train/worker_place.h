// Which of several workers this process is, as torchrun, SLURM or `filigree train --workers` say
// it.
#pragma once

#include <cstdint>
#include <string>

namespace filigree::train {

/// Workers train one model together, each on its share of every batch.
struct WorkerPlace {
  int rank = 0;                       ///< 0 … size − 1
  int size = 1;                       ///< workers on all machines; 1: this process trains alone
  int local_size = 1;                 ///< workers on this machine that share its cores
  std::string address = "127.0.0.1";  ///< of worker 0: where the workers meet
  uint16_t port = 0;                  ///< likewise; 0: worker 0 takes a free one
  bool agent_serves = false;          ///< somebody else listens there (torchrun's agent)
  int attempt = 0;                    ///< counts restarts by that agent
};

/// Set in processes that `--workers` started, so that they do not start any themselves.
constexpr const char* kStartedWorker = "FILIGREE_STARTED_WORKER";
bool is_started_worker();

/// Reads RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT; without RANK and
/// WORLD_SIZE, SLURM_PROCID and SLURM_NTASKS in place of them. Throws UsageError with the variable
/// that is missing or wrong.
WorkerPlace worker_place();

}  // namespace filigree::train
