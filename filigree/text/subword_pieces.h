// What a SentencePiece model consists of: SentencePiece's own interface does not show all of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace filigree::text {

struct SubwordPieces {
  /// The numbers are those of the file format.
  enum class Algorithm { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };
  enum class Kind { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

  struct Piece {
    std::string text;
    float score = 0;  ///< log-probability (unigram), or higher for earlier merges (BPE)
    Kind kind = Kind::kNormal;
  };

  Algorithm algorithm = Algorithm::kUnigram;
  std::vector<Piece> pieces;  ///< by id
};

/// Reads the serialised model that Tokenizer::bytes() gives. Throws Error on one that is damaged.
SubwordPieces parse_subword_model(std::string_view bytes);

}  // namespace filigree::text
