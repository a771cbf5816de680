// Numbers and dates in words, by the rules of ICU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace filigree::text {

/// Spells in one language. One thread at a time.
class SpellOut {
 public:
  /// language: an ISO 639-1 code, such as "en". Throws Error when ICU has no rules for it.
  explicit SpellOut(const std::string& language);
  ~SpellOut();

  /// "three hundred forty-two", "dreihundertzweiundvierzig", "三百四十二"
  std::string number(int64_t value) const;

  /// The full form of a day counted from 1 January 1970: "Friday, June 13, 2008".
  std::string date(int64_t day) const;

 private:
  struct Rules;
  std::unique_ptr<Rules> rules_;
};

}  // namespace filigree::text
