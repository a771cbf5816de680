#include "filigree/train/tensorboard.h"

#include <fmt/format.h>
#include <torch/torch.h>
#include <unistd.h>

#include <chrono>

#include "filigree/base/files.h"
#include "filigree/train/event_records.h"

namespace filigree::train {
namespace {

namespace fs = std::filesystem;

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// TensorBoard reads a folder's files in the order of their names, which begin with the time. The
// number at the end tells apart those of one process.
fs::path new_file(const fs::path& directory) {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  for (int number = 0;; ++number) {
    const fs::path path =
        directory / fmt::format("events.out.tfevents.{:010}.{}.{}.{}",
                                static_cast<int64_t>(wall_time()), host, getpid(), number);
    if (!fs::exists(path)) return path;
  }
}

}  // namespace

TensorBoard::TensorBoard(const fs::path& directory, int64_t step) : path_(new_file(directory)) {
  append(version_event(wall_time()));
  append(restart_event(wall_time(), step + 1));
}

void TensorBoard::append(const std::string& event) { append_to_file(path_, tf_record(event)); }

void TensorBoard::write(const TrainingReport& r) {
  append(scalars_event(wall_time(), r.step,
                       {{"train/loss", r.loss},
                        {"train/learning_rate", r.learning_rate},
                        {"train/gradient_norm", r.gradient_norm},
                        {"train/tokens_per_second", r.tokens_per_second},
                        {"train/epoch", r.epoch}}));
}

void TensorBoard::write(const ValidationReport& r, const model::Transformer& model,
                        const model::AttentionCounts& counts) {
  const model::ModelConfig& config = model.config();
  std::vector<Scalar> scalars = {{"valid/loss", r.loss},
                                 {fmt::format("valid/{}", perplexity_name(config)), r.perplexity}};
  if (r.bleu) scalars.push_back({"valid/bleu", *r.bleu});
  if (r.chrf) scalars.push_back({"valid/chrf", *r.chrf});
  for (const auto block : model::kAttentionBlocks) {
    for (int64_t layer = 0; layer < config.layers(block); ++layer) {
      const at::Tensor alpha = model.alpha(block, layer).detach();
      for (int64_t head = 0; head < config.heads_of(block, layer); ++head) {
        const std::string place =
            fmt::format("{}/layer_{}/head_{}", model::name_of(block), layer, head);
        scalars.push_back({"alpha/" + place, alpha[head].item<double>()});
        scalars.push_back({"density/" + place, counts.density(block, layer, head)});
      }
    }
  }
  append(scalars_event(wall_time(), r.step, scalars));
}

}  // namespace filigree::train
