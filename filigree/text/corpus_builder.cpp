#include "filigree/text/corpus_builder.h"

#include <cmath>
#include <future>

#include "filigree/base/error.h"
#include "filigree/base/progress.h"
#include "filigree/base/threads.h"

namespace filigree::text {
namespace {

// What is tokenised at once.
constexpr size_t kBlockPairs = 1 << 14, kBlockBytes = 16 << 20;

struct Block {
  std::vector<SentencePair> pairs;
  int64_t read = 0, invalid_utf8 = 0, nul_bytes = 0;
  bool last = false;
};

Block read_block(PairReader& reader) {
  Block block;
  for (size_t bytes = 0; block.pairs.size() < kBlockPairs && bytes < kBlockBytes;) {
    std::optional<SentencePair> pair = reader.next();
    if (!pair) {
      block.last = true;
      break;
    }
    ++block.read;
    if (reader.fault() == LineFault::kInvalidUtf8) {
      ++block.invalid_utf8;
    } else if (reader.fault() == LineFault::kNulByte) {
      ++block.nul_bytes;
    } else {
      bytes += pair->source.size() + pair->target.size();
      block.pairs.push_back(std::move(*pair));
    }
  }
  return block;
}

// A pair after tokenisation, and the count of the report that it goes to.
struct Judged {
  std::vector<int> source, target;
  uint64_t hash = 0;
  int64_t SourceReport::*verdict = nullptr;
};

class CorpusBuilder {
 public:
  CorpusBuilder(const CorpusOptions& options, const Tokenizer& source, const Tokenizer& target,
                PairStoreWriter& out)
      : options_(options),
        filter_(options.filters),
        source_(source),
        target_(target),
        out_(out),
        threads_(options.threads > 0 ? options.threads : usable_cores()) {}

  SourceReport add(const CorpusSource& source) {
    SourceReport report{.name = source.name()};
    PairReader reader(source, options_.bad_lines);
    // The next block is read while this one is tokenised.
    const auto read_next = [&] {
      return std::async(std::launch::async, [&] { return read_block(reader); });
    };
    auto next = read_next();
    for (bool more = true; more;) {
      const Block block = next.get();
      more = !block.last;
      if (more) next = read_next();
      report.read += block.read;
      report.invalid_utf8 += block.invalid_utf8;
      report.nul_bytes += block.nul_bytes;
      for (const Judged& pair : judge(block.pairs)) add_pair(pair, report);
      pairs_read_ += block.read;
      bar_.update(pairs_read_, fmt::format("tokenising: {} pairs", format_count(pairs_read_)));
    }
    if (report.kept == 0) {
      throw Error("{}: none of the {} pairs can be used ({})", report.name,
                  format_count(report.read), report.reasons());
    }
    return report;
  }

 private:
  std::vector<Judged> judge(const std::vector<SentencePair>& pairs) const {
    std::vector<Judged> judged(pairs.size());
    run_parallel(threads_, [&](int thread) {
      for (size_t i = static_cast<size_t>(thread); i < pairs.size();
           i += static_cast<size_t>(threads_)) {
        Judged& result = judged[i];
        result.source = source_.encode(pairs[i].source);
        result.target = target_.encode(pairs[i].target);
        result.verdict = filter_.judge(pairs[i], result.source.size(), result.target.size());
        if (options_.filters.drop_duplicates) result.hash = hash_of(pairs[i]);
      }
    });
    return judged;
  }

  void add_pair(const Judged& pair, SourceReport& report) {
    auto verdict = pair.verdict;
    if (verdict == &SourceReport::kept && options_.filters.drop_duplicates &&
        !seen_.insert(pair.hash)) {
      verdict = &SourceReport::duplicates;
    }
    ++(report.*verdict);
    if (verdict != &SourceReport::kept) return;
    report.source_tokens += static_cast<int64_t>(pair.source.size());
    report.target_tokens += static_cast<int64_t>(pair.target.size());
    out_.add(pair.source, pair.target);
  }

  const CorpusOptions& options_;
  const PairFilter filter_;
  const Tokenizer &source_, &target_;
  PairStoreWriter& out_;
  int threads_;
  HashSet seen_;
  ProgressBar bar_{0};
  int64_t pairs_read_ = 0;
};

}  // namespace

void validate(const CorpusOptions& options) {
  if (options.sources.empty()) throw UsageError("no training corpus was given");
  validate(options.filters);
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

CorpusReport build_corpus(const CorpusOptions& options, const Tokenizer& source,
                          const Tokenizer& target, PairStoreWriter& out) {
  validate(options);
  CorpusReport report;
  CorpusBuilder builder(options, source, target, out);
  for (const CorpusSource& corpus : options.sources) report.sources.push_back(builder.add(corpus));
  out.commit(report.sources);
  return report;
}

}  // namespace filigree::text
