// filigree translate: lines in, their translations out.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "filigree/base/error.h"
#include "filigree/cli/commands.h"
#include "filigree/cli/output.h"
#include "filigree/cli/translation_report.h"
#include "filigree/text/text_file.h"
#include "filigree/translate/constraint_files.h"
#include "filigree/translate/generation_config.h"
#include "filigree/translate/stream.h"

namespace filigree::cli {
namespace {

/// Search options that are absent come from the model's generation_config.json.
struct Arguments {
  std::vector<std::filesystem::path> models;
  std::filesystem::path input = "-";
  std::optional<std::filesystem::path> target_prefix, ban_phrases, require_phrases, report;
  std::optional<int> beam_size, n_best, max_length_offset, min_length, max_source_length;
  std::optional<int> no_repeat_ngram_size, top_k;
  std::optional<double> length_penalty, word_penalty, repetition_penalty, coverage_penalty;
  std::optional<double> max_length_factor, min_length_factor;
  std::optional<double> temperature, top_p;
  uint64_t seed = 1;
  std::optional<bool> allow_unk, sampling;
  bool refuse_long_lines = false;
  bool alignment = false, word_scores = false, json = false, no_attention = false;
  translate::AlignmentUnit unit = translate::AlignmentUnit::kWord;
  std::string precision = "float32";
  int report_sentences = 100;
  translate::TranslatorOptions translator;
  translate::StreamOptions stream;
};

template <typename T, typename Value>
void override_with(T& target, const std::optional<Value>& value) {
  if (value) target = *value;
}

translate::GenerationConfig generation_config(const Arguments& a) {
  translate::GenerationConfig config = translate::load_generation_config(a.models[0]);
  translate::SearchOptions& search = config.search;
  override_with(search.beam_size, a.beam_size);
  override_with(search.n_best, a.n_best);
  override_with(search.length_penalty, a.length_penalty);
  override_with(search.word_penalty, a.word_penalty);
  override_with(search.repetition_penalty, a.repetition_penalty);
  override_with(search.coverage_penalty, a.coverage_penalty);
  override_with(search.max_length_factor, a.max_length_factor);
  override_with(search.max_length_offset, a.max_length_offset);
  override_with(search.min_length_factor, a.min_length_factor);
  override_with(search.min_length, a.min_length);
  override_with(search.no_repeat_ngram_size, a.no_repeat_ngram_size);
  override_with(search.token_sampling.temperature, a.temperature);
  override_with(search.token_sampling.top_k, a.top_k);
  override_with(search.token_sampling.top_p, a.top_p);
  override_with(config.max_source_length, a.max_source_length);
  override_with(search.allow_unk, a.allow_unk);
  override_with(search.sampling, a.sampling);
  search.seed = a.seed;
  // A list longer than the beam cannot be; a beam that nobody chose grows with it.
  if (!a.beam_size) search.beam_size = std::max(search.beam_size, search.n_best);
  return config;
}

void check(const Arguments& a, const translate::SearchOptions& search) {
  if (!search.sampling && (a.temperature || a.top_k || a.top_p)) {
    throw UsageError("--temperature, --top-k and --top-p need --sampling");
  }
  if (search.sampling && a.require_phrases) {
    throw UsageError("--require-phrases needs a beam search, not --sampling");
  }
  int from_standard_input = a.input == "-";
  for (const auto& file : {a.target_prefix, a.ban_phrases, a.require_phrases}) {
    from_standard_input += file && *file == "-";
  }
  if (from_standard_input > 1) {
    throw UsageError("only one of the input and the files of constraints may be standard input");
  }
}

translate::OutputFormat output_format(const Arguments& a, int heads) {
  translate::OutputFormat format;
  format.n_best = a.n_best.has_value();
  if (a.alignment) format.alignment = a.unit;
  format.word_scores = a.word_scores;
  format.json = a.json;
  format.heads = heads;
  return format;
}

void run(const Arguments& a, int threads) {
  const translate::GenerationConfig config = generation_config(a);
  check(a, config.search);
  translate::TranslatorOptions options = a.translator;
  options.search = config.search;
  options.max_source_length = config.max_source_length;
  options.split_long_lines = !a.refuse_long_lines;
  options.precision = translate::parse_precision(a.precision);
  options.batches.threads = threads;
  options.alignment = a.alignment || a.json || a.report;
  options.attention = a.json && !a.no_attention;
  if (a.ban_phrases) options.banned_phrases = text::read_text(*a.ban_phrases);
  std::optional<TranslationReport> report;
  if (a.report) report.emplace(*a.report, a.report_sentences);
  translate::ConstraintFiles constraints(a.target_prefix, a.require_phrases);
  const translate::Translator translator(a.models, options);

  translate::StreamOptions stream = a.stream;
  stream.format = output_format(a, translator.heads());
  stream.progress = true;
  if (a.input != "-") stream.input_name = a.input.string();
  if (report) stream.observe = [&](const translate::Translation& t) { report->add(t); };
  if (constraints.any()) stream.next_constraints = [&constraints] { return constraints.next(); };
  text::TextReader reader(
      a.input, a.translator.replace_invalid ? text::BadLines::kKeep : text::BadLines::kError);
  translate::translate_stream(
      translator, [&reader] { return reader.next(); },
      [](std::string_view text) {
        write_output(text);
        flush_output();
      },
      stream);
  constraints.check_end();
  if (report) report->write(a.models, stream.input_name, threads);
}

}  // namespace

void add_translate(Program& program) {
  const auto a = std::make_shared<Arguments>();
  Command& command =
      program.add_command("translate", "Translate text, one line in, one line out, in order");
  command.group("Input");
  command.require(
      command.option("-m,--model", a->models, "Model directory; several are an ensemble")
          ->type_name("DIR"));
  command.option("-i,--input", a->input, "Text to translate, may be gzip; - for standard input")
      ->type_name("FILE");
  command.flag("--replace-invalid", a->translator.replace_invalid,
               "Replace what is not UTF-8 by U+FFFD instead of stopping there");
  at_least(command.option("--max-source-length", a->max_source_length,
                          "Longer lines, in pieces, are split"),
           1);
  command.flag("--refuse-long-lines", a->refuse_long_lines,
               "Stop at a line that is too long instead of splitting it");

  command.group("Search (defaults: the model's generation_config.json)");
  at_least(command.option("-b,--beam-size", a->beam_size, "Hypotheses kept; 1 is greedy search"),
           1);
  command.option(
      "--length-penalty", a->length_penalty,
      "X in the score, (log p(output) - W * length) / length^X + coverage; higher prefers longer "
      "outputs");
  command.option("--word-penalty", a->word_penalty, "W in the score; below 0 it is a reward");
  at_least(command.option("--repetition-penalty", a->repetition_penalty,
                          "log p of pieces that the output already holds counts X times"),
           1);
  at_least(command.option("--coverage-penalty", a->coverage_penalty,
                          "X in the coverage, X * sum over source pieces of log min(attention, 1)"),
           0);
  at_least(command.option("--n-best", a->n_best,
                          "Print the N best translations of every line, in Moses' form: line ||| "
                          "text ||| F0= log-probability ||| score"),
           1);
  at_least(command.option("--max-length-factor", a->max_length_factor,
                          "Longest output = X times the source's length, in pieces, …"),
           0);
  at_least(command.option("--max-length-offset", a->max_length_offset, "… plus N"), 0);
  at_least(command.option("--min-length-factor", a->min_length_factor,
                          "Shortest output = X times the source's length, in pieces, …"),
           0);
  at_least(command.option("--min-length", a->min_length, "… but at least N"), 0);
  at_least(command.option("--no-repeat-ngram-size", a->no_repeat_ngram_size,
                          "No N pieces in a row twice in an output; 0: any"),
           0);
  command.flag("--allow-unk,!--no-allow-unk", a->allow_unk, "Let outputs hold unknown pieces");

  command.group("Constraints");
  command
      .option("--target-prefix", a->target_prefix,
              "What the translation of each line begins with; a space at its end ends a word")
      ->type_name("FILE");
  command
      .option("--require-phrases", a->require_phrases,
              "What the translation of each line contains: phrases separated by tabs")
      ->type_name("FILE");
  command.option("--ban-phrases", a->ban_phrases, "What no translation contains, a phrase a line")
      ->type_name("FILE");

  command.group("Sampling");
  command.flag("--sampling,!--no-sampling", a->sampling,
               "Draw outputs at random, --n-best of them, instead of searching for the best");
  above(command.option("--temperature", a->temperature, "Draw from p^(1/X)"), 0);
  at_least(command.option("--top-k", a->top_k, "… among the N most probable pieces; 0: all"), 0);
  between(command.option("--top-p", a->top_p,
                         "… among the fewest pieces that together have probability X"),
          0, 1);
  at_least(command.option("--seed", a->seed, "Other numbers give other samples"), 0);

  command.group("Output");
  command.flag("--alignment", a->alignment,
               "Add which word comes from which of the source: ||| 0-0 1-2");
  command.choice(
      "--alignment-unit", a->unit,
      {{"word", translate::AlignmentUnit::kWord}, {"piece", translate::AlignmentUnit::kPiece}},
      "What --alignment links: word or piece");
  command.flag("--word-scores", a->word_scores,
               "Add the log-probability of every word and of the end: ||| WordScores= …");
  command.flag("--json", a->json, "Print all that is known of a line, an object a line");
  command.flag("--no-attention", a->no_attention, "Leave the attention weights out of --json");
  command
      .option("--report", a->report,
              "Write one HTML file that shows what each head looked at; of the best translations")
      ->type_name("FILE");
  at_least(command.option("--report-sentences", a->report_sentences,
                          "Sentences in it: the first of the input"),
           1);

  command.group("Speed");
  command.add_threads_option();
  command.option("--precision", a->precision,
                 "Weights in memory: float32, bfloat16 or int8; the smaller, the faster");
  at_least(command.option("--mini-batch", a->translator.batches.mini_batch,
                          "Most lines that a thread works on"),
           1);
  at_least(command.option("--mini-batch-words", a->translator.batches.mini_batch_words,
                          "Most source pieces of them"),
           1);
  command.action([a, &command] { run(*a, command.threads()); });
}

}  // namespace filigree::cli
