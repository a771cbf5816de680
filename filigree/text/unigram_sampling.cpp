#include <cmath>
#include <limits>
#include <unordered_map>

#include "filigree/text/segmenter.h"

namespace filigree::text {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b))
double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNever ? a : a + std::log1p(std::exp(b - a));
}

// All pieces as a tree over their bytes.
class PieceTree {
 public:
  explicit PieceTree(const SubwordPieces& model) {
    for (size_t id = 0; id < model.pieces.size(); ++id) {
      if (model.pieces[id].kind != SubwordPieces::Kind::kNormal) continue;
      uint32_t node = 0;
      for (const char byte : model.pieces[id].text) {
        const auto [place, is_new] =
            children_.try_emplace(edge(node, byte), static_cast<uint32_t>(ids_.size()));
        if (is_new) ids_.push_back(-1);
        node = place->second;
      }
      ids_[node] = static_cast<int32_t>(id);
    }
  }

  /// Calls visit(bytes, id) for every piece that `text` begins with.
  template <typename Visit>
  void prefixes(std::string_view text, Visit visit) const {
    uint32_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const auto child = children_.find(edge(node, text[i]));
      if (child == children_.end()) return;
      node = child->second;
      if (ids_[node] >= 0) visit(i + 1, ids_[node]);
    }
  }

 private:
  static uint64_t edge(uint32_t node, char byte) {
    return static_cast<uint64_t>(node) << 8 | static_cast<unsigned char>(byte);
  }
  std::unordered_map<uint64_t, uint32_t> children_;
  std::vector<int32_t> ids_ = {-1};  // by node; -1: no piece ends here
};

class UnigramSampling : public Segmenter {
 public:
  UnigramSampling(const SubwordPieces& model, double alpha)
      : model_(model), alpha_(alpha), tree_(model) {}

  std::vector<int32_t> sample(std::string_view text, Random& random) const override {
    struct Edge {
      size_t begin;
      int32_t id;
      double weight;  // log of the sum over all segmentations that end with it
    };
    // By where a piece ends. All paths up to a place together have the log-weight `forward`.
    std::vector<std::vector<Edge>> ending(text.size() + 1);
    std::vector<double> forward(text.size() + 1, kNever);
    forward[0] = 0;
    for (size_t begin = 0; begin < text.size(); ++begin) {
      if (forward[begin] == kNever) continue;
      tree_.prefixes(text.substr(begin), [&](size_t size, int32_t id) {
        const double score = model_.pieces[static_cast<size_t>(id)].score;
        const double weight = forward[begin] + alpha_ * score;
        ending[begin + size].push_back({begin, id, weight});
        forward[begin + size] = log_add(forward[begin + size], weight);
      });
    }
    if (forward.back() == kNever) return {};
    std::vector<int32_t> ids;
    for (size_t end = text.size(); end > 0;) {
      double rest = random.uniform();
      const Edge* chosen = nullptr;
      for (const Edge& edge : ending[end]) {
        chosen = &edge;  // The last one when rounding leaves a rest.
        rest -= std::exp(edge.weight - forward[end]);
        if (rest < 0) break;
      }
      ids.push_back(chosen->id);
      end = chosen->begin;
    }
    return {ids.rbegin(), ids.rend()};
  }

 private:
  const SubwordPieces& model_;
  double alpha_;
  PieceTree tree_;
};

}  // namespace

std::unique_ptr<Segmenter> make_unigram_sampling(const SubwordPieces& model, double alpha) {
  return std::make_unique<UnigramSampling>(model, alpha);
}

}  // namespace filigree::text
