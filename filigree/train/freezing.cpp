#include "filigree/train/freezing.h"

#include <fnmatch.h>

#include "filigree/base/error.h"

namespace filigree::train {

std::set<std::string> frozen_parameters(const model::Parameters& parameters,
                                        const std::vector<std::string>& patterns) {
  std::set<std::string> frozen;
  for (const std::string& pattern : patterns) {
    bool found = false;
    for (const model::ParameterSpec& spec : parameters.specs()) {
      if (fnmatch(pattern.c_str(), spec.name.c_str(), 0) != 0) continue;
      frozen.insert(spec.name);
      found = true;
    }
    if (!found) {
      throw UsageError("--freeze: no parameter matches \"{}\"; they have names such as {} and {}",
                       pattern, parameters.specs().front().name, parameters.specs().back().name);
    }
  }
  if (frozen.size() == parameters.specs().size()) {
    throw UsageError("--freeze: leaves no parameter to train");
  }
  return frozen;
}

std::vector<Range> trained_ranges(const model::Parameters& parameters,
                                  const std::set<std::string>& frozen) {
  std::vector<Range> ranges;
  int64_t begin = 0;
  for (const model::ParameterSpec& spec : parameters.specs()) {
    const int64_t end = begin + parameters[spec.name].numel();
    if (!frozen.contains(spec.name)) {
      if (ranges.empty() || ranges.back().end != begin) ranges.push_back({begin, begin});
      ranges.back().end = end;
    }
    begin = end;
  }
  return ranges;
}

int64_t total_size(const std::vector<Range>& ranges) {
  int64_t size = 0;
  for (const Range& range : ranges) size += range.end - range.begin;
  return size;
}

}  // namespace filigree::train
