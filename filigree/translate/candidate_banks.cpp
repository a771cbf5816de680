#include "filigree/translate/candidate_banks.h"

#include <algorithm>
#include <cstddef>

namespace filigree::translate {

std::vector<Candidate> CandidateBanks::take() {
  std::vector<std::vector<Candidate>> queues;
  for (auto& [needed, bank] : banks_) queues.push_back(bank.take());
  banks_.clear();
  if (queues.size() == 1) return std::move(queues[0]);

  std::vector<Candidate> beam;
  const auto full = [&] { return beam.size() == static_cast<size_t>(capacity_); };
  for (size_t round = 0; !full(); ++round) {
    const size_t before = beam.size();
    for (const std::vector<Candidate>& queue : queues) {
      if (round < queue.size() && !full()) beam.push_back(queue[round]);
    }
    if (beam.size() == before) break;
  }
  std::sort(beam.begin(), beam.end(), better);
  return beam;
}

}  // namespace filigree::translate
