// filigree demo: the whole way in minutes, without any data: makes a corpus, trains a small
// adaptively sparse Transformer on it, translates what was held out, and writes a report of every
// head.
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/base/log.h"
#include "filigree/cli/commands.h"
#include "filigree/cli/head_table.h"
#include "filigree/cli/output.h"
#include "filigree/evaluate/accuracy.h"
#include "filigree/evaluate/alignment_error.h"
#include "filigree/inspect/inspection_json.h"
#include "filigree/inspect/report.h"
#include "filigree/text/demo_corpus.h"
#include "filigree/text/demo_links.h"
#include "filigree/train/trainer.h"
#include "filigree/translate/choose_heads.h"
#include "filigree/translate/scorer.h"
#include "filigree/translate/translator.h"

namespace filigree::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kSamples = 8;
constexpr int kShownSentences = 100;  // in the report

struct Arguments {
  fs::path folder = "filigree-demo";
  text::DemoCorpusOptions corpus;
  int64_t max_steps = 1000;
};

fs::path model_folder(const Arguments& a) {
  return a.folder / ("model-en-" + a.corpus.target_language);
}

train::TrainOptions training_options(const Arguments& a, int threads) {
  const fs::path corpus = a.folder / "corpus";
  const auto files = [&](const char* set) {
    const text::CorpusSource source = text::demo_files(corpus, set, a.corpus.target_language);
    return std::vector<fs::path>{source.source, source.target};
  };
  train::TrainOptions options;
  options.model = model_folder(a);
  options.train_sets = files("train");
  options.valid_sets = files("valid");
  options.tokenizer = text::demo_tokenizer_options();
  options.model_config.encoder_layers = options.model_config.decoder_layers = 2;
  options.model_config.d_model = 128;
  options.model_config.d_ff = 256;
  options.model_config.heads = 4;
  options.batch_tokens = 2048;
  options.learning_rate = 0.004;
  options.warmup_steps = 400;
  options.exponential_smoothing = 0.003;
  options.max_steps = a.max_steps;
  options.valid_every = 500;
  options.seed = a.corpus.seed;
  options.threads = threads;
  return options;
}

// The validation whose weights were saved as the model's.
nlohmann::json best_validation(const fs::path& model, int64_t best_step) {
  for (const std::string& line : read_lines(model / "metrics.jsonl")) {
    nlohmann::json json = nlohmann::json::parse(line);
    if (json["type"] == "validation" && json["step"] == best_step) return json;
  }
  throw Error("{}: holds no validation of step {}", (model / "metrics.jsonl").string(), best_step);
}

std::string sample_table(const std::vector<text::SentencePair>& test,
                         const std::vector<translate::Translation>& translations) {
  std::string table;
  for (size_t i = 0; i < std::min<size_t>(kSamples, test.size()); ++i) {
    const bool right = translations[i].text() == test[i].target;
    table +=
        fmt::format("  {}\n  {} {}{}\n", test[i].source, right ? "→" : "✗", translations[i].text(),
                    right ? "" : "   (should be " + test[i].target + ")");
  }
  return table;
}

/// Chooses the heads that align words best, on the validation pairs, and says how right their links
/// are on the held-out ones.
std::string align(const Arguments& a, const text::DemoCorpus& corpus, int threads) {
  translate::ScorerOptions options;
  options.attention = true;
  options.threads = threads;
  const translate::Scorer scorer(model_folder(a), options);
  const auto attended = [&scorer](const std::vector<text::SentencePair>& pairs) {
    translate::AttendedText text(scorer.config());
    for (const translate::Translation& scored : scorer.score(pairs)) text.add(scored);
    return text;
  };
  const auto gold = [](const std::vector<text::SentencePair>& pairs) {
    std::vector<evaluate::GoldLinks> links;
    for (const text::SentencePair& pair : pairs) {
      links.push_back(evaluate::parse_gold_links(text::demo_links(pair)));
    }
    return links;
  };
  const auto choice =
      choose_heads(attended(corpus.valid), translate::accuracy_score(gold(corpus.valid)));
  save_choice(choice, scorer.config(), model_folder(a));

  const translate::AlignedText found = attended(corpus.test).links(choice.rule);
  const std::vector<evaluate::GoldLinks> right = gold(corpus.test);
  evaluate::AlignmentCounts counts;
  for (size_t i = 0; i < found.size(); ++i) counts.add(found[i], right[i]);
  return fmt::format("word links   precision {:.1f} %, recall {:.1f} %, error rate {:.1f} %\n",
                     100 * counts.precision(), 100 * counts.recall(), 100 * counts.error_rate());
}

