// filigree train: every field of TrainOptions as an option.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "filigree/base/log.h"
#include "filigree/cli/commands.h"
#include "filigree/model/model_directory.h"
#include "filigree/train/checkpoint.h"
#include "filigree/train/run_workers.h"
#include "filigree/train/trainer.h"

namespace filigree::cli {
namespace {

using model::Transform;
using train::TrainOptions;

/// The options, and those that change several fields or override each other.
struct Arguments {
  TrainOptions options;
  std::string preset = "tiny";
  std::optional<int64_t> encoder_layers, decoder_layers, d_model, d_ff, heads;
  Transform attention = model::AttentionTransform{}.transform;
  std::optional<Transform> encoder_attention, cross_attention, decoder_attention;
  double alpha = model::AttentionTransform{}.alpha;
  std::string loss = "cross-entropy";
  double loss_alpha = 1.5;
  std::vector<double> alpha_range = {model::AttentionTransform{}.alpha_min,
                                     model::AttentionTransform{}.alpha_max};
  bool separate_vocabularies = false, untied_embeddings = false, post_norm = false;
  bool no_valid_translations = false;
  int workers = 1;
  std::vector<std::string> scripts;
};

template <typename T>
std::vector<std::pair<std::string, T>> transforms() {
  std::vector<std::pair<std::string, T>> words;
  for (const Transform transform :
       {Transform::kSoftmax, Transform::kSparsemax, Transform::kEntmax15, Transform::kEntmax,
        Transform::kAdaptive}) {
    words.emplace_back(to_string(transform), transform);
  }
  return words;
}

// The options that ask for tokenizers of their own.
constexpr const char* kVocabularyOptions[] = {
    "vocab-size",         "vocab-type",    "separate-vocabularies",  "byte-fallback",
    "character-coverage", "normalization", "sentencepiece-max-lines"};

// Where a model starts from another one, what is not given is as there. A training that goes on
// does not need that model any more.
model::ModelConfig other_config(const TrainOptions& options) {
  return model::load_config(train::has_checkpoint(options.model) ? options.model
                                                                 : options.init_from);
}

void set_model(const Arguments& a, const Command& command, TrainOptions& options) {
  model::ModelConfig& config = options.model_config;
  const bool anew = options.init_from.empty();
  if (!anew) config = other_config(options);
  const auto given = [&](const char* option) { return anew || command.given(option); };
  if (given("preset")) model::apply_preset(config, a.preset);
  config.encoder_layers = a.encoder_layers.value_or(config.encoder_layers);
  config.decoder_layers = a.decoder_layers.value_or(config.decoder_layers);
  config.d_model = a.d_model.value_or(config.d_model);
  config.d_ff = a.d_ff.value_or(config.d_ff);
  config.heads = a.heads.value_or(config.heads);
  for (const auto block : model::kAttentionBlocks) {
    // Layers that are new have all their heads.
    auto& left = config.heads_left[static_cast<size_t>(block)];
    if (!left.empty()) left.resize(static_cast<size_t>(config.layers(block)), config.heads);
  }
  if (given("post-norm")) config.pre_norm = !a.post_norm;
  if (given("untied-embeddings")) config.tied_embeddings = !a.untied_embeddings;
  const auto set_attention = [&](model::AttentionTransform& block,
                                 const std::optional<Transform>& own) {
    if (given("attention")) block.transform = a.attention;
    if (own) block.transform = *own;
    if (given("alpha")) block.alpha = a.alpha;
    if (!given("alpha-range")) return;
    block.alpha_min = a.alpha_range[0];
    block.alpha_max = a.alpha_range[1];
  };
  set_attention(config.encoder_attention, a.encoder_attention);
  set_attention(config.cross_attention, a.cross_attention);
  set_attention(config.decoder_attention, a.decoder_attention);
  if (given("loss") || given("loss-alpha")) {
    const bool sparse = given("loss") ? a.loss == "entmax" : config.output_alpha > 1;
    config.output_alpha = sparse ? a.loss_alpha : 1;
  }
}

void set_vocabulary(const Arguments& a, const Command& command, TrainOptions& options) {
  options.new_vocabulary = std::any_of(std::begin(kVocabularyOptions), std::end(kVocabularyOptions),
                                       [&](const char* option) { return command.given(option); });
  const bool as_other = !options.init_from.empty() && options.vocabs.empty();
  if (as_other && !command.given("separate-vocabularies")) return;
  options.model_config.shared_vocabulary = !a.separate_vocabularies && options.vocabs.size() < 2;
}

TrainOptions options_from(const Arguments& a, const Command& command, int threads) {
  TrainOptions options = a.options;
  set_model(a, command, options);
  set_vocabulary(a, command, options);
  if (!a.scripts.empty()) {
    options.filters.source_script = a.scripts[0];
    options.filters.target_script = a.scripts[1];
  }
  options.translate_valid_set = !a.no_valid_translations;
  options.threads = threads;
  return options;
}

void add_data_options(Command& command, Arguments& a) {
  TrainOptions& o = a.options;
  command.group("Data");
  command.require(command
                      .option("-m,--model", o.model,
                              "Model directory; training goes on from the checkpoint in it, if any")
                      ->type_name("DIR"));
  command.require(command
                      .option("-t,--train-sets", o.train_sets,
                              "Training text, a sentence a line, may be gzip; several corpora: "
                              "SOURCE TARGET SOURCE TARGET …")
                      ->type_name("SOURCE TARGET ..."));
  command.option("--valid-sets", o.valid_sets, "Validation text, which chooses the best weights")
      ->type_name("SOURCE TARGET");
  command.flag("--tsv", o.tsv, "Every set is one file of lines SOURCE<tab>TARGET");
  command.option("--corpus-weights", o.corpus_weights,
                 "How often each training corpus is seen in an epoch [once]");
  command.flag("--drop-bad-lines", o.drop_bad_lines,
               "Leave out lines that are not UTF-8 instead of stopping");
  command
      .option("--data-cache", o.data_cache,
              "Folder for the tokenised training text, which later trainings on the same text and "
              "vocabulary share [cache in --model]")
      ->type_name("DIR");

  command.group("Training pairs to leave out");
  at_least(command.option("--max-length", o.filters.max_length, "More pieces on a side"), 1);
  at_least(command.option("--max-length-ratio", o.filters.max_length_ratio,
                          "Pieces of the longer side per piece of the shorter; 0: any"),
           0);
  command.flag("--drop-identical", o.filters.drop_identical, "Source and target are the same");
  command.flag("--drop-duplicates", o.filters.drop_duplicates, "The same pair came before");
  command.option("--scripts", a.scripts, "Another script, such as Latin, Cyrillic, Jpan; or any")
      ->expected(2)
      ->type_name("SOURCE TARGET");
  between(command.option("--min-script-share", o.filters.min_script_share,
                         "Share of letters that must be in that script"),
          0, 1);
}

void add_vocabulary_options(Command& command, Arguments& a) {
  TrainOptions& o = a.options;
  command.group("Vocabulary");
  command
      .option("--vocabs", o.vocabs,
              "SentencePiece models to use: one for both languages, or two; otherwise they are "
              "trained on the training text")
      ->type_name("FILE [FILE]");
  command.option("--vocab-size", o.tokenizer.vocab_size, "Pieces, special ones included");
  one_of(command.option("--vocab-type", o.tokenizer.model_type, "bpe or unigram"),
         {"bpe", "unigram"});
  command.flag("--separate-vocabularies", a.separate_vocabularies,
               "A vocabulary and an embedding for each language");
  command.flag("--byte-fallback", o.tokenizer.byte_fallback,
               "Unknown characters become their bytes, not <unk>");
  between(command.option("--character-coverage", o.tokenizer.character_coverage,
                         "Share of the text's characters that become pieces"),
          0.9, 1);
  at_least(command.option("--sentencepiece-max-lines", o.tokenizer.max_sentences,
                          "Train on a random sample of as many lines when there are more"),
           1);
  at_least(command
               .option("--sentencepiece-alphas", o.sentencepiece_alphas,
                       "Subword regularisation: other pieces for the same text every epoch; merges "
                       "to skip (bpe) or exponent (unigram); 0: none")
               ->type_name("X [X]"),
           0);
  command.option("--normalization", o.tokenizer.normalization,
                 "SentencePiece's rule: nmt_nfkc, nfkc, identity, …");
}

void add_model_options(Command& command, Arguments& a) {
  command.group("Model");
  command
      .option("--init-from", a.options.init_from,
              "Model whose weights to start from; options of model, attention and loss that are "
              "not given are as in it, and without vocabulary options so are the vocabularies")
      ->type_name("DIR");
  one_of(command.option("--preset", a.preset,
                        "Layers, widths, heads: tiny, small, base or big; the next five override"),
         {"tiny", "small", "base", "big"});
  at_least(command.option("--encoder-layers", a.encoder_layers, "Encoder layers"), 1);
  at_least(command.option("--decoder-layers", a.decoder_layers, "Decoder layers"), 1);
  at_least(command.option("--d-model", a.d_model, "Width of the model"), 2);
  at_least(command.option("--d-ff", a.d_ff, "Width inside the feed-forward layers"), 1);
  at_least(command.option("--heads", a.heads, "Attention heads"), 1);
  command.flag("--post-norm", a.post_norm, "Layer norm after the residual instead of before");
  command.flag("--untied-embeddings", a.untied_embeddings,
               "An output layer of its own, not the target embedding");

  command.group("Attention");
  command.choice("--attention", a.attention, transforms<Transform>(),
                 "Scores to weights: softmax, sparsemax, entmax15, entmax (α of --alpha) or "
                 "adaptive (α learned for every head)");
  const auto words = transforms<std::optional<Transform>>();
  command.choice("--encoder-attention", a.encoder_attention, words, "For the encoder alone");
  command.choice("--cross-attention", a.cross_attention, words, "For cross attention alone");
  command.choice("--decoder-attention", a.decoder_attention, words,
                 "For the decoder's self-attention alone");
  at_least(command.option("--alpha", a.alpha, "α of the entmax transform"), 1);
  at_least(command.option("--alpha-range", a.alpha_range, "Range of a learned α")
               ->expected(2)
               ->type_name("MIN MAX"),
           1);
}

void add_loss_options(Command& command, Arguments& a) {
  command.group("Loss");
  one_of(command.option("--loss", a.loss,
                        "cross-entropy (outputs by softmax) or entmax (outputs by α-entmax, most "
                        "of whose probabilities are zero)"),
         {"cross-entropy", "entmax"});
  at_least(command.option("--loss-alpha", a.loss_alpha, "α of the entmax loss"), 1);
  command.option("--label-smoothing", a.options.label_smoothing,
                 "Share of the target's probability");
}

void add_optimisation_options(Command& command, Arguments& a) {
  TrainOptions& o = a.options;
  command.group("Optimisation");
  above(command.option("--learning-rate", o.learning_rate, "Peak of the learning rate"), 0);
  command.choice("--schedule", o.schedule,
                 {{"inverse-sqrt", train::Schedule::kInverseSqrt},
                  {"noam", train::Schedule::kNoam},
                  {"constant", train::Schedule::kConstant}},
                 "Learning rate: inverse-sqrt, noam or constant, each after a warm-up");
  at_least(command.option("--warmup-steps", o.warmup_steps, "Updates of linear warm-up"), 0);
  command.option("--adam-beta1", o.adam_beta1, "Adam's decay of the gradient");
  command.option("--adam-beta2", o.adam_beta2, "Adam's decay of its square");
  command.option("--adam-epsilon", o.adam_epsilon, "Adam's smallest denominator");
  at_least(command.option("--clip-norm", o.clip_norm, "Longest gradient; 0: any"), 0);
  command.option("--dropout", o.dropout, "On embeddings and residual branches");
  command.option("--attention-dropout", o.attention_dropout, "On attention weights");
  at_least(command.option("--batch-tokens", o.batch_tokens, "Target tokens in a batch"), 1);
  at_least(command.option("--accumulate", o.accumulate, "Batches per update"), 1);
  command.option("--exponential-smoothing", o.exponential_smoothing,
                 "Weight of the newest update in an average that is validated and saved instead "
                 "of the weights; 0: none");
  at_least(command.option("--max-bad-steps", o.max_bad_steps,
                          "Updates in a row without a finite loss and gradient, which are skipped, "
                          "before training goes back to a checkpoint at half the learning rate"),
           1);
  at_least(command.option("--max-rollbacks", o.max_rollbacks,
                          "Times that it goes back before it stops with an error"),
           0);
  command
      .option("--freeze", o.freeze,
              "Parameters that stay as they are, by names of model.safetensors with * and ?")
      ->type_name("PATTERN ...");
  at_least(command.option("--seed", o.seed, "Seed of everything random"), 0);
  command.add_threads_option();
  command.option("--device", o.device, "Where to train: cpu, cuda or cuda:N");
  one_of(command.option("--precision", o.precision,
                        "Of matrix products: float32; bfloat16x3, 16 bits of it at twice the speed "
                        "on processors with AMX; bfloat16, 8 bits"),
         {"float32", "bfloat16x3", "bfloat16"});
  at_least(command.option("--workers", a.workers,
                          "Processes on this machine that share every batch, each with --threads "
                          "[cores divided by workers]"),
           1);
}

void add_progress_options(Command& command, Arguments& a) {
  TrainOptions& o = a.options;
  command.group("Length of the training (0: no such limit)");
  at_least(command.option("--max-steps", o.max_steps, "Updates, counted over all runs"), 0);
  at_least(command.option("--max-epochs", o.max_epochs, "Passes over the training text"), 0);
  at_least(command.option("--patience", o.patience, "Validations without a better score"), 0);
  command.choice("--stopping-metric", o.stopping_metric,
                 {{"loss", train::StoppingMetric::kLoss},
                  {"bleu", train::StoppingMetric::kBleu},
                  {"chrf", train::StoppingMetric::kChrf}},
                 "What chooses the best weights: loss, bleu or chrf");

  command.group("Reports, validations, checkpoints");
  at_least(command.option("--report-every", o.report_every, "Updates between reports"), 1);
  at_least(command.option("--valid-every", o.valid_every, "Updates between validations"), 1);
  at_least(command.option("--save-every", o.save_every,
                          "Updates between checkpoints; 0: one at every validation"),
           0);
  at_least(command.option("--keep-last", o.keep_last, "Newest checkpoints to keep"), 1);
  at_least(command.option("--keep-every", o.keep_every,
                          "Also keep, for good, those of every so many updates; 0: none"),
           0);
  at_least(command.option("--beam-size", o.beam_size,
                          "Of the validation's translations, and the model's default"),
           1);
  command.option("--length-penalty", o.length_penalty, "Likewise");
  command.flag("--tensorboard", o.tensorboard,
               "Also write the reports for TensorBoard, into the model directory");
  command.flag("--dry-run", o.dry_run, "Print the summary and its warnings, and stop there");
  command.flag("--no-valid-translations", a.no_valid_translations,
               "Validate by loss alone; needs --stopping-metric loss");
}

}  // namespace

void add_train(Program& program) {
  const auto a = std::make_shared<Arguments>();
  Command& command = program.add_command(
      "train", "Train a translation model on parallel text, or go on with a training");
  add_data_options(command, *a);
  add_vocabulary_options(command, *a);
  add_model_options(command, *a);
  add_loss_options(command, *a);
  add_optimisation_options(command, *a);
  add_progress_options(command, *a);
  command.dump_only_given_if([a] { return !a->options.init_from.empty(); });
  command.action([a, &command] {
    train::run_workers(a->workers, [&](train::WorkerGroup& group) {
      // What the first worker logs is true of all.
      if (!group.is_first()) spdlog::set_level(std::max(spdlog::get_level(), spdlog::level::err));
      train::train(options_from(*a, command, command.threads(group.local_size())), group);
    });
  });
}

}  // namespace filigree::cli
