#include "filigree/translate/token_rules.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "filigree/translate/repeated_ngrams.h"

namespace filigree::translate {

TokenRules::TokenRules(const SearchOptions& options, const TargetVocabulary& vocabulary,
                       int source_length, Constraints constraints)
    : options_(&options), vocabulary_(&vocabulary), constraints_(std::move(constraints)) {
  const auto forced =
      static_cast<int>(constraints_.prefix.size()) + (constraints_.after_prefix.empty() ? 0 : 1);
  max_length_ = std::max(options.max_length(source_length), forced);
  min_length_ = options.min_length_for(source_length);
  if (constraints_.required.empty()) return;
  const RequiredPhrases& required = constraints_.required;
  const RequiredPhrases::Progress progress = required.progress(constraints_.prefix);
  const int needed = constraints_.after_prefix.empty()
                         ? required.tokens_needed(progress)
                         : required.tokens_needed_from_scratch(progress);
  dropped_ = forced + needed > max_length_;
  if (dropped_) constraints_.required = {};
}

bool TokenRules::has_required(std::span<const int> tokens) const {
  const RequiredPhrases& required = constraints_.required;
  return !dropped_ && required.tokens_needed(required.progress(tokens)) == 0;
}

TokenRules::Next TokenRules::next(std::span<const int> tokens) const {
  const std::vector<int>& prefix = constraints_.prefix;
  if (tokens.size() < prefix.size()) return {{}, std::vector<int>{prefix[tokens.size()]}, true};
  Next next{forbidden(tokens), std::nullopt, false};
  if (tokens.size() == prefix.size() && !constraints_.after_prefix.empty()) {
    next.even_if_impossible = true;
    next.only = constraints_.after_prefix;
  } else if (static_cast<int>(tokens.size()) == max_length_) {
    next.only = std::vector<int>{vocabulary_->end};
  }
  if (next.only) {
    std::erase_if(*next.only, [&](int token) {
      return std::ranges::find(next.forbidden, token) != next.forbidden.end();
    });
  }
  return next;
}

std::vector<int> TokenRules::forbidden(std::span<const int> tokens) const {
  std::vector<int> forbidden = options_->suppressed;
  forbidden.push_back(vocabulary_->start);
  if (static_cast<int>(tokens.size()) < min_length_ || (!dropped_ && !has_required(tokens))) {
    forbidden.push_back(vocabulary_->end);
  }
  if (options_->banned) options_->banned->append_completing_tokens(tokens, forbidden);
  if (options_->no_repeat_ngram_size > 0) {
    append_repeating_tokens(tokens, options_->no_repeat_ngram_size, forbidden);
  }
  return forbidden;
}

}  // namespace filigree::translate
