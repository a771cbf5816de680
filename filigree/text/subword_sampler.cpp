#include "filigree/text/subword_sampler.h"

#include <cmath>
#include <string>

#include "filigree/base/error.h"
#include "filigree/text/segmenter.h"

namespace filigree::text {

struct SubwordSampler::Tables {
  SubwordPieces model;
  std::unique_ptr<Segmenter> segmenter;
};

SubwordSampler::SubwordSampler(const Tokenizer& tokenizer, double alpha) {
  auto tables = std::make_shared<Tables>();
  tables->model = parse_subword_model(tokenizer.bytes());
  switch (tables->model.algorithm) {
    case SubwordPieces::Algorithm::kUnigram:
      if (!std::isfinite(alpha) || alpha <= 0) {
        throw UsageError("alpha of a unigram vocabulary must be above 0, got {}", alpha);
      }
      tables->segmenter = make_unigram_sampling(tables->model, alpha);
      break;
    case SubwordPieces::Algorithm::kBpe:
      if (!(alpha >= 0 && alpha <= 1)) {
        throw UsageError("alpha of a BPE vocabulary must be between 0 and 1, got {}", alpha);
      }
      tables->segmenter = make_bpe_dropout(tables->model, alpha);
      break;
    default:
      throw UsageError("only bpe and unigram vocabularies have other segmentations to sample");
  }
  tables_ = std::move(tables);
}

std::vector<int32_t> SubwordSampler::sample(std::span<const int32_t> ids, uint64_t key) const {
  Random random(key);
  std::vector<int32_t> sampled;
  for (size_t i = 0; i < ids.size();) {
    // As many ordinary pieces in a row as there are: their texts are the normalised text.
    std::string text;
    const size_t begin = i;
    for (; i < ids.size(); ++i) {
      const SubwordPieces::Piece& piece = tables_->model.pieces.at(static_cast<size_t>(ids[i]));
      if (piece.kind != SubwordPieces::Kind::kNormal) break;
      text += piece.text;
    }
    const std::vector<int32_t> other = tables_->segmenter->sample(text, random);
    if (other.empty()) {
      sampled.insert(sampled.end(), ids.begin() + static_cast<std::ptrdiff_t>(begin),
                     ids.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      sampled.insert(sampled.end(), other.begin(), other.end());
    }
    if (i < ids.size()) sampled.push_back(ids[i++]);
  }
  return sampled;
}

}  // namespace filigree::text
