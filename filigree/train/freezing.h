// Which parameters a training leaves as they are.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "filigree/model/parameters.h"

namespace filigree::train {

/// A part of the flat buffer of parameters.
struct Range {
  int64_t begin, end;
  bool operator==(const Range&) const = default;
};

/// The names that match any of the shell patterns of --freeze, in which * stands for any text, dots
/// included. Throws UsageError naming a pattern that matches none, and when nothing is left to
/// train.
std::set<std::string> frozen_parameters(const model::Parameters& parameters,
                                        const std::vector<std::string>& patterns);

/// What the others take of the flat buffer, in order; neighbours are one range.
std::vector<Range> trained_ranges(const model::Parameters& parameters,
                                  const std::set<std::string>& frozen);

/// How many numbers that is.
int64_t total_size(const std::vector<Range>& ranges);

}  // namespace filigree::train
