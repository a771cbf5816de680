// filigree translate: lines in, their translations out.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "filigree/cli/commands.h"
#include "filigree/cli/output.h"
#include "filigree/text/text_file.h"
#include "filigree/translate/generation_config.h"
#include "filigree/translate/stream.h"

namespace filigree::cli {
namespace {

/// Search options that are absent come from the model's generation_config.json.
struct Arguments {
  std::filesystem::path model, input = "-";
  std::optional<int> beam_size, n_best, max_length_offset, min_length, max_source_length;
  std::optional<double> length_penalty, max_length_factor;
  bool allow_unk = false, refuse_long_lines = false;
  translate::TranslatorOptions translator;
  translate::StreamOptions stream;
};

template <typename T, typename Value>
void override_with(T& target, const std::optional<Value>& value) {
  if (value) target = *value;
}

void run(const Arguments& a, int threads) {
  translate::GenerationConfig config = translate::load_generation_config(a.model);
  override_with(config.search.beam_size, a.beam_size);
  override_with(config.search.n_best, a.n_best);
  override_with(config.search.length_penalty, a.length_penalty);
  override_with(config.search.max_length_factor, a.max_length_factor);
  override_with(config.search.max_length_offset, a.max_length_offset);
  override_with(config.search.min_length, a.min_length);
  override_with(config.max_source_length, a.max_source_length);
  config.search.allow_unk |= a.allow_unk;
  // A list longer than the beam cannot be; a beam that nobody chose grows with it.
  if (!a.beam_size)
    config.search.beam_size = std::max(config.search.beam_size, config.search.n_best);

  translate::TranslatorOptions options = a.translator;
  options.search = config.search;
  options.max_source_length = config.max_source_length;
  options.split_long_lines = !a.refuse_long_lines;
  options.threads = threads;
  const translate::Translator translator(a.model, options);

  translate::StreamOptions stream = a.stream;
  stream.n_best = a.n_best.has_value();
  stream.progress = true;
  if (a.input != "-") stream.input_name = a.input.string();
  text::TextReader reader(a.input);
  translate::translate_stream(
      translator, [&reader] { return reader.next(); },
      [](std::string_view text) {
        write_output(text);
        flush_output();
      },
      stream);
}

}  // namespace

void add_translate(Program& program) {
  const auto a = std::make_shared<Arguments>();
  Command& command =
      program.add_command("translate", "Translate text, one line in, one line out, in order");
  command.group("Input");
  command.require(command.option("-m,--model", a->model, "Model directory")->type_name("DIR"));
  command.option("-i,--input", a->input, "Text to translate, may be gzip; - for standard input")
      ->type_name("FILE");

  command.group("Search (defaults: the model's generation_config.json)");
  at_least(command.option("-b,--beam-size", a->beam_size, "Hypotheses kept; 1 is greedy search"),
           1);
  command.option("--length-penalty", a->length_penalty,
                 "Score = log-probability / length^X; higher prefers longer outputs");
  at_least(command.option("--n-best", a->n_best,
                          "Print the N best translations of every line, in Moses' form: line ||| "
                          "text ||| F0= log-probability ||| score"),
           1);
  at_least(command.option("--max-length-factor", a->max_length_factor,
                          "Longest output = X times the source's length, in pieces, …"),
           0);
  at_least(command.option("--max-length-offset", a->max_length_offset, "… plus N"), 0);
  at_least(command.option("--min-length", a->min_length, "Shortest output, in pieces"), 0);
  command.flag("--allow-unk", a->allow_unk, "Let outputs hold unknown pieces");
  at_least(command.option("--max-source-length", a->max_source_length,
                          "Longer lines, in pieces, are split"),
           1);
  command.flag("--refuse-long-lines", a->refuse_long_lines,
               "Stop at a line that is too long instead of splitting it");

  command.group("Speed");
  command.add_threads_option();
  at_least(command.option("--mini-batch", a->translator.mini_batch, "Most lines in a batch"), 1);
  at_least(command.option("--mini-batch-words", a->translator.mini_batch_words,
                          "Most source pieces in a batch"),
           1);
  at_least(command.option("--chunk-lines", a->stream.chunk_lines,
                          "Lines read before the first is written; 1 answers each at once"),
           1);
  command.action([a, &command] { run(*a, command.threads()); });
}

}  // namespace filigree::cli
