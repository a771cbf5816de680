// Inspecting one or more models on a text: statistics, roles and sentences to show. Streams the
// text, so that memory does not grow with it (but for the counts of its words).
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filigree/inspect/bootstrap.h"
#include "filigree/inspect/examples.h"
#include "filigree/inspect/input.h"
#include "filigree/inspect/roles.h"
#include "filigree/inspect/statistics.h"

namespace filigree::inspect {

struct InspectOptions {
  std::vector<std::filesystem::path> models;  ///< the first is compared with the others
  InputFiles input;
  /// Instead of the files, of which `input.source` only names them then.
  std::vector<InputSentence> sentences;
  QuestionWords question_words = english_question_words();
  int samples = 1000;  ///< resampled texts of the confidence intervals
  uint64_t seed = 1;
  int shown_sentences = 0;  ///< sentences to keep whole, besides the examples of roles
  int threads = 1;
  bool progress = false;
  /// Gets the attention of every sentence of the first model as a line of JSON. May be empty.
  std::function<void(std::string_view)> write_attention;
};

/// A sentence kept for a reader to look into.
struct ShownSentence {
  int64_t line;
  Tokens source, target;
  SentenceAttention attention;
};

struct ModelInspection {
  std::string name;  ///< the last part of the directory, made unique
  std::filesystem::path directory;
  model::ModelConfig config;
  std::array<std::vector<std::vector<double>>, 3> alpha;  ///< by block, [layer][head]
  Statistics statistics;
  Bootstrap bootstrap;
  /// By block, [layer][head]: the roles of each head, the clearest first.
  std::array<std::vector<std::vector<std::vector<Role>>>, 3> roles;
  std::vector<ShownSentence> shown;
};

struct Inspection {
  InputFiles input;
  std::vector<ModelInspection> models;
  RelationTable relations;
  int64_t passed_over = 0;  ///< lines without pieces or with more than kLongestSentence
  int samples = 0;
};

inline constexpr int kLongestSentence = 512;

/// What is resampled, in the order of Bootstrap::add(): density, entropy and JS of every layer.
enum class Headline { kDensity, kEntropy, kJs };
inline constexpr std::array kHeadlines = {Headline::kDensity, Headline::kEntropy, Headline::kJs};
/// The place of a layer's quantity.
size_t headline_index(const model::ModelConfig& config, AttentionBlock block, size_t layer,
                      Headline what);

/// Throws Error in one line on files or models that are wrong, and when no line can be inspected.
Inspection inspect(const InspectOptions& options);

}  // namespace filigree::inspect
