// filigree inspect: what the attention of a trained model does on a text.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "filigree/base/files.h"
#include "filigree/base/log.h"
#include "filigree/cli/commands.h"
#include "filigree/cli/head_table.h"
#include "filigree/cli/output.h"
#include "filigree/cli/translation_report.h"
#include "filigree/inspect/findings.h"
#include "filigree/inspect/inspection_json.h"
#include "filigree/inspect/report.h"

namespace filigree::cli {
namespace {

struct Arguments {
  std::filesystem::path model;
  std::vector<std::filesystem::path> compare;
  inspect::InputFiles input;
  std::optional<std::filesystem::path> json, attention, report;
  std::vector<std::string> question_words;
  int report_sentences = 100, samples = 1000;
  uint64_t seed = 1;
};

// "1.62 41 % previous token": α, density and role.
std::string head_text(const inspect::ModelInspection& model, model::AttentionBlock block,
                      int64_t layer, int64_t head) {
  const auto b = static_cast<size_t>(block), l = static_cast<size_t>(layer),
             h = static_cast<size_t>(head);
  const auto& statistics = model.statistics.blocks[b].layers[l].heads[h];
  const auto& roles = model.roles[b][l][h];
  return fmt::format("{:.2f} {:3.0f} % {}", model.alpha[b][l][h],
                     100 * statistics[inspect::Measure::kDensity].value().value_or(0),
                     roles.empty() ? "-" : roles.front().name);
}

std::string summary(const inspect::Inspection& inspection) {
  std::string text;
  for (const inspect::Finding& finding : inspect::findings(inspection)) {
    const std::string verdict = to_string(finding.verdict);
    text += fmt::format("{}{}\n    {}\n", finding.title,
                        verdict.empty() ? "" : " (" + verdict + ")", finding.text);
  }
  for (const inspect::ModelInspection& model : inspection.models) {
    text += fmt::format("\n{}: α, density and role of every head\n", model.name);
    text += head_table(
        model.config,
        [&](model::AttentionBlock block, int64_t layer, int64_t head) {
          return head_text(model, block, layer, head);
        },
        32);
  }
  return text;
}

void run(const Arguments& a, int threads) {
  inspect::InspectOptions options;
  options.models = {a.model};
  options.models.insert(options.models.end(), a.compare.begin(), a.compare.end());
  options.input = a.input;
  if (!a.question_words.empty()) {
    options.question_words = {a.question_words.begin(), a.question_words.end()};
  }
  options.samples = a.samples;
  options.seed = a.seed;
  options.threads = threads;
  options.progress = true;
  if (a.report) {
    prepare_report(*a.report);
    options.shown_sentences = a.report_sentences;
  }
  std::optional<AtomicFile> attention;
  if (a.attention) {
    attention.emplace(*a.attention);
    options.write_attention = [&](std::string_view line) { attention->write(line); };
  }
  const inspect::Inspection inspection = inspect::inspect(options);
  if (attention) attention->commit();
  if (inspection.passed_over > 0) {
    spdlog::warn("{} lines passed over: empty, or longer than {} pieces", inspection.passed_over,
                 inspect::kLongestSentence);
  }
  const int64_t unmatched = inspection.models.front().statistics.unmatched_parses;
  if (unmatched > 0) {
    spdlog::warn("{}: {} parses are of another text than their line and were passed over",
                 a.input.conllu->string(), unmatched);
  }
  const nlohmann::ordered_json json = to_json(inspection);
  if (a.report) write_file(*a.report, inspect::report_html(inspection, json));
  if (a.json && *a.json == "-") return write_output(json.dump(1) + "\n");
  if (a.json) write_file(*a.json, json.dump(1) + "\n");
  write_output(summary(inspection));
}

}  // namespace

void add_inspect(Program& program) {
  const auto a = std::make_shared<Arguments>();
  Command& command = program.add_command(
      "inspect", "Show what attention does on a text: statistics, head roles, a report to read");
  command.group("Input");
  command.require(command.option("-m,--model", a->model, "Model directory")->type_name("DIR"));
  command.require(
      command.option("source", a->input.source, "Text, may be gzip")->type_name("FILE"));
  command
      .option("target", a->input.target,
              "Its translation, line by line; without it the model translates")
      ->type_name("FILE");
  command.option("--compare", a->compare, "Other models, on the same text")->type_name("DIR ...");
  command
      .option("--conllu", a->input.conllu,
              "Parses of the source in CoNLL-U, a sentence for each line that is not empty")
      ->type_name("FILE");
  command
      .option("--alignments", a->input.alignments,
              "Word alignments in Pharaoh's format (0-0 1-2), a line for each line")
      ->type_name("FILE");
  command.option("--question-words", a->question_words,
                 "Words that ask, in lower case; those of English by default");

  command.group("Output (the findings are printed)");
  command.option("--report", a->report, "Write one HTML file to read in a browser")
      ->type_name("FILE");
  at_least(command.option("--report-sentences", a->report_sentences,
                          "Sentences in the report, besides the examples of roles"),
           1);
  command.option("--json", a->json, "Write all statistics; - for standard output, alone")
      ->type_name("FILE");
  command
      .option("--attention", a->attention,
              "Write the weights above zero of every sentence, as JSON lines")
      ->type_name("FILE");

  command.group("Intervals");
  at_least(command.option("--samples", a->samples, "Resampled texts"), 1);
  command.option("--seed", a->seed, "Seed of the resampling");

  command.group("Speed");
  command.add_threads_option();
  command.action([a, &command] { run(*a, command.threads()); });
}

}  // namespace filigree::cli
