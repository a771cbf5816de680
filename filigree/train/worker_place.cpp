#include "filigree/train/worker_place.h"

#include <charconv>
#include <cstdlib>
#include <optional>

#include "filigree/base/error.h"

namespace filigree::train {
namespace {

constexpr int kMostWorkers = 1 << 16, kLargestPort = 65535;

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

bool is_set(const char* name) { return variable(name).has_value(); }

std::string text(const char* name, const char* because) {
  const std::optional<std::string> value = variable(name);
  if (!value) throw UsageError("the variable {} is not set, but {} is", name, because);
  return *value;
}

int number(const char* name, const char* because, int least, int most) {
  const std::string value = text(name, because);
  int result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size() || result < least ||
      result > most) {
    throw UsageError("the variable {} is \"{}\": it must be a whole number from {} to {}", name,
                     value, least, most);
  }
  return result;
}

WorkerPlace place_from(const char* rank, const char* size) {
  WorkerPlace place;
  place.size = number(size, rank, 1, kMostWorkers);
  place.rank = number(rank, size, 0, place.size - 1);
  if (place.size == 1) return place;
  place.address = text("MASTER_ADDR", size);
  place.port = static_cast<uint16_t>(number("MASTER_PORT", size, 1, kLargestPort));
  if (is_set("LOCAL_WORLD_SIZE")) {
    place.local_size = number("LOCAL_WORLD_SIZE", size, 1, place.size);
  }
  place.agent_serves = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (is_set("TORCHELASTIC_RESTART_COUNT")) {
    place.attempt = number("TORCHELASTIC_RESTART_COUNT", rank, 0, 1 << 30);
  }
  return place;
}

}  // namespace

bool is_started_worker() { return is_set(kStartedWorker); }

WorkerPlace worker_place() {
  if (is_set("RANK") || is_set("WORLD_SIZE")) return place_from("RANK", "WORLD_SIZE");
  if (!is_set("SLURM_PROCID") || !is_set("SLURM_NTASKS")) return {};
  // A batch script has these variables too, but what it runs without srun is alone.
  if (is_set("MASTER_ADDR") || is_set("MASTER_PORT")) {
    return place_from("SLURM_PROCID", "SLURM_NTASKS");
  }
  if (is_set("SLURM_STEP_NUM_TASKS") && variable("SLURM_STEP_NUM_TASKS") != "1") {
    throw UsageError(
        "SLURM runs this command {} times at once: set MASTER_ADDR and MASTER_PORT so that these "
        "become workers of one training, or run one task",
        *variable("SLURM_STEP_NUM_TASKS"));
  }
  return {};
}

}  // namespace filigree::train
