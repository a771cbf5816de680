// The search written down as plainly as it can be: no heap, no masks in place, no early stopping,
// every rule looked up in the tokens from scratch. It takes minutes where the real one takes
// milliseconds, and must give the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "filigree/translate/hypothesis.h"
#include "tests/translate/score_table.h"

namespace filigree::translate {

using Tokens = std::vector<int>;

/// Constraints in terms of tokens alone.
struct PlainConstraints {
  std::vector<Tokens> banned;
  Tokens prefix, after_prefix;
  std::vector<RequiredPhrase> required;
};

inline bool ends_with(const Tokens& tokens, const Tokens& end) {
  return tokens.size() >= end.size() &&
         std::equal(end.begin(), end.end(), tokens.end() - end.size());
}

inline bool contains_sequence(const Tokens& tokens, const Tokens& part) {
  return std::search(tokens.begin(), tokens.end(), part.begin(), part.end()) != tokens.end();
}

/// What a model says about one source sentence.
struct PlainModel {
  int start, end, source_length;
  /// log p of every token after some tokens.
  std::function<std::vector<float>(const Tokens&)> log_probabilities;
  /// The attention to every source piece there, the mean over the heads of the last layer.
  std::function<std::vector<float>(const Tokens&)> attention;
};

inline PlainModel plain_model(const ScoreTable& table, uint64_t sentence, int source_length) {
  const auto attention = [=](const Tokens& tokens) {
    // Two layers, two heads, and </s> after the source pieces.
    const auto weights = ScoreTable::attention_of(sentence, tokens, source_length);
    const float* const first = weights.data() + 2 * (source_length + 1);
    std::vector<float> mean;
    for (int s = 0; s < source_length; ++s) {
      mean.push_back((first[s] + first[source_length + 1 + s]) / 2);
    }
    return mean;
  };
  return {ScoreTable::kStart, ScoreTable::kEnd, source_length,
          [&table, sentence](const Tokens& tokens) {
            return table.log_probabilities_of(sentence, tokens);
          },
          attention};
}

class ReferenceSearch {
 public:
  ReferenceSearch(PlainModel model, const SearchOptions& options,
                  const PlainConstraints& constraints)
      : model_(std::move(model)), options_(options), c_(constraints) {
    const int forced = static_cast<int>(c_.prefix.size()) + !c_.after_prefix.empty();
    max_length_ = std::max(options.max_length(model_.source_length), forced);
    min_length_ = options.min_length_for(model_.source_length);
    int after_forced = 0;  // Tokens needed after the worst that after_prefix can bring.
    if (c_.after_prefix.empty()) {
      after_forced = needed(c_.prefix);
    } else {
      for (const RequiredPhrase& phrase : c_.required) {
        if (!met(phrase, c_.prefix)) after_forced += shortest(phrase);
      }
    }
    dropped_ = forced + after_forced > max_length_;
    if (dropped_) c_.required.clear();
  }

