// A look at the training and validation pairs for what usually goes wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "filigree/model/model_directory.h"
#include "filigree/text/pair_store.h"
#include "filigree/train/corpora.h"

namespace filigree::train {

struct DataChecks {
  int64_t pairs = 0;                              ///< looked at
  double unknown_source = 0, unknown_target = 0;  ///< shares of pieces that are <unk>
  double identical = 0;                           ///< share of pairs whose two sides are the same
  int64_t validation_pairs = 0, known_pairs = 0;  ///< the latter are in the training pairs as well
  bool validation_swapped = false;  ///< its sources resemble the training targets, and vice versa
};

/// Looks at `most_pairs` training pairs, evenly spread, and at all validation pairs (may be null).
/// What compares the two sides needs a shared vocabulary; without one it finds nothing.
DataChecks check_data(const text::PairStore& store, const model::Tokenizers& tokenizers,
                      bool shared_vocabulary, const ValidationSet* validation,
                      int64_t most_pairs = 200'000);

/// One line for each thing that looks wrong.
std::vector<std::string> warnings(const DataChecks& checks);

}  // namespace filigree::train
