// Streams of random numbers that a training makes from its one seed.
#pragma once

#include <cstdint>

namespace filigree::train {

enum Stream : uint64_t { kInitialisation, kShuffling, kDropout };

}  // namespace filigree::train
