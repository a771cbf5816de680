#include "filigree/text/corpus.h"

#include <algorithm>
#include <cmath>

#include "filigree/base/error.h"
#include "filigree/base/threads.h"

namespace filigree::text {
namespace {

constexpr size_t kBlock = 1 << 14;  // pairs that are tokenised at once

void validate(const CorpusOptions& options) {
  if (options.sources.empty()) throw UsageError("no training corpus was given");
  if (options.max_length < 1) {
    throw UsageError("the maximum length must be at least 1, got {}", options.max_length);
  }
  if (options.threads < 0)
    throw UsageError("threads must not be negative, got {}", options.threads);
  for (const CorpusSource& source : options.sources) {
    if (!std::isfinite(source.weight) || source.weight <= 0) {
      throw UsageError("{}: the weight must be above 0, got {}", source.name(), source.weight);
    }
    if (source.tsv != source.target.empty()) {
      throw UsageError("{}: {}", source.source.string(),
                       source.tsv ? "a TSV corpus is one file with both sides"
                                  : "the file with the translations is missing");
    }
  }
}

class CorpusBuilder {
 public:
  CorpusBuilder(const CorpusOptions& options, const Tokenizer& source, const Tokenizer& target)
      : options_(options),
        source_(source),
        target_(target),
        threads_(options.threads > 0 ? options.threads : usable_cores()) {}

  SourceReport add(const CorpusSource& source) {
    SourceReport report{.name = source.name()};
    corpus_.begin_part(source.weight);
    PairReader reader(source, options_.bad_lines);
    std::vector<SentencePair> block;
    while (auto pair = reader.next()) {
      ++report.read;
      if (reader.fault() == LineFault::kInvalidUtf8) {
        ++report.invalid_utf8;
      } else if (reader.fault() == LineFault::kNulByte) {
        ++report.nul_bytes;
      } else {
        block.push_back(std::move(*pair));
      }
      if (block.size() == kBlock) add_block(block, report);
    }
    add_block(block, report);
    if (report.kept == 0) {
      throw Error("{}: none of the {} pairs can be used ({})", report.name, report.read,
                  report.reasons());
    }
    return report;
  }

  ParallelCorpus take() { return std::move(corpus_); }

 private:
  void add_block(std::vector<SentencePair>& block, SourceReport& report) {
    std::vector<std::vector<int>> sources(block.size()), targets(block.size());
    run_parallel(threads_, [&](int thread) {
      for (size_t i = thread; i < block.size(); i += threads_) {
        sources[i] = source_.encode(block[i].source);
        targets[i] = target_.encode(block[i].target);
      }
    });
    for (size_t i = 0; i < block.size(); ++i) add_pair(sources[i], targets[i], report);
    block.clear();
  }

  void add_pair(const std::vector<int>& source, const std::vector<int>& target,
                SourceReport& report) {
    if (source.empty()) {
      ++report.empty_source;
    } else if (target.empty()) {
      ++report.empty_target;
    } else if (static_cast<int>(std::max(source.size(), target.size())) > options_.max_length) {
      ++report.too_long;
    } else {
      ++report.kept;
      report.source_tokens += static_cast<int64_t>(source.size());
      report.target_tokens += static_cast<int64_t>(target.size());
      corpus_.add(source, target);
    }
  }

  const CorpusOptions& options_;
  const Tokenizer &source_, &target_;
  int threads_;
  ParallelCorpus corpus_;
};

}  // namespace

void ParallelCorpus::add(std::span<const int32_t> source, std::span<const int32_t> target) {
  source_.add(source);
  target_.add(target);
  parts_.back().end = size();
}

ParallelCorpus read_corpus(const CorpusOptions& options, const Tokenizer& source,
                           const Tokenizer& target, CorpusReport& report) {
  validate(options);
  report = {};
  CorpusBuilder builder(options, source, target);
  for (const CorpusSource& corpus : options.sources) report.sources.push_back(builder.add(corpus));
  return builder.take();
}

}  // namespace filigree::text
