#include "filigree/inspect/measures.h"

#include <algorithm>
#include <cmath>

namespace filigree::inspect {
namespace {

using Row = std::span<const SparseAttention::Entry>;

double weight_of(Row row, int32_t key) {
  const auto found = std::lower_bound(row.begin(), row.end(), key,
                                      [](const auto& entry, int32_t k) { return entry.key < k; });
  return found != row.end() && found->key == key ? found->weight : 0;
}

double mass_on(Row row, const std::vector<bool>& keys) {
  double mass = 0;
  for (const auto& [key, weight] : row) mass += keys[static_cast<size_t>(key)] ? weight : 0;
  return mass;
}

void measure_row(HeadStatistics& s, Row row, int32_t visible) {
  // Of a row with a single key there is nothing to measure but that it is dense.
  const double h = entropy(row);
  s[Measure::kEntropy].add(h);
  if (visible > 1) s[Measure::kRelativeEntropy].add(h / std::log(visible));
  if (!row.empty()) ++s.support[std::min(row.size(), kSupportBins) - 1];
}

void measure_offsets(HeadStatistics& s, Row row, int32_t query, int32_t visible) {
  for (int32_t offset = -2; offset <= 2; ++offset) {
    const int32_t key = query + offset;
    if (key < 0 || key >= visible) continue;
    const auto first = static_cast<size_t>(Measure::kTwoBefore);
    s.means[first + static_cast<size_t>(offset + 2)].add(weight_of(row, key));
  }
}

// The word of a query, in self-attention.
void measure_own_word(HeadStatistics& s, const SparseAttention& attention, const Tokens& tokens) {
  for (const std::vector<int32_t>& pieces : tokens.pieces_of_words()) {
    double most = 0;
    for (const int32_t query : pieces) {
      double own = 0, others = 0;
      for (const int32_t key : pieces) {
        const double weight = weight_of(attention.row(query), key);
        own += weight;
        if (key != query || pieces.size() == 1) others += weight;
      }
      s[Measure::kOwnWord].add(own);
      most = std::max(most, others);
    }
    s[Measure::kWordPieces].add(most);
  }
}

}  // namespace

const std::array<MeasureDescription, kMeasureCount>& measure_descriptions() {
  static constexpr std::array<MeasureDescription, kMeasureCount> kDescriptions = {{
      {Measure::kDensity, "density",
       "Weights above zero, of all (query, key) pairs that are not masked, over all sentences: Σ "
       "|source|² for the encoder, Σ |target| |source| for cross-attention, Σ |target| (|target| + "
       "1) / 2 for the decoder, end and start marks included."},
      {Measure::kEntropy, "entropy",
       "Mean over queries of −Σ p log p, in nats: 0 when a query looks at one token alone."},
      {Measure::kRelativeEntropy, "relative_entropy",
       "Mean over queries of the entropy divided by the log of the number of keys: 1 is uniform. "
       "Queries with a single key are left out."},
      {Measure::kTwoBefore, "offset_minus_2",
       "Mean weight on the token two before the query, over the queries that have one."},
      {Measure::kPrevious, "offset_minus_1",
       "Mean weight on the previous token, over the queries that have one."},
      {Measure::kSame, "offset_0", "Mean weight on the token at the query's own position."},
      {Measure::kNext, "offset_plus_1",
       "Mean weight on the next token, over the queries that have one."},
      {Measure::kTwoAfter, "offset_plus_2",
       "Mean weight on the token two after the query, over the queries that have one."},
      {Measure::kOwnWord, "own_word",
       "Mean share of its weight that a piece puts on the pieces of its own word, itself "
       "included."},
      {Measure::kWordPieces, "word_pieces",
       "Mean over words of the largest share that any of the word's pieces puts on the word's "
       "other pieces; for a word of one piece, on itself (the paper's BPE-merging score)."},
      {Measure::kMark, "mark",
       "Mean weight on the mark that ends a source (</s>) or starts a decoder's input (<s>)."},
      {Measure::kPunctuation, "punctuation", "Mean weight on punctuation pieces."},
      {Measure::kRare, "rare_words",
       "Mean weight on the two words of the source sentence that are rarest in this text, in "
       "sentences of three words or more."},
      {Measure::kQuestion, "question_mark",
       "Mean weight that the pieces of question words put on a question mark at the sentence's "
       "end."},
      {Measure::kCoverage, "coverage",
       "Words of the source with a weight above zero from at least one target position, of all "
       "words."},
  }};
  return kDescriptions;
}

void HeadStatistics::operator+=(const HeadStatistics& other) {
  for (size_t i = 0; i < means.size(); ++i) means[i] += other.means[i];
  for (size_t i = 0; i < support.size(); ++i) support[i] += other.support[i];
  for (size_t i = 0; i < densities.size(); ++i) densities[i] += other.densities[i];
}

double entropy(Row row) {
  double h = 0;
  for (const auto& entry : row) {
    h -= static_cast<double>(entry.weight) * std::log(static_cast<double>(entry.weight));
  }
  return h;
}

HeadStatistics measure_head(AttentionBlock block, const SparseAttention& attention,
                            const Tokens& queries, const Tokens& keys) {
  HeadStatistics s;
  const bool has_rare = std::find(keys.rare.begin(), keys.rare.end(), true) != keys.rare.end();
  int64_t pairs = 0;
  for (int32_t q = 0; q < attention.queries(); ++q) {
    const Row row = attention.row(q);
    const int32_t visible = visible_keys(block, q, attention.keys());
    pairs += visible;
    measure_row(s, row, visible);
    measure_offsets(s, row, q, visible);
    s[Measure::kMark].add(mass_on(row, keys.mark));
    s[Measure::kPunctuation].add(mass_on(row, keys.punctuation));
    if (has_rare) s[Measure::kRare].add(mass_on(row, keys.rare));
    if (block == AttentionBlock::kEncoder && keys.question_mark >= 0 &&
        queries.interrogative[static_cast<size_t>(q)]) {
      s[Measure::kQuestion].add(weight_of(row, keys.question_mark));
    }
  }
  s[Measure::kDensity] = {static_cast<double>(attention.nonzero()), pairs};
  if (pairs > 0) {
    const double density = *s[Measure::kDensity].value();
    ++s.densities[std::min(static_cast<size_t>(density * kDensityBins), kDensityBins - 1)];
  }
  if (block == AttentionBlock::kCross) {
    for (const bool covered : covered_words(attention, keys)) s[Measure::kCoverage].add(covered);
  } else {
    measure_own_word(s, attention, queries);
  }
  return s;
}

std::vector<bool> covered_words(const SparseAttention& attention, const Tokens& source) {
  std::vector<bool> covered(source.words.size());
  for (int32_t q = 0; q < attention.queries(); ++q) {
    for (const auto& entry : attention.row(q)) {
      const int32_t word = source.word[static_cast<size_t>(entry.key)];
      if (word >= 0) covered[static_cast<size_t>(word)] = true;
    }
  }
  return covered;
}

}  // namespace filigree::inspect