/// Writes the report of the held-out pairs. Returns its path.
fs::path write_report(const Arguments& a, int threads) {
  const text::CorpusSource test =
      text::demo_files(a.folder / "corpus", "test", a.corpus.target_language);
  inspect::InspectOptions options;
  options.models = {model_folder(a)};
  options.input = {.source = test.source,
                   .target = test.target,
                   .alignments = a.folder / "corpus" / "test.links",
                   .conllu = {}};
  options.shown_sentences = kShownSentences;
  options.threads = threads;
  const inspect::Inspection inspection = inspect::inspect(options);
  const fs::path report = a.folder / "report.html";
  write_file(report, report_html(inspection, to_json(inspection)));
  return report;
}

void run(const Arguments& a, int threads) {
  spdlog::info("making the corpus: numbers and dates in words, English to {}",
               a.corpus.target_language);
  const text::DemoCorpus corpus = text::make_demo_corpus(a.corpus);
  text::write_demo_corpus(corpus, a.folder / "corpus");

  const train::TrainOptions options = training_options(a, threads);
  const train::TrainResult trained = train::train(options);

  spdlog::info("translating {} held-out sentences", corpus.test.size());
  std::vector<std::string> sources;
  evaluate::Segments outputs, references;
  for (const text::SentencePair& pair : corpus.test) {
    sources.push_back(pair.source);
    references.push_back(pair.target);
  }
  translate::TranslatorOptions translator_options;
  translator_options.batches.threads = threads;
  const translate::Translator translator(options.model, translator_options);
  const std::vector<translate::Translation> translations = translator.translate(sources);
  for (const auto& translation : translations) outputs.push_back(translation.text());

  const nlohmann::json heads = best_validation(options.model, trained.best_step);
  const model::ModelConfig config = options.model_config;
  const auto value = [&heads](const char* what, model::AttentionBlock block, int64_t layer,
                              int64_t head) {
    return heads[what][name_of(block)][static_cast<size_t>(layer)][static_cast<size_t>(head)]
        .get<double>();
  };
  write_output(fmt::format("\nHeld-out sentences, none of them seen in training:\n{}\n",
                           sample_table(corpus.test, translations)));
  write_output("α of every head, and the share of words that it looks at\n");
  write_output(head_table(config, [&](model::AttentionBlock block, int64_t layer, int64_t head) {
    return fmt::format("{:.2f} {:3.0f} %", value("alpha", block, layer, head),
                       100 * value("density", block, layer, head));
  }));
  write_output(fmt::format("\nexact match  {:.1f} % of {} held-out sentences\n{}model        {}\n",
                           100 * evaluate::exact_match_accuracy(outputs, references),
                           references.size(), align(a, corpus, threads), options.model.string()));
  write_output(fmt::format("try it       echo \"{}\" | filigree translate --model {} --alignment\n",
                           sources.front(), options.model.string()));
  write_output(
      fmt::format("report       {}: open it in a browser\n", write_report(a, threads).string()));
  flush_output();
}

}  // namespace

void add_demo(Program& program) {
  const auto a = std::make_shared<Arguments>();
  Command& command = program.add_command(
      "demo", "Make a corpus, train a small model on it, translate, report every head: minutes");
  command.group("Demo");
  command
      .option("-o,--output", a->folder,
              "Folder for the corpus, the model and the report; a training in it goes on")
      ->type_name("DIR");
  one_of(command.option("--target-language", a->corpus.target_language,
                        "Translate English numbers and dates to: de, ja or ro"),
         {"de", "ja", "ro"});
  at_least(command.option("--train-size", a->corpus.train_size, "Pairs to train on"), 100);
  at_least(command.option("--max-steps", a->max_steps, "Updates"), 1);
  at_least(command.option("--seed", a->corpus.seed, "Seed of everything random"), 0);
  command.add_threads_option();
  command.action([a, &command] { run(*a, command.threads()); });
}

}  // namespace filigree::cli
