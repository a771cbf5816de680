// filigree prune: a smaller model without the heads that it can do without.
#include "filigree/prune/prune.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/base/log.h"
#include "filigree/cli/commands.h"
#include "filigree/cli/output.h"
#include "filigree/prune/pruning_report.h"

namespace filigree::cli {
namespace {

struct Arguments {
  prune::PruneOptions options;
  std::optional<std::filesystem::path> json;
};

void run(const Arguments& a, int threads) {
  if (a.options.valid_sets.size() != 2) {
    throw UsageError("--valid-sets takes two files, source and target, got {}",
                     a.options.valid_sets.size());
  }
  prune::PruneOptions options = a.options;
  options.threads = threads;
  const prune::Pruning pruning = prune::prune(options);
  spdlog::info("wrote {}", options.output.string());
  const std::string json = to_json(pruning).dump(1) + "\n";
  if (a.json && *a.json == "-") return write_output(json);
  if (a.json) write_file(*a.json, json);
  write_output(to_text(pruning));
}

}  // namespace

void add_prune(Program& program) {
  using prune::Criterion;
  const auto a = std::make_shared<Arguments>();
  Command& command = program.add_command(
      "prune", "Take out attention heads that a model can do without: smaller and faster");
  command.group("Files");
  command.require(
      command.option("-m,--model", a->options.model, "Model directory")->type_name("DIR"));
  command.require(command
                      .option("--valid-sets", a->options.valid_sets,
                              "Development text, on which heads are judged")
                      ->type_name("SOURCE TARGET"));
  command.require(
      command.option("-o,--output", a->options.output, "Model directory to write, new or empty")
          ->type_name("DIR"));
  command
      .option("--json", a->json, "Write what was taken out and why; - for standard output, alone")
      ->type_name("FILE");
  command.group("Choice of heads");
  at_least(command.option("--max-bleu-drop", a->options.max_bleu_drop,
                          "How far BLEU on the development text may fall"),
           0);
  command.choice("--by", a->options.criterion,
                 {{"loss", Criterion::kLoss},
                  {"similarity", Criterion::kSimilarity},
                  {"entropy", Criterion::kEntropy}},
                 "What goes first: loss, the least rise of it; similarity, what looks most like "
                 "another head; entropy, what looks everywhere alike");
  command.group("Speed");
  command.add_threads_option();
  command.action([a, &command] { run(*a, command.threads()); });
}

}  // namespace filigree::cli
