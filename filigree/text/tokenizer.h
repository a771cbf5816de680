// Raw text to subword ids and back: a SentencePiece model.
//
// Kudo and Richardson (2018), "SentencePiece: A simple and language independent subword tokenizer
// and detokenizer for Neural Text Processing".
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "filigree/text/words.h"

namespace filigree::text {

/// The special ids of every tokenizer that train_tokenizer() makes. A tokenizer from elsewhere has
/// its own; ask Tokenizer::pad() and so on.
inline constexpr int kPad = 0, kUnk = 1, kBos = 2, kEos = 3;

/// A text and its pieces. places[i] are the bytes of `text` that piece i stands for, in ascending
/// order, with the space in front of a word that its first piece brings along. Where a character is
/// written in several pieces (bytes, or parts that normalisation took it apart into), it is the
/// last one's and the others are empty; characters that normalisation puts together, such as a
/// letter and its combining accent, are one place.
struct PlacedPieces {
  std::string text;
  std::vector<int> ids;
  std::vector<Range> places;
};

/// A SentencePiece model. Copies share it; every method may be called from several threads.
class Tokenizer {
 public:
  /// Reads a SentencePiece model (*.spm, *.model). Models made elsewhere often lack <pad>, and some
  /// <s>; what is missing of <pad>, <s> and </s> is added at the end of the vocabulary, so that the
  /// ids of the other pieces stay as they are.
  /// Throws Error when the file is missing or not a SentencePiece model.
  static Tokenizer load(const std::filesystem::path& path);

  /// The same from a model in memory; `name` stands for it in errors.
  static Tokenizer from_bytes(std::string bytes, const std::string& name);

  /// The ids of a line, without <s> and </s>. Characters outside the vocabulary become <unk>, or
  /// their UTF-8 bytes in a model trained with byte fallback. An empty or blank line has no ids.
  std::vector<int> encode(std::string_view line) const;

  /// The text of ids; <pad>, <s> and </s> are left out, <unk> becomes " ⁇ ".
  /// Throws Error on an id outside the vocabulary.
  std::string decode(const std::vector<int>& ids) const;

  /// encode() and decode() with the place of every piece: in the line as it was given, before
  /// normalisation, or in the text that was decoded. </s> and the like have empty places.
  PlacedPieces encode_with_places(std::string_view line) const;
  PlacedPieces decode_with_places(const std::vector<int>& ids) const;

  /// A piece as SentencePiece writes it, with '▁' for a space.
  /// Throws Error on an id outside the vocabulary.
  std::string piece(int id) const;

  /// The number of pieces; ids are 0 … size() − 1.
  int size() const;
  int pad() const;
  int unk() const;
  int bos() const;
  int eos() const;

  /// The model as it is written to a file.
  const std::string& bytes() const;

 private:
  struct Model;
  /// `ids` without <pad>, <s> and </s>.
  std::vector<int> pieces_of_text(const std::vector<int>& ids) const;
  explicit Tokenizer(std::shared_ptr<const Model> model);
  std::shared_ptr<const Model> model_;
};

/// How a tokenizer is trained.
struct TokenizerOptions {
  int vocab_size = 8000;                   ///< pieces, special ones included
  std::string model_type = "bpe";          ///< bpe or unigram
  bool byte_fallback = false;              ///< 256 more pieces, so that no character is unknown
  double character_coverage = 1.0;         ///< share of the text's characters that become pieces
  std::string normalization = "nmt_nfkc";  ///< SentencePiece's: [nmt_]nfkc[_cf] or identity
  int64_t max_sentences = 2'000'000;       ///< of more lines a random sample of this size is used
  int threads = 0;    ///< 0: 16, whatever the machine, since a unigram model depends on the number
  uint64_t seed = 1;  ///< of the sample
};

/// Throws UsageError naming the first field that is out of range.
void validate(const TokenizerOptions& options);

/// Puts the next line into its argument; false at the end.
using LineSource = std::function<bool(std::string& line)>;

/// Trains a tokenizer on lines of text. The same lines and options give the same model.
/// When the text is too small for `vocab_size` pieces, the model has fewer and a warning says so.
/// Throws Error when there is no text, and when `vocab_size` cannot hold the text's characters.
Tokenizer train_tokenizer(const LineSource& lines, const TokenizerOptions& options);
Tokenizer train_tokenizer(const std::vector<std::string>& lines, const TokenizerOptions& options);

}  // namespace filigree::text
