// Writing systems: how much of a text is in the one that is expected.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace filigree::text {

/// One or more of Unicode's scripts.
class Script {
 public:
  /// By name or four-letter code, upper or lower case: Latin, Cyrillic, Grek, Arab, … Jpan is
  /// Hiragana, Katakana and Han together; Kore is Hangul and Han; Hans and Hant are Han.
  /// Throws UsageError on a name that Unicode does not know.
  explicit Script(const std::string& name);

  /// The share of letters in this script among all letters of `text` (UTF-8), or 1 when it has
  /// none. Letters that belong to no script (such as mathematical ones) do not count.
  double share_in(std::string_view text) const;

 private:
  std::vector<int> codes_;
};

}  // namespace filigree::text