  std::vector<Hypothesis> run() {
    std::vector<Item> live(1);
    std::vector<Hypothesis> finished, stranded;
    while (!live.empty()) {
      const std::vector<Item> chosen = choose(live, options_.beam_size - finished.size());
      if (chosen.empty()) {
        for (const Item& item : live) stranded.push_back(result(item, false));
      }
      live.clear();
      for (const Item& item : chosen) {
        if (item.ended) {
          finished.push_back(result(item, true));
        } else {
          live.push_back(item);
        }
      }
    }
    if (finished.empty()) finished = stranded;
    std::stable_sort(finished.begin(), finished.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.impossible, -a.score) < std::tuple(b.impossible, -b.score);
    });
    if (static_cast<int>(finished.size()) > options_.n_best) finished.resize(options_.n_best);
    return finished;
  }

 private:
  struct Item {
    Tokens tokens;
    std::vector<float> log_probabilities;
    double sum = 0;  // With the repetition penalty.
    double log_probability = 0;
    int impossible = 0, row = 0, token = 0;
    bool ended = false;
  };

  /// The continuations that make up the next beam.
  std::vector<Item> choose(const std::vector<Item>& live, size_t places) const {
    std::map<int, std::vector<Item>> banks;  // By the tokens that are still needed.
    for (size_t row = 0; row < live.size(); ++row) {
      for (Item& item : continuations(live[row], static_cast<int>(row))) {
        banks[needed(item.tokens)].push_back(std::move(item));
      }
    }
    for (auto& [needed, bank] : banks) std::sort(bank.begin(), bank.end(), better);
    std::vector<Item> chosen;
    for (size_t round = 0; round < places; ++round) {
      for (const auto& [needed, bank] : banks) {
        if (round < bank.size() && chosen.size() < places) chosen.push_back(bank[round]);
      }
    }
    std::sort(chosen.begin(), chosen.end(), better);
    return chosen;
  }

  static bool better(const Item& a, const Item& b) {
    return std::tuple(a.impossible, -a.sum, a.row, a.token) <
           std::tuple(b.impossible, -b.sum, b.row, b.token);
  }

  std::vector<Item> continuations(const Item& item, int row) const {
    const std::vector<float> scores = model_.log_probabilities(item.tokens);
    const size_t length = item.tokens.size();
    const bool forced =
        length < c_.prefix.size() || (length == c_.prefix.size() && !c_.after_prefix.empty());
    std::vector<Item> result;
    for (int token = 0; token < static_cast<int>(scores.size()); ++token) {
      if (!allowed(item.tokens, token)) continue;
      const bool possible = std::isfinite(scores[token]);
      if (possible || (!forced && wanted(item.tokens, token))) {
        result.push_back(continued(item, row, token, scores[token]));
      }
    }
    if (forced && result.empty()) {
      const Tokens choices =
          length < c_.prefix.size() ? Tokens{c_.prefix[length]} : c_.after_prefix;
      for (const int token : choices) {
        if (!allowed(item.tokens, token)) continue;
        result.push_back(continued(item, row, token, scores[token]));
        break;
      }
    }
    return result;
  }

  Item continued(Item item, int row, int token, float log_probability) const {
    item.log_probabilities.push_back(log_probability);
    const bool repeats = std::count(item.tokens.begin(), item.tokens.end(), token) > 0;
    if (std::isfinite(log_probability)) {
      item.sum += log_probability * (repeats ? options_.repetition_penalty : 1);
      item.log_probability += log_probability;
    } else {
      item.impossible += 1;
    }
    item.ended = token == model_.end;
    if (!item.ended) item.tokens.push_back(token);
    item.row = row;
    item.token = token;
    return item;
  }

  bool allowed(const Tokens& tokens, int token) const {
    const size_t length = tokens.size();
    if (length < c_.prefix.size()) return token == c_.prefix[length];
    if (forbidden(tokens, token)) return false;
    if (length == c_.prefix.size() && !c_.after_prefix.empty()) {
      return std::count(c_.after_prefix.begin(), c_.after_prefix.end(), token) > 0;
    }
    if (static_cast<int>(length) == max_length_) return token == model_.end;
    return token == model_.end ||
           needed(with(tokens, token)) <= max_length_ - static_cast<int>(length) - 1;
  }

  bool forbidden(const Tokens& tokens, int token) const {
    const auto& suppressed = options_.suppressed;
    if (token == model_.start) return true;
    if (std::count(suppressed.begin(), suppressed.end(), token) > 0) return true;
    if (token == model_.end) {
      return static_cast<int>(tokens.size()) < min_length_ || needed(tokens) > 0;
    }
    const Tokens longer = with(tokens, token);
    for (const Tokens& phrase : c_.banned) {
      if (ends_with(longer, phrase)) return true;
    }
    const auto n = static_cast<size_t>(options_.no_repeat_ngram_size);
    return n > 0 && longer.size() >= n &&
           contains_sequence(tokens, Tokens(longer.end() - static_cast<long>(n), longer.end()));
  }

  /// Whether the token begins or continues a phrase that is required and not there yet.
  bool wanted(const Tokens& tokens, int token) const {
    const Tokens longer = with(tokens, token);
    for (const RequiredPhrase& phrase : c_.required) {
      if (met(phrase, tokens)) continue;
      for (const Tokens& way : phrase) {
        for (size_t size = 1; size <= way.size(); ++size) {
          if (ends_with(longer, Tokens(way.begin(), way.begin() + static_cast<long>(size)))) {
            return true;
          }
        }
      }
    }
    return false;
  }

  int needed(const Tokens& tokens) const {
    int sum = 0, saved = 0;
    for (const RequiredPhrase& phrase : c_.required) {
      if (met(phrase, tokens)) continue;
      sum += shortest(phrase);
      for (const Tokens& way : phrase) {
        for (size_t size = 1; size < way.size(); ++size) {
          if (ends_with(tokens, Tokens(way.begin(), way.begin() + static_cast<long>(size)))) {
            saved = std::max(saved, shortest(phrase) - static_cast<int>(way.size() - size));
          }
        }
      }
    }
    return sum - saved;
  }

  static bool met(const RequiredPhrase& phrase, const Tokens& tokens) {
    return std::any_of(phrase.begin(), phrase.end(),
                       [&](const Tokens& way) { return contains_sequence(tokens, way); });
  }

  static int shortest(const RequiredPhrase& phrase) {
    size_t size = phrase[0].size();
    for (const Tokens& way : phrase) size = std::min(size, way.size());
    return static_cast<int>(size);
  }

  Tokens with(Tokens tokens, int token) const {
    if (token != model_.end) tokens.push_back(token);
    return tokens;
  }

  Hypothesis result(const Item& item, bool complete) const {
    Hypothesis hypothesis;
    hypothesis.tokens = item.tokens;
    hypothesis.token_log_probabilities = item.log_probabilities;
    hypothesis.impossible = item.impossible;
    hypothesis.log_probability = item.impossible > 0 ? -INFINITY : item.log_probability;
    hypothesis.complete = complete;
    hypothesis.has_required = !dropped_ && needed(item.tokens) == 0;
    const size_t steps = item.log_probabilities.size();
    const double length = static_cast<double>(std::max<size_t>(steps, 1));
    hypothesis.score = (item.sum - options_.word_penalty * static_cast<double>(steps)) /
                       std::pow(length, options_.length_penalty);
    if (options_.coverage_penalty > 0) {
      std::vector<float> received(model_.source_length);
      for (size_t t = 0; t < steps; ++t) {
        const Tokens before(item.tokens.begin(), item.tokens.begin() + static_cast<long>(t));
        const std::vector<float> attention = model_.attention(before);
        for (size_t s = 0; s < received.size(); ++s) received[s] += attention[s];
      }
      for (const float x : received) {
        hypothesis.coverage +=
            options_.coverage_penalty * std::log(std::max(0.01f, std::min(x, 1.0f)));
      }
      hypothesis.score += hypothesis.coverage;
    }
    return hypothesis;
  }

  PlainModel model_;
  SearchOptions options_;
  PlainConstraints c_;
  int max_length_, min_length_;
  bool dropped_ = false;
};

}  // namespace filigree::translate
