// An evaluation as a whole: several metrics for one system, or for several systems compared with
// the first. `filigree evaluate` is this and an option parser.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "filigree/evaluate/bleu.h"
#include "filigree/evaluate/chrf.h"
#include "filigree/evaluate/significance.h"

namespace filigree::evaluate {

struct EvaluateOptions {
  /// Of "bleu", "chrf", "chrf++" (chrf with word n-grams up to 2) and, for lines of links instead
  /// of text, "aer"; each at most once.
  std::vector<std::string> metrics = {"bleu", "chrf"};
  BleuOptions bleu = {};
  ChrfOptions chrf = {};
  int first_word = 0;  ///< what the gold alignment counts words from, 0 or 1
  /// Adds a confidence interval to the scores of a single system. Several systems always get
  /// confidence intervals and, but for the first, paired tests against the first.
  bool confidence = false;
  Resampling resampling = {};
};

/// One system's output.
struct System {
  std::string name;
  Segments segments;
};

struct MetricResult {
  std::string name;
  double score = 0;     ///< in percent
  std::string details;  ///< see Metric::details
  Fields signature;     ///< see signature_fields
  std::optional<ConfidenceInterval> confidence = {};
  std::optional<double> p_value = {};  ///< of the paired test against the first system
};

struct SystemResult {
  std::string system;
  std::vector<MetricResult> metrics;
};

struct Report {
  std::vector<SystemResult> systems;
  /// What makes the scores doubtful, one line each; for the log.
  std::vector<std::string> warnings;
};

/// Scores of each segment, in percent: scores[segment][metric].
struct SentenceReport {
  std::vector<std::string> names;
  std::vector<std::vector<double>> scores;
};

/// Throws UsageError on bad options or when there is no system, Error as check_sizes does with the
/// system's name in front.
Report evaluate(const std::vector<System>& systems, const References& references,
                const EvaluateOptions& options = {});

/// BLEU is computed with effective order, as in sentence_bleu. Confidence does not apply.
SentenceReport evaluate_sentences(const System& system, const References& references,
                                  const EvaluateOptions& options = {});

/// One segment per line, plain or gzip, "-" for standard input; white space at the end of a line is
/// dropped. Throws Error naming file and line when the text is not UTF-8.
Segments read_segments(const std::filesystem::path& path);

/// A system named after its file.
System read_system(const std::filesystem::path& path);

/// read_segments for each file. Throws Error naming two files with different numbers of lines.
References read_references(const std::vector<std::filesystem::path>& paths);

struct ReportFormat {
  int width = 2;            ///< decimal places
  bool score_only = false;  ///< text without names, signatures and details
};

/// Lines to print, each ended. One system: a line per metric as sacreBLEU prints it. Several: a
/// table, the signatures under it.
std::string to_text(const Report& report, const ReportFormat& format = {});
/// A line per segment, the scores separated by tabs.
std::string to_text(const SentenceReport& report, const ReportFormat& format = {});

/// A JSON list. One system: an object per metric with the keys of sacreBLEU's (name, score,
/// signature, confidence_mean, confidence_var and confidence where asked for, verbose_score where
/// there are details, and each field of the signature). Several: an object per system with the key
/// "system" and, under each metric's name, score, p_value, mean, ci (null where absent) and
/// signature; numbers in full there.
std::string to_json(const Report& report, const ReportFormat& format = {});
/// A JSON object per line and segment, scores by metric name.
std::string to_json(const SentenceReport& report, const ReportFormat& format = {});

}  // namespace filigree::evaluate
