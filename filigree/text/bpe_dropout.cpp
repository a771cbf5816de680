#include <unicode/utf8.h>

#include <queue>
#include <unordered_map>

#include "filigree/text/segmenter.h"

namespace filigree::text {
namespace {

// A piece of the text so far, in a list of neighbours; empty when it was merged into its left one.
struct Symbol {
  std::string_view text;
  int left, right;
};

// Two neighbours that make a piece. It is out of date once one of them has changed its length.
struct Merge {
  float score;
  int left, right;
  size_t size;

  bool operator<(const Merge& other) const {  // the greatest comes first
    if (score != other.score) return score < other.score;
    return left > other.left;
  }
};

class BpeDropout : public Segmenter {
 public:
  BpeDropout(const SubwordPieces& model, double dropout) : model_(model), dropout_(dropout) {
    for (size_t id = 0; id < model.pieces.size(); ++id) {
      if (model.pieces[id].kind == SubwordPieces::Kind::kNormal) {
        ids_.emplace(model.pieces[id].text, static_cast<int32_t>(id));
      }
    }
  }

  std::vector<int32_t> sample(std::string_view text, Random& random) const override {
    std::vector<Symbol> symbols = characters(text);
    std::priority_queue<Merge> merges;
    for (int i = 1; i < static_cast<int>(symbols.size()); ++i) propose(symbols, i - 1, i, merges);
    while (!merges.empty()) {
      const Merge merge = merges.top();
      merges.pop();
      Symbol& left = symbols[static_cast<size_t>(merge.left)];
      Symbol& right = symbols[static_cast<size_t>(merge.right)];
      if (left.text.empty() || right.text.empty() ||
          left.text.size() + right.text.size() != merge.size) {
        continue;
      }
      if (random.uniform() < dropout_) continue;
      left.text = {left.text.data(), merge.size};
      right.text = {};
      left.right = right.right;
      if (left.right >= 0) symbols[static_cast<size_t>(left.right)].left = merge.left;
      propose(symbols, left.left, merge.left, merges);
      propose(symbols, merge.left, left.right, merges);
    }
    std::vector<int32_t> ids;
    for (const Symbol& symbol : symbols) {
      if (symbol.text.empty()) continue;
      const auto found = ids_.find(symbol.text);
      if (found == ids_.end()) return {};
      ids.push_back(found->second);
    }
    return ids;
  }

 private:
  static std::vector<Symbol> characters(std::string_view text) {
    std::vector<Symbol> symbols;
    const auto size = static_cast<int64_t>(text.size());
    for (int64_t i = 0; i < size;) {
      const int64_t begin = i;
      U8_FWD_1(text.data(), i, size);
      const int number = static_cast<int>(symbols.size());
      symbols.push_back({text.substr(static_cast<size_t>(begin), static_cast<size_t>(i - begin)),
                         number - 1, i < size ? number + 1 : -1});
    }
    return symbols;
  }

  void propose(const std::vector<Symbol>& symbols, int left, int right,
               std::priority_queue<Merge>& merges) const {
    if (left < 0 || right < 0) return;
    const std::string_view first = symbols[static_cast<size_t>(left)].text,
                           second = symbols[static_cast<size_t>(right)].text;
    const auto found = ids_.find(std::string_view(first.data(), first.size() + second.size()));
    if (found == ids_.end()) return;
    merges.push({model_.pieces[static_cast<size_t>(found->second)].score, left, right,
                 first.size() + second.size()});
  }

  const SubwordPieces& model_;
  double dropout_;
  std::unordered_map<std::string_view, int32_t> ids_;
};

}  // namespace

std::unique_ptr<Segmenter> make_bpe_dropout(const SubwordPieces& model, double dropout) {
  return std::make_unique<BpeDropout>(model, dropout);
}

}  // namespace filigree::text
