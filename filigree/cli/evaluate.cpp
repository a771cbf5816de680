// filigree evaluate: BLEU and chrF of translations against references, AER of alignments.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "filigree/base/error.h"
#include "filigree/base/log.h"
#include "filigree/cli/commands.h"
#include "filigree/cli/output.h"
#include "filigree/evaluate/report.h"

namespace filigree::cli {
namespace {

struct Arguments {
  std::vector<std::filesystem::path> references, hypotheses = {"-"};
  evaluate::EvaluateOptions options;
  std::string tokenizer{to_string(options.bleu.tokenizer)};
  std::string smoothing{to_string(options.bleu.smoothing)};
  evaluate::ReportFormat format;
  bool aer = false, one_based = false, sentence_level = false, json = false;
};

void run(const Arguments& arguments) {
  evaluate::EvaluateOptions options = arguments.options;
  options.bleu.tokenizer = evaluate::tokenizer_from_name(arguments.tokenizer);
  options.bleu.smoothing = evaluate::smoothing_from_name(arguments.smoothing);
  if (arguments.sentence_level && arguments.hypotheses.size() > 1) {
    throw UsageError("--sentence-level scores one system, got {}", arguments.hypotheses.size());
  }
  if (arguments.aer) {
    options.metrics = {"aer"};
    options.first_word = arguments.one_based ? 1 : 0;
    if (arguments.references.size() > 1) throw UsageError("--aer takes one --ref");
  }
  const evaluate::References references = evaluate::read_references(arguments.references);
  std::vector<evaluate::System> systems;
  for (const auto& path : arguments.hypotheses) systems.push_back(evaluate::read_system(path));
  if (arguments.sentence_level) {
    const auto report = evaluate::evaluate_sentences(systems[0], references, options);
    return write_output(arguments.json ? to_json(report, arguments.format)
                                       : to_text(report, arguments.format));
  }
  const auto report = evaluate::evaluate(systems, references, options);
  for (const std::string& warning : report.warnings) spdlog::warn("{}", warning);
  write_output(arguments.json ? to_json(report, arguments.format)
                              : to_text(report, arguments.format));
}

}  // namespace

void add_evaluate(Program& program) {
  const auto a = std::make_shared<Arguments>();
  Command& command = program.add_command(
      "evaluate", "Score translations: BLEU, chrF, confidence intervals, paired tests");
  command.group("Input");
  command.require(command
                      .option("-r,--ref", a->references,
                              "Reference translations, one a line; several files are several "
                              "references of each line")
                      ->type_name("FILE ..."));
  command
      .option("-i,--hyp", a->hypotheses,
              "Translations to score, - for standard input; several files are systems compared "
              "with the first by a paired bootstrap test")
      ->type_name("FILE ...");

  command.group("Metrics");
  one_of(command.option("-m,--metrics", a->options.metrics, "Any of bleu, chrf and chrf++"),
         {"bleu", "chrf", "chrf++"});
  accepted_by(
      command.option("--tokenize", a->tokenizer, "BLEU's tokenizer: 13a, intl, char, zh or none"),
      [](const std::string& name) { evaluate::tokenizer_from_name(name); });
  command.flag("--lowercase", a->options.bleu.lowercase, "Ignore case in BLEU");
  accepted_by(
      command.option("--smooth-method", a->smoothing,
                     "BLEU's smoothing of orders without a match: exp, floor, add-k or none"),
      [](const std::string& name) { evaluate::smoothing_from_name(name); });
  command.option("--smooth-value", a->options.bleu.smooth_value, "For floor (0.1) and add-k (1)");
  at_least(command.option("--chrf-char-order", a->options.chrf.char_order, "Longest n-grams"), 1);
  at_least(command.option("--chrf-beta", a->options.chrf.beta, "Weight of recall"), 1);
  command.flag("--chrf-lowercase", a->options.chrf.lowercase, "Ignore case in chrF");

  command.group("Alignments");
  command.flag("--aer", a->aer,
               "Score word alignments instead, lines such as 0-0 1-2: alignment error rate, "
               "precision, recall; in --ref, 1?2 or 1p2 is a possible link");
  command.flag("--one-based", a->one_based, "The links of --ref count words from 1");

  command.group("Significance");
  command.flag("--confidence", a->options.confidence,
               "Add the 95 % confidence interval, by bootstrap resampling");
  at_least(command.option("--samples", a->options.resampling.samples, "Resampled test sets"), 1);
  command.option("--seed", a->options.resampling.seed, "Seed of the resampling");

  command.group("Output");
  command.flag("--json", a->json, "Print JSON, with the keys that sacreBLEU uses");
  command.flag("-b,--score-only", a->format.score_only, "Print the scores alone");
  command.flag("--sentence-level", a->sentence_level, "Print the scores of every line");
  between(command.option("-w,--width", a->format.width, "Decimal places"), 0, 15);
  command.action([a] { run(*a); });
}

}  // namespace filigree::cli
