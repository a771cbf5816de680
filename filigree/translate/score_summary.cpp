#include "filigree/translate/score_summary.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "filigree/model/functions.h"

namespace filigree::translate {

void ScoreSummary::add(const Translation& translation) {
  const Output& output = translation.n_best.front();
  const double epsilon = model::kEpsilonMass / vocabulary_;
  ++pairs_;
  pieces_ += static_cast<int64_t>(output.token_log_probabilities.size());
  words_ += static_cast<int64_t>(text::words_of(output.text).size()) + 1;
  impossible_ += std::isinf(output.log_probability);
  log_probability_ += output.log_probability;
  for (const double value : output.token_log_probabilities) {
    epsilon_log_likelihood_ += std::log((std::exp(value) + epsilon) / (1 + model::kEpsilonMass));
  }
}

double ScoreSummary::epsilon_perplexity() const {
  return std::exp(-epsilon_log_likelihood_ / static_cast<double>(pieces_));
}

std::string ScoreSummary::text(bool with_zeros) const {
  std::string lines = fmt::format(
      "pairs               {}\n"
      "pieces              {}\n"
      "words               {}\n"
      "log-probability     {:.6f}\n"
      "cross-entropy       {:.6f}\n"
      "perplexity          {:.6f}\n"
      "word cross-entropy  {:.6f}\n"
      "word perplexity     {:.6f}\n",
      pairs_, pieces_, words_, log_probability_, cross_entropy(), std::exp(cross_entropy()),
      cross_entropy_of_words(), std::exp(cross_entropy_of_words()));
  if (with_zeros) {
    lines += fmt::format(
        "epsilon-perplexity  {:.6f}\n"
        "impossible pairs    {}\n",
        epsilon_perplexity(), impossible_);
  }
  return lines;
}

std::string ScoreSummary::json(bool with_zeros) const {
  nlohmann::ordered_json json = {{"pairs", pairs_},
                                 {"pieces", pieces_},
                                 {"words", words_},
                                 {"log_probability", log_probability_},
                                 {"cross_entropy", cross_entropy()},
                                 {"perplexity", std::exp(cross_entropy())},
                                 {"word_cross_entropy", cross_entropy_of_words()},
                                 {"word_perplexity", std::exp(cross_entropy_of_words())}};
  if (with_zeros) {
    json["epsilon_perplexity"] = epsilon_perplexity();
    json["impossible_pairs"] = impossible_;
  }
  return json.dump() + '\n';
}

}  // namespace filigree::translate
