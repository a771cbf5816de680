#include <spdlog/spdlog.h>

#include <cstdio>
#include <set>
#include <unordered_map>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/random.h"
#include "filigree/text/subword_library.h"
#include "filigree/text/tokenizer.h"

namespace filigree::text {
namespace {

// A uniform sample of at most `limit` lines (Vitter's algorithm R). Blank lines do not count.
std::vector<std::string> sample_lines(const LineSource& lines, int64_t limit, uint64_t seed) {
  std::vector<std::string> sample;
  Random random(seed);
  std::string line;
  for (uint64_t seen = 0; lines(line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    ++seen;
    if (static_cast<int64_t>(sample.size()) < limit) {
      sample.push_back(std::move(line));
    } else if (const uint64_t place = random.below(seen); place < sample.size()) {
      sample[place] = std::move(line);
    }
  }
  return sample;
}

std::unordered_map<std::string, std::string> trainer_arguments(const TokenizerOptions& options) {
  return {
      {"model_type", options.model_type},
      {"vocab_size", std::to_string(options.vocab_size)},
      {"hard_vocab_limit", "false"},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"character_coverage", fmt::format("{}", options.character_coverage)},
      {"normalization_rule_name", options.normalization},
      {"num_threads", std::to_string(options.threads > 0 ? options.threads : 16)},
      // In bytes; SentencePiece would leave out lines above 4192 without a word.
      {"max_sentence_length", "1048576"},
      {"pad_id", std::to_string(kPad)},
      {"unk_id", std::to_string(kUnk)},
      {"bos_id", std::to_string(kBos)},
      {"eos_id", std::to_string(kEos)},
      // Above its warnings and errors: a failure comes back as a status.
      {"minloglevel", "3"},
  };
}

// SentencePiece's message without its source position, and in the user's terms where we know them.
std::string explain(std::string message) {
  int size = 0, least = 0;
  const size_t small = message.find("Vocabulary size is smaller than required_chars");
  if (small != std::string::npos &&
      std::sscanf(message.c_str() + small, "%*[^.]. %d vs %d", &size, &least) == 2) {
    return fmt::format(
        "its characters and special pieces need {} pieces, but the vocabulary size is {}; raise it "
        "or lower the character coverage",
        least, size);
  }
  const size_t position = message.find("] ");
  return position == std::string::npos ? message : message.substr(position + 2);
}

}  // namespace

void validate(const TokenizerOptions& options) {
  if (options.model_type != "bpe" && options.model_type != "unigram") {
    throw UsageError("the tokenizer's model type must be bpe or unigram, got {}",
                     options.model_type);
  }
  static const std::set<std::string> rules = {"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf",
                                              "identity"};
  if (!rules.contains(options.normalization)) {
    throw UsageError(
        "the normalization must be nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf or identity, got {}",
        options.normalization);
  }
  const int least = options.byte_fallback ? 4 + 256 : 4;
  if (options.vocab_size <= least) {
    throw UsageError("the vocabulary size must be above {}, got {}", least, options.vocab_size);
  }
  if (!(options.character_coverage > 0.9 && options.character_coverage <= 1)) {
    throw UsageError("the character coverage must be above 0.9 and at most 1, got {}",
                     options.character_coverage);
  }
  if (options.max_sentences < 1) {
    throw UsageError("the tokenizer needs at least 1 sentence to train on, got {}",
                     options.max_sentences);
  }
  if (options.threads < 0)
    throw UsageError("threads must not be negative, got {}", options.threads);
}

Tokenizer train_tokenizer(const LineSource& lines, const TokenizerOptions& options) {
  validate(options);
  const std::vector<std::string> sample = sample_lines(lines, options.max_sentences, options.seed);
  if (sample.empty()) throw Error("cannot train a tokenizer: the text has no words");
  std::string bytes;
  const std::string problem = subword_library().train(trainer_arguments(options), sample, bytes);
  if (!problem.empty()) {
    throw Error("cannot train a tokenizer on this text: {}", explain(problem));
  }
  Tokenizer tokenizer = Tokenizer::from_bytes(std::move(bytes), "the trained tokenizer");
  if (tokenizer.size() < options.vocab_size) {
    spdlog::warn("the text is too small for {} pieces; the tokenizer has {}", options.vocab_size,
                 tokenizer.size());
  }
  return tokenizer;
}

Tokenizer train_tokenizer(const std::vector<std::string>& lines, const TokenizerOptions& options) {
  size_t position = 0;
  const LineSource next = [&](std::string& line) {
    if (position == lines.size()) return false;
    line = lines[position++];
    return true;
  };
  return train_tokenizer(next, options);
}

}  // namespace filigree::text
