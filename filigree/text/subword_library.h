// SentencePiece behind an interface, loaded at run time with its own symbols kept to itself.
//
// SentencePiece and LibTorch each bring a copy of Protocol Buffers, of different versions and under
// the same names. Linked into one program the loader would mix the two up, and the program crashes
// before main(). So all use of SentencePiece stands in one loadable module, opened such that it
// sees its own copy first and nobody else sees it at all.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "filigree/text/words.h"

namespace filigree::text {

/// A loaded SentencePiece model; const methods may be called from several threads.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;
  virtual int size() const = 0;
  /// Ids of the special pieces; -1 where the model has none.
  virtual int pad() const = 0;
  virtual int unk() const = 0;
  virtual int bos() const = 0;
  virtual int eos() const = 0;
  virtual int id_of(const std::string& piece) const = 0;
  virtual std::string piece(int id) const = 0;
  /// An error message, empty on success.
  virtual std::string encode(std::string_view line, std::vector<int>& ids) const = 0;
  virtual std::string decode(const std::vector<int>& ids, std::string& line) const = 0;
  /// The same with the bytes of the line that every piece stands for.
  virtual std::string encode(std::string_view line, std::vector<int>& ids,
                             std::vector<Range>& places) const = 0;
  virtual std::string decode(const std::vector<int>& ids, std::string& line,
                             std::vector<Range>& places) const = 0;
};

/// What the module offers.
struct SubwordLibrary {
  /// A model from its serialised form; null when it is damaged.
  std::unique_ptr<SubwordModel> (*load)(const std::string& bytes);
  /// Trains on lines with SentencePiece's own argument names; the model goes to `bytes`. Returns an
  /// error message, empty on success.
  std::string (*train)(const std::unordered_map<std::string, std::string>& arguments,
                       const std::vector<std::string>& lines, std::string& bytes);
};

/// Loads the module on first use: from beside the program, from lib/filigree next to its folder, or
/// from where it was installed or built. Throws Error when it is in none of these places.
const SubwordLibrary& subword_library();

}  // namespace filigree::text
