// Which continuations stay in a beam when some phrases are required.
#pragma once

#include <map>
#include <vector>

#include "filigree/translate/candidates.h"

namespace filigree::translate {

/// The best continuations by how many tokens they still need to meet the requirements. Hypotheses
/// that have written a required token would lose against those that have not, hence banks that are
/// compared within themselves only, as in Post and Vilar (2018), "Fast Lexically Constrained
/// Decoding with Dynamic Beam Allocation". Without requirements there is one bank.
class CandidateBanks {
 public:
  /// capacity: of the beam.
  explicit CandidateBanks(int capacity) : capacity_(capacity) {}

  /// Those that need so many tokens.
  TopCandidates& bank(int tokens_needed) {
    return banks_.try_emplace(tokens_needed, capacity_).first->second;
  }

  /// The new beam, best first. Its places are given out in rounds, one to the best of every bank
  /// that is left; those that need the fewest tokens come first. Leaves the object empty.
  std::vector<Candidate> take();

 private:
  int capacity_;
  std::map<int, TopCandidates> banks_;
};

}  // namespace filigree::translate
