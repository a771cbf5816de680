// filigree align: word alignments of given translations, and the choice of the heads that make
// them.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "filigree/base/error.h"
#include "filigree/cli/commands.h"
#include "filigree/cli/output.h"
#include "filigree/cli/pair_input.h"
#include "filigree/evaluate/alignment_error.h"
#include "filigree/model/model_directory.h"
#include "filigree/translate/choose_heads.h"
#include "filigree/translate/output_format.h"
#include "filigree/translate/scorer.h"

namespace filigree::cli {
namespace {

using translate::AlignmentUnit;

struct Arguments {
  PairInput input;
  translate::ScorerOptions scorer;
  AlignmentUnit unit = AlignmentUnit::kWord;
  std::filesystem::path gold, reverse_model;
  bool choose_heads = false, one_based = false;
};

void print_links(const Arguments& a, int threads) {
  translate::ScorerOptions options = a.scorer;
  options.threads = threads;
  options.alignment = true;
  const translate::Scorer scorer(a.input.model, options);
  for_each_chunk(a.input, [&](const std::vector<text::SentencePair>& pairs) {
    std::string lines;
    for (const translate::Translation& scored : scorer.score(pairs)) {
      lines += format_alignment(scored.source, scored.n_best.front(), a.unit) + '\n';
    }
    write_output(lines);
    flush_output();
  });
}

/// The pairs with all attention of a model; of one in the other direction with sides swapped.
translate::AttendedText attend(const Arguments& a, const std::filesystem::path& model, bool swapped,
                               int threads) {
  translate::ScorerOptions options = a.scorer;
  options.threads = threads;
  options.attention = true;
  const translate::Scorer scorer(model, options);
  translate::AttendedText text(scorer.config());
  for_each_chunk(a.input, [&](std::vector<text::SentencePair> pairs) {
    for (text::SentencePair& pair : pairs) {
      if (swapped) std::swap(pair.source, pair.target);
    }
    for (const translate::Translation& scored : scorer.score(pairs)) text.add(scored);
  });
  return text;
}

translate::AlignmentScore gold_score(const Arguments& a, size_t pairs) {
  auto gold = evaluate::read_gold_links(a.gold, a.one_based ? 1 : 0);
  if (gold.size() != pairs) {
    throw Error("{}: has {} lines for {} pairs", a.gold.string(), gold.size(), pairs);
  }
  return translate::accuracy_score(std::move(gold));
}

translate::AlignmentScore reverse_score(const Arguments& a, const translate::AttendedText& text,
                                        int threads) {
  return translate::agreement_score(
      most_agreed_links(text, attend(a, a.reverse_model, true, threads)), text.cells());
}

/// A line per layer and shift, the score of every head in percent; none for those cut out.
std::string score_table(const std::vector<double>& scores, const model::ModelConfig& config) {
  const auto layers = static_cast<int>(config.decoder_layers);
  const auto heads = static_cast<int>(config.heads);
  std::string table = fmt::format("{:>5} {:5}", "layer", "shift");
  for (int head = 0; head < heads; ++head)
    table += fmt::format("{:>9}", fmt::format("head {}", head));
  table += '\n';
  for (int row = 0; row < 2 * layers; ++row) {
    table += fmt::format("{:>5} {:5}", row % layers, row < layers ? "no" : "yes");
    for (int head = 0; head < config.heads_of(model::AttentionBlock::kCross, row % layers);
         ++head) {
      table += fmt::format("{:9.2f}", 100 * scores[static_cast<size_t>(row * heads + head)]);
    }
    table += '\n';
  }
  return table;
}

void choose(const Arguments& a, int threads) {
  const model::ModelConfig config = model::load_config(a.input.model);
  const auto heads = static_cast<int>(config.heads);
  const translate::AttendedText text = attend(a, a.input.model, false, threads);
  const bool by_gold = !a.gold.empty();
  const auto choice = choose_heads(
      text, by_gold ? gold_score(a, text.cells().size()) : reverse_score(a, text, threads));
  save_choice(choice, config, a.input.model);

  const char* const name = by_gold ? "100 - AER" : "agreement";
  std::string chosen;
  for (const int head : choice.rule.heads) {
    chosen += fmt::format("{}[{}, {}]", chosen.empty() ? "" : ", ", head / heads, head % heads);
  }
  write_output(
      fmt::format("{} of every head, in percent\n{}\nalignment_heads  [{}]\nalignment_votes  {}\n"
                  "alignment_shift  {}\n{:16} {:.2f}\n",
                  name, score_table(choice.single_scores, config), chosen, choice.rule.votes,
                  choice.rule.shift, name, 100 * choice.score));
}

void run(const Arguments& a, int threads) {
  a.input.check();
  if (!a.choose_heads) {
    if (!a.gold.empty() || !a.reverse_model.empty()) {
      throw UsageError("--gold and --reverse-model are for --choose-heads");
    }
    return print_links(a, threads);
  }
  if (a.gold.empty() == a.reverse_model.empty()) {
    throw UsageError("--choose-heads needs --gold or --reverse-model");
  }
  if (!a.reverse_model.empty() &&
      (a.input.files.empty() || std::count(a.input.files.begin(), a.input.files.end(), "-") > 0)) {
    throw UsageError("--reverse-model reads the pairs twice: give files, not standard input");
  }
  choose(a, threads);
}

}  // namespace

void add_align(Program& program) {
  const auto a = std::make_shared<Arguments>();
  Command& command = program.add_command(
      "align", "Link the words of given translations, or choose the heads that do so");
  add_pair_options(command, a->input);

  command.group("Alignment");
  command.choice("--alignment-unit", a->unit,
                 {{"word", AlignmentUnit::kWord}, {"piece", AlignmentUnit::kPiece}},
                 "What is linked: word or piece");

  command.group("Choice of heads");
  command.flag("--choose-heads", a->choose_heads,
               "Find the heads that align best and write them into the model's "
               "generation_config.json; prints the score of every head");
  command.option("--gold", a->gold, "… best: by the error rate against these links")
      ->type_name("FILE");
  command.flag("--one-based", a->one_based, "The links of --gold count words from 1");
  command
      .option("--reverse-model", a->reverse_model,
              "… best: by their agreement with a model of the other direction")
      ->type_name("DIR");
  add_pair_speed_options(command, a->input, a->scorer);
  command.action([a, &command] { run(*a, command.threads()); });
}

}  // namespace filigree::cli
