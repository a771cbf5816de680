#include "filigree/translate/search_options.h"

#include <algorithm>
#include <cmath>

#include "filigree/base/error.h"

namespace filigree::translate {
namespace {

void check_not_negative(const char* name, double value) {
  if (!(value >= 0) || !std::isfinite(value)) {
    throw UsageError("{} {} must be a number from 0 up", name, value);
  }
}

constexpr double kLongest = 1e6;  // Of any output.

}  // namespace

void SearchOptions::check() const {
  if (beam_size < 1) throw UsageError("beam-size {} is too small: 1 is greedy search", beam_size);
  if (n_best < 1) throw UsageError("n-best {} is too small", n_best);
  if (!sampling && n_best > beam_size) {
    throw UsageError("n-best {} must lie between 1 and the beam size, {}", n_best, beam_size);
  }
  if (!std::isfinite(length_penalty)) throw UsageError("length-penalty must be a finite number");
  if (!std::isfinite(word_penalty)) throw UsageError("word-penalty must be a finite number");
  if (!(repetition_penalty >= 1) || !std::isfinite(repetition_penalty)) {
    throw UsageError("repetition-penalty {} must be a number from 1 up", repetition_penalty);
  }
  check_not_negative("coverage-penalty", coverage_penalty);
  check_not_negative("max-length-factor", max_length_factor);
  check_not_negative("max-length-offset", max_length_offset);
  check_not_negative("min-length-factor", min_length_factor);
  check_not_negative("min-length", min_length);
  check_not_negative("no-repeat-ngram-size", no_repeat_ngram_size);
  if (!(token_sampling.temperature > 0) || !std::isfinite(token_sampling.temperature)) {
    throw UsageError("temperature {} must be a number above 0", token_sampling.temperature);
  }
  check_not_negative("top-k", token_sampling.top_k);
  if (!(token_sampling.top_p > 0 && token_sampling.top_p <= 1)) {
    throw UsageError("top-p {} must lie above 0 and at most at 1", token_sampling.top_p);
  }
}

int SearchOptions::max_length(int source_length) const {
  const double length = std::floor(max_length_factor * source_length) + max_length_offset;
  return static_cast<int>(std::min(length, kLongest));
}

int SearchOptions::min_length_for(int source_length) const {
  const double length = std::max<double>(std::floor(min_length_factor * source_length), min_length);
  return static_cast<int>(std::min<double>(length, max_length(source_length)));
}

}  // namespace filigree::translate
