// filigree score: what a model says about given translations.
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "filigree/base/error.h"
#include "filigree/cli/commands.h"
#include "filigree/cli/output.h"
#include "filigree/cli/pair_input.h"
#include "filigree/text/text_file.h"
#include "filigree/translate/json.h"
#include "filigree/translate/n_best_list.h"
#include "filigree/translate/output_format.h"
#include "filigree/translate/score_summary.h"
#include "filigree/translate/scorer.h"

namespace filigree::cli {
namespace {

using translate::AlignmentUnit;
using translate::Translation;

struct Arguments {
  PairInput input;
  translate::ScorerOptions scorer;
  bool alignment = false, word_scores = false, json = false, no_attention = false, summary = false;
  AlignmentUnit unit = AlignmentUnit::kWord;
  bool n_best = false;
  std::string feature = "F1";
  std::optional<double> rerank;
};

std::string format(const Translation& scored, const Arguments& a, int heads) {
  if (a.json) return to_json(scored, {.heads = heads}) + '\n';
  const translate::Output& output = scored.n_best.front();
  std::string line = fmt::format("{:.6f}", output.score);
  if (a.alignment) line += " ||| " + format_alignment(scored.source, output, a.unit);
  if (a.word_scores) line += " ||| " + format_word_scores(output);
  return line + '\n';
}

void score_pairs(const Arguments& a, const translate::Scorer& scorer) {
  const model::ModelConfig& config = scorer.config();
  translate::ScoreSummary summary(static_cast<int>(config.target_vocabulary));
  for_each_chunk(a.input, [&](const std::vector<text::SentencePair>& pairs) {
    std::string lines;
    for (const Translation& scored : scorer.score(pairs)) {
      if (a.summary) {
        summary.add(scored);
      } else {
        lines += format(scored, a, static_cast<int>(config.heads));
      }
    }
    write_output(lines);
    flush_output();
  });
  if (!a.summary) return;
  const bool zeros = config.output_alpha > 1;
  write_output(a.json ? summary.json(zeros) : summary.text(zeros));
}

/// The entries of an n-best list with their sources, all of a line together.
class NBestReader {
 public:
  NBestReader(const std::filesystem::path& sources, const std::filesystem::path& list)
      : sources_(sources), list_(list) {
    advance();
  }

  /// Appends the entries of the next line; false at the end.
  bool next(std::vector<translate::NBestEntry>& entries, std::vector<text::SentencePair>& pairs) {
    if (!entry_) return false;
    const int64_t line = entry_->line;
    while (source_number_ <= line) {
      auto source = sources_.next();
      if (!source) {
        fail(fmt::format("is of line {}, but {} has {} lines; lines count from 0", line,
                         sources_.path().string(), source_number_));
      }
      source_ = std::move(*source);
      ++source_number_;
    }
    for (; entry_ && entry_->line == line; advance()) {
      pairs.push_back({source_, entry_->text});
      entries.push_back(std::move(*entry_));
    }
    if (entry_ && entry_->line < line) fail("goes back to an earlier line; sort the list by line");
    return true;
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw Error("{}:{}: {}", list_.path().string(), list_.line_number(), message);
  }

 private:
  void advance() {
    const auto line = list_.next();
    entry_.reset();
    if (!line) return;
    try {
      entry_ = translate::parse_n_best_entry(*line);
    } catch (const Error& error) {
      fail(error.what());
    }
  }

  text::TextReader sources_, list_;
  std::string source_;
  int64_t source_number_ = 0;
  std::optional<translate::NBestEntry> entry_;
};

void score_n_best(const Arguments& a, const translate::Scorer& scorer) {
  NBestReader reader(a.input.files.at(0), a.input.files.at(1));
  for (bool more = true; more;) {
    std::vector<translate::NBestEntry> entries;
    std::vector<text::SentencePair> pairs;
    while (more && static_cast<int>(pairs.size()) < a.input.chunk_lines) {
      more = reader.next(entries, pairs);
    }
    std::vector<Translation> scored = scorer.score(pairs);
    std::string lines;
    for (size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
      std::vector<translate::NBestEntry> list;
      std::vector<double> scores;
      for (; end < entries.size() && entries[end].line == entries[begin].line; ++end) {
        scores.push_back(scored[end].n_best.front().score);
        try {
          add_feature(entries[end], a.feature, scores.back());
        } catch (const Error& error) {
          throw UsageError("--n-best-feature: line {}: {}", entries[end].line, error.what());
        }
        list.push_back(std::move(entries[end]));
      }
      if (a.rerank) rerank(list, scores, *a.rerank);
      for (const auto& entry : list) lines += format_n_best_entry(entry) + '\n';
    }
    write_output(lines);
    flush_output();
  }
}

void run(Arguments a, int threads) {
  a.input.check();
  if (a.n_best && a.input.files.size() != 2) {
    throw UsageError("--n-best needs two files: the source and the n-best list");
  }
  if (!a.n_best && a.rerank) throw UsageError("--rerank sorts n-best lists: give --n-best");
  a.scorer.threads = threads;
  a.scorer.alignment = a.alignment || a.json;
  a.scorer.attention = a.json && !a.no_attention && !a.summary;
  const translate::Scorer scorer(a.input.model, a.scorer);
  if (a.n_best) {
    score_n_best(a, scorer);
  } else {
    score_pairs(a, scorer);
  }
}

}  // namespace

void add_score(Program& program) {
  const auto a = std::make_shared<Arguments>();
  Command& command =
      program.add_command("score", "Log-probabilities and alignments of given translations");
  add_pair_options(command, a->input);

  command.group("Output");
  command.option("--length-penalty", a->scorer.length_penalty,
                 "Print log-probability / length^X, the length in pieces with the end");
  command.flag("--word-scores", a->word_scores,
               "Add the log-probability of every word and of the end: ||| WordScores= …");
  command.flag("--alignment", a->alignment,
               "Add the links of source and target words: ||| 0-0 1-2");
  command.choice("--alignment-unit", a->unit,
                 {{"word", AlignmentUnit::kWord}, {"piece", AlignmentUnit::kPiece}},
                 "What --alignment links: word or piece");
  command.flag("--json", a->json, "Print all that is known of a pair, an object a line");
  command.flag("--no-attention", a->no_attention, "Leave the attention weights out of --json");
  command.flag("--summary", a->summary, "Print cross-entropy and perplexity of the whole instead");

  command.group("N-best lists");
  command.flag("--n-best", a->n_best,
               "The second file is an n-best list in Moses' form: add the score as a feature");
  command.option("--n-best-feature", a->feature, "Name of the feature");
  command.option("--rerank", a->rerank,
                 "Sort every list by X times this score plus 1 - X times its own");

  add_pair_speed_options(command, a->input, a->scorer);
  command.action([a, &command] { run(*a, command.threads()); });
}

}  // namespace filigree::cli
