#include "filigree/train/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "filigree/base/files.h"
#include "tests/support/temporary_folder.h"

namespace filigree::train {
namespace {

using nlohmann::json;
using test::TemporaryFolder;

TEST(Metrics, ATrainingThatGoesOnDropsWhatItWillDoAgain) {
  const TemporaryFolder folder;
  {
    MetricsFile metrics(folder / "m.jsonl", 0);
    for (const int64_t step : {10, 20, 30})
      metrics.write(TrainingReport{step, 0.5, 3, 0.1, 1, 1000});
  }
  append_to_file(folder / "m.jsonl", "{\"step\": 40, \"lo");
  MetricsFile(folder / "m.jsonl", 20).write(TrainingReport{30, 0.7, 2.5, 0.1, 1, 1000});
  std::vector<std::pair<int, double>> seen;
  for (const std::string& line : read_lines(folder / "m.jsonl")) {
    seen.emplace_back(json::parse(line)["step"], json::parse(line)["loss"]);
  }
  EXPECT_THAT(seen,
              testing::ElementsAre(std::pair(10, 3.0), std::pair(20, 3.0), std::pair(30, 2.5)));
}

TEST(Metrics, AValidationHoldsAlphaAndDensityOfEveryHead) {
  const TemporaryFolder folder;
  model::ModelConfig config;
  config.encoder_layers = 2;
  config.decoder_layers = 1;
  config.heads = 4;
  config.source_vocabulary = config.target_vocabulary = 10;
  config.cross_attention.transform = model::Transform::kEntmax15;
  model::Transformer transformer(config);
  model::AttentionCounts counts(config);
  counts.pairs = {8, 4, 4};
  counts.nonzero[0][5] = 6;  // encoder, layer 1, head 1
  ValidationReport report;
  report.step = 7;
  report.loss = 1.25;
  report.perplexity = 3.49;
  report.bleu = 12.5;
  MetricsFile(folder / "m.jsonl", 0).write(report, transformer, counts);
  const json written = json::parse(read_file(folder / "m.jsonl"));
  EXPECT_EQ(written["type"], "validation");
  EXPECT_EQ(written["bleu"], 12.5);
  EXPECT_FALSE(written.contains("chrf"));
  EXPECT_EQ(written["density"]["encoder"], json::parse("[[0,0,0,0],[0,0.75,0,0]]"));
  EXPECT_EQ(written["alpha"]["cross"], json::parse("[[1.5,1.5,1.5,1.5]]"));
  EXPECT_EQ(written["alpha"]["decoder"], json::parse("[[1.5,1.5,1.5,1.5]]"));  // σ(0) = ½
}

}  // namespace
}  // namespace filigree::train
