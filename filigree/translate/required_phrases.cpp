#include "filigree/translate/required_phrases.h"

#include <algorithm>
#include <cstddef>

namespace filigree::translate {

RequiredPhrases::RequiredPhrases(std::vector<RequiredPhrase> phrases) {
  for (RequiredPhrase& phrase : phrases) {
    size_t shortest = phrase.at(0).size();
    for (std::vector<int>& tokens : phrase) {
      shortest = std::min(shortest, tokens.size());
      ways_.push_back({static_cast<int>(shortest_.size()), std::move(tokens)});
    }
    shortest_.push_back(static_cast<int>(shortest));
  }
}

RequiredPhrases::Progress RequiredPhrases::progress(std::span<const int> tokens) const {
  Progress progress{std::vector<bool>(shortest_.size()), {}};
  for (const int token : tokens) progress = after(progress, token);
  return progress;
}

RequiredPhrases::Progress RequiredPhrases::after(const Progress& progress, int token) const {
  Progress next{progress.met, {}};
  const auto follow = [&](int way, int length) {
    const std::vector<int>& tokens = ways_[way].tokens;
    if (tokens[length] != token) return;
    next.begun.emplace_back(way, length + 1);
    if (length + 1 == static_cast<int>(tokens.size())) next.met[ways_[way].phrase] = true;
  };
  for (const auto& [way, length] : progress.begun) follow(way, length);
  for (int way = 0; way < static_cast<int>(ways_.size()); ++way) {
    if (!progress.met[ways_[way].phrase]) follow(way, 0);
  }
  std::erase_if(next.begun, [&](const auto& begun) { return next.met[ways_[begun.first].phrase]; });
  return next;
}

int RequiredPhrases::tokens_needed_from_scratch(const Progress& progress) const {
  int needed = 0;
  for (size_t i = 0; i < shortest_.size(); ++i) needed += progress.met[i] ? 0 : shortest_[i];
  return needed;
}

int RequiredPhrases::tokens_needed(const Progress& progress) const {
  int saved = 0;
  for (const auto& [way, length] : progress.begun) {
    const int left = static_cast<int>(ways_[way].tokens.size()) - length;
    saved = std::max(saved, shortest_[ways_[way].phrase] - left);
  }
  return tokens_needed_from_scratch(progress) - saved;
}

std::vector<int> RequiredPhrases::next_tokens(const Progress& progress) const {
  std::vector<int> tokens;
  for (const auto& [way, length] : progress.begun) tokens.push_back(ways_[way].tokens[length]);
  for (const Way& way : ways_) {
    if (!progress.met[way.phrase]) tokens.push_back(way.tokens[0]);
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

}  // namespace filigree::translate
