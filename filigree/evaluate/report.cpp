#include "filigree/evaluate/report.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/evaluate/alignment_error.h"
#include "filigree/evaluate/unicode.h"

namespace filigree::evaluate {
namespace {

// As many segments that end in a separate full stop are hardly an accident.
constexpr int64_t kTokenizedSegments = 100;

std::unique_ptr<Metric> make_metric(const std::string& name, const EvaluateOptions& options) {
  if (name == "bleu") return std::make_unique<Bleu>(options.bleu);
  if (name == "chrf") return std::make_unique<Chrf>(options.chrf);
  if (name == "chrf++") {
    ChrfOptions chrf = options.chrf;
    chrf.word_order = kChrfPlusPlus.word_order;
    return std::make_unique<Chrf>(chrf);
  }
  if (name == "aer") return std::make_unique<AlignmentErrorRate>(options.first_word);
  throw UsageError("unknown metric '{}': use bleu, chrf, chrf++ or aer", name);
}

std::vector<std::unique_ptr<Metric>> make_metrics(const EvaluateOptions& options) {
  if (options.metrics.empty()) throw UsageError("no metric given: use bleu, chrf or chrf++");
  std::vector<std::unique_ptr<Metric>> metrics;
  for (const auto& name : options.metrics) {
    auto metric = make_metric(name, options);
    for (const auto& other : metrics) {
      if (other->name() == metric->name()) {
        throw UsageError("metric {} is asked for twice", metric->name());
      }
    }
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

SegmentCounts count(const Metric& metric, const System& system, const References& references) {
  try {
    return count_segments(metric, system.segments, references);
  } catch (const Error& error) {
    throw Error("{}: {}", system.name, error.what());
  }
}

bool looks_tokenized(const System& system) {
  return std::count_if(system.segments.begin(), system.segments.end(), [](const auto& segment) {
           return segment.ends_with(" .");
         }) >= kTokenizedSegments;
}

// Counts and resampled scores of one system under one metric, kept for the comparison.
struct Measured {
  MetricResult result;
  std::vector<double> resampled;
};

Measured measure(const Metric& metric, const System& system, const References& references,
                 const std::optional<Resampling>& resampling) {
  const SegmentCounts counts = count(metric, system, references);
  const auto sums = counts.sum();
  Measured measured;
  measured.result = {.name = metric.name(),
                     .score = metric.score(sums),
                     .details = metric.details(sums),
                     .signature = signature_fields(metric, references.size(), resampling)};
  if (resampling) {
    measured.resampled = bootstrap_scores(metric, counts, *resampling);
    measured.result.confidence = confidence_interval(measured.resampled);
  }
  return measured;
}

}  // namespace

Report evaluate(const std::vector<System>& systems, const References& references,
                const EvaluateOptions& options) {
  const auto metrics = make_metrics(options);
  if (systems.empty()) throw UsageError("no system output to evaluate");
  Report report;
  for (const auto& system : systems) {
    report.systems.push_back({system.name, {}});
    const bool uses_bleu = std::count(options.metrics.begin(), options.metrics.end(), "bleu") > 0;
    if (uses_bleu && options.bleu.tokenizer != Tokenizer::kNone && looks_tokenized(system)) {
      report.warnings.push_back(fmt::format(
          "{}: {} or more segments end in ' .'; BLEU expects text that is not tokenized",
          system.name, kTokenizedSegments));
    }
  }
  std::optional<Resampling> resampling;
  if (options.confidence || systems.size() > 1) resampling = options.resampling;
  for (const auto& metric : metrics) {
    Measured baseline;
    for (size_t i = 0; i < systems.size(); ++i) {
      Measured measured = measure(*metric, systems[i], references, resampling);
      if (i > 0) {
        measured.result.p_value =
            paired_p_value(std::abs(measured.result.score - baseline.result.score),
                           measured.resampled, baseline.resampled);
      }
      report.systems[i].metrics.push_back(measured.result);
      if (i == 0) baseline = std::move(measured);
    }
  }
  return report;
}

SentenceReport evaluate_sentences(const System& system, const References& references,
                                  const EvaluateOptions& options) {
  EvaluateOptions sentence_options = options;
  sentence_options.bleu.effective_order = true;
  const auto metrics = make_metrics(sentence_options);
  SentenceReport report;
  report.scores.resize(system.segments.size());
  for (const auto& metric : metrics) {
    report.names.push_back(metric->name());
    const SegmentCounts counts = count(*metric, system, references);
    for (size_t i = 0; i < counts.segments(); ++i) {
      report.scores[i].push_back(metric->score(counts.row(i)));
    }
  }
  return report;
}

Segments read_segments(const std::filesystem::path& path) {
  Segments segments;
  LineReader reader(path);
  while (const auto line = reader.next()) {
    if (!is_valid_utf8(*line)) {
      throw Error("{}: line {}: not valid UTF-8; convert the file first",
                  path == "-" ? "standard input" : path.string(), reader.line_number());
    }
    segments.push_back(encode_utf8(strip_end(decode_utf8(*line))));
  }
  return segments;
}

System read_system(const std::filesystem::path& path) {
  return {path == "-" ? "standard input" : path.string(), read_segments(path)};
}

References read_references(const std::vector<std::filesystem::path>& paths) {
  References references;
  for (const auto& path : paths) {
    references.push_back(read_segments(path));
    if (references.back().size() != references.front().size()) {
      throw Error("{}: {} lines, but {} has {}; references must pair up line by line",
                  path.string(), references.back().size(), paths.front().string(),
                  references.front().size());
    }
  }
  return references;
}

}  // namespace filigree::evaluate
