// filigree average: the mean of the weights of several checkpoints, as a model.
#include "filigree/train/average.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "filigree/base/error.h"
#include "filigree/base/log.h"
#include "filigree/cli/commands.h"

namespace filigree::cli {
namespace {

using train::StoppingMetric;

struct Arguments {
  std::filesystem::path model;
  std::vector<std::filesystem::path> inputs;
  std::optional<int64_t> last, best;
  StoppingMetric metric = StoppingMetric::kBleu;
};

std::vector<std::filesystem::path> chosen(const Arguments& a) {
  if (!a.last && !a.best) return a.inputs;
  const char* option = a.last ? "--last" : "--best";
  if (a.last && a.best) throw UsageError("--last and --best exclude each other");
  if (a.inputs.size() != 1) {
    throw UsageError("{} takes the checkpoints of one model directory, got {}", option,
                     a.inputs.size());
  }
  return a.last ? train::newest_checkpoints(a.inputs[0], *a.last)
                : train::best_checkpoints(a.inputs[0], *a.best, a.metric);
}

void run(const Arguments& a) {
  const std::vector<std::filesystem::path> places = chosen(a);
  train::average_models(places, a.model);
  for (const auto& place : places) spdlog::info("averaged {}", place.string());
  spdlog::info("wrote {}", a.model.string());
}

}  // namespace

void add_average(Program& program) {
  const auto a = std::make_shared<Arguments>();
  Command& command = program.add_command(
      "average", "Average the weights of checkpoints or models into a new model directory");
  command.require(command
                      .option("inputs", a->inputs,
                              "Checkpoints (step_…) or model directories; with --last or --best, "
                              "one model directory")
                      ->type_name("DIR ..."));
  command.require(command.option("-m,--model", a->model, "Model directory to write, new or empty")
                      ->type_name("DIR"));
  command.group("Choice of checkpoints");
  at_least(command.option("--last", a->last, "The newest N"), 1);
  at_least(command.option("--best", a->best, "The N that did best in validation"), 1);
  command.choice("--metric", a->metric,
                 {{"loss", StoppingMetric::kLoss},
                  {"bleu", StoppingMetric::kBleu},
                  {"chrf", StoppingMetric::kChrf}},
                 "What --best goes by: loss, bleu or chrf");
  command.action([a] { run(*a); });
}

}  // namespace filigree::cli
