// Drawing the next token at random.
#pragma once

#include <span>

namespace filigree::translate {

/// How the distribution of the next token is changed before it is drawn from: first the
/// temperature, then top-k, then top-p, each on what the one before has left.
struct TokenSampling {
  double temperature =
      1;          ///< p(token)^(1 / temperature); towards 0 the best token, above 1 flatter
  int top_k = 0;  ///< only the k most probable tokens; 0: all
  /// Only the most probable tokens, as few as have together at least this probability ("nucleus",
  /// Holtzman et al., 2020).
  double top_p = 1;
};

/// The token to which `uniform`, in [0, 1), leads: one with p = exp(score) up to a common factor,
/// changed as `sampling` says. −inf is a probability of zero, and such a token is never drawn; −1
/// when there is no other. Of equal scores the lower token counts as the more probable.
int sample_token(std::span<const float> scores, const TokenSampling& sampling, double uniform);

}  // namespace filigree::translate
