// Everything that training can be told. These initialisers are the only defaults; the command line
// and YAML files fill the same struct.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "filigree/model/config.h"
#include "filigree/text/pair_filter.h"
#include "filigree/text/tokenizer.h"

namespace filigree::train {

enum class Schedule {
  kInverseSqrt,  ///< rate · min(step / warmup, √(warmup / step))
  kNoam,         ///< rate · D^−½ · min(step^−½, step · warmup^−1.5)
  kConstant,     ///< rate · min(step / warmup, 1)
};

/// What decides which checkpoint is best and when to stop.
enum class StoppingMetric { kLoss, kBleu, kChrf };

struct TrainOptions {
  // Files.
  std::filesystem::path model;                    ///< the model directory
  std::vector<std::filesystem::path> train_sets;  ///< source target [source target …]
  std::vector<std::filesystem::path> valid_sets;  ///< source target
  bool tsv = false;                               ///< sets are files of "source<TAB>target"
  std::vector<double> corpus_weights;             ///< one per training corpus; none: all 1
  bool drop_bad_lines = false;       ///< leave out lines that are not UTF-8 or hold NUL
  text::FilterOptions filters;       ///< which training pairs are left out
  std::filesystem::path data_cache;  ///< for tokenised training sets; empty: cache/ in `model`

  // Vocabulary.
  text::TokenizerOptions tokenizer;           ///< of tokenizers trained here
  std::vector<std::filesystem::path> vocabs;  ///< SentencePiece models: one shared or two
  std::vector<double> sentencepiece_alphas;  ///< of subword regularisation, see SubwordSampler: one
                                             ///< for both sides, or two; 0 or none: off

  // Another model to start from.
  std::filesystem::path init_from;  ///< its directory; empty: none
  bool new_vocabulary = false;      ///< train tokenizers even so, instead of taking those of it

  // Model: `model_config` without the vocabulary's numbers, which the tokenizers give.
  model::ModelConfig model_config;

  // Optimisation.
  double learning_rate = 0.003;
  Schedule schedule = Schedule::kInverseSqrt;
  int64_t warmup_steps = 1000;
  double adam_beta1 = 0.9, adam_beta2 = 0.98, adam_epsilon = 1e-9;
  double clip_norm = 1;  ///< of the gradient; 0: no clipping
  double label_smoothing = 0.1;
  double dropout = 0.1;
  double attention_dropout = 0;
  int64_t batch_tokens = 4096;       ///< target tokens, </s> included
  int64_t accumulate = 1;            ///< batches per update
  double exponential_smoothing = 0;  ///< weight of the newest step in an average that is used for
                                     ///< validation and saved as the model; 0: no average
  int64_t max_bad_steps = 20;  ///< updates in a row without a finite loss and gradient: divergence
  int64_t max_rollbacks =
      3;  ///< returns to an older checkpoint, at half the rate, before giving up

  // Length of the training; 0 means no such limit.
  int64_t max_steps = 0;
  int64_t max_epochs = 0;
  int64_t patience = 10;  ///< validations without a better score
  StoppingMetric stopping_metric = StoppingMetric::kBleu;

  // Reports, validations, checkpoints.
  int64_t report_every = 100;  ///< updates
  int64_t valid_every = 500;   ///< updates
  int64_t save_every = 0;      ///< updates; 0: at every validation
  int64_t keep_last = 2;       ///< checkpoints to keep, besides the best weights
  int64_t keep_every = 0;      ///< updates; checkpoints at multiples of it stay; 0: none
  int beam_size = 5;           ///< for BLEU and chrF of the validation set
  double length_penalty = 1;
  bool translate_valid_set = true;  ///< without it there is no BLEU and no chrF
  bool tensorboard = false;         ///< also write event files for TensorBoard

  std::vector<std::string> freeze;  ///< shell patterns of parameters that stay as they are

  uint64_t seed = 1;
  int threads = 0;                    ///< 0: all usable cores
  std::string device = "cpu";         ///< or "cuda", "cuda:N"
  std::string precision = "float32";  ///< of matrix products; "bfloat16x3", "bfloat16"
  bool dry_run = false;  ///< stop before the first update, with nothing written but the data cache
};

/// Names on the command line: "inverse-sqrt", "noam", "constant"; "loss", "bleu", "chrf".
/// Throw UsageError on other names.
Schedule parse_schedule(const std::string& name);
StoppingMetric parse_stopping_metric(const std::string& name);

/// Throws UsageError naming the first option that is missing or out of range.
void validate(const TrainOptions& options);

}  // namespace filigree::train
