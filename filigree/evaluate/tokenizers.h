// The tokenizers of BLEU, each giving exactly the tokens of sacreBLEU 2.6.0. A score can be
// compared with a published one only when both used the same tokenizer.
#pragma once

#include <string>
#include <string_view>

namespace filigree::evaluate {

enum class Tokenizer {
  k13a,            ///< "13a": mteval-v13a, the default of WMT; for languages written with spaces
  kInternational,  ///< "intl": mteval-v14, splits at all Unicode punctuation and symbols
  kCharacter,      ///< "char": every character is a token
  kChinese,        ///< "zh": Chinese characters one by one, the rest as 13a
  kNone,           ///< "none": the text is tokenized already
};

/// The tokenizer's name in signatures and options.
std::string_view to_string(Tokenizer tokenizer);

/// The opposite of to_string. Throws UsageError that lists the names.
Tokenizer tokenizer_from_name(std::string_view name);

/// One segment's tokens, separated by white space (by single spaces except for "char", where white
/// space is itself joined like a token, and "none", which keeps the text). White space at the end
/// of the segment is dropped first. lowercase: full Unicode lower-casing before all else.
std::u32string tokenize(std::u32string_view segment, Tokenizer tokenizer, bool lowercase = false);

/// The same from UTF-8 to UTF-8.
std::string tokenize(std::string_view segment, Tokenizer tokenizer, bool lowercase = false);

}  // namespace filigree::evaluate
