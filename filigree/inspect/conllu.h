// Parses in CoNLL-U format (universaldependencies.org/format).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "filigree/text/text_file.h"

namespace filigree::inspect {

/// A syntactic relation between two of the sentence's tokens.
struct Relation {
  int32_t dependent, head;  ///< indices of tokens
  std::string label;        ///< such as "nsubj"
};

struct Parse {
  /// As the text has them: a multiword token ("zum", 1-2) is one, and relations of its words are
  /// its own. Relations within such a token and that of the root are left out.
  std::vector<std::string> tokens;
  std::vector<Relation> relations;
};

class ConlluReader {
 public:
  explicit ConlluReader(const std::filesystem::path& file);
  /// The next sentence, or nothing at the end. Throws Error naming file and line.
  std::optional<Parse> next();
  /// The line that next() read last.
  int64_t line_number() const { return reader_.line_number(); }

 private:
  text::TextReader reader_;
};

/// How often each relation occurs, and how well a rule without attention does: always the offset
/// (head − dependent) that the relation has most often.
struct RelationTable {
  struct Row {
    int64_t count = 0;
    std::map<int32_t, int64_t> offsets;
    int32_t best_offset() const;
    double baseline() const;  ///< share of the relation at best_offset()
  };
  std::map<std::string, Row> rows;

  void add(const Parse& parse);
};

}  // namespace filigree::inspect
