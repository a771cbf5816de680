// Incremental decoding: the model as the step function of a search. A step computes one position of
// every hypothesis; what earlier positions left behind is kept and never moved.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "filigree/translate/encoder.h"
#include "filigree/translate/key_value_cache.h"
#include "filigree/translate/packed_model.h"
#include "filigree/translate/step_function.h"
#include "filigree/translate/workspace.h"

namespace filigree::translate {

struct DecoderOptions {
  bool attention = false;  ///< whether steps give StepScores::attention
};

/// One for every thread; they share the model, which must outlive them.
class Decoder : public StepFunction {
 public:
  explicit Decoder(const PackedModel& model, DecoderOptions options = {});

  TargetVocabulary vocabulary() const override;
  /// Sentences that were added since the last step are encoded together in the next.
  void add(int sentence, std::span<const int> source) override;
  void step(std::span<const SearchRow> rows, StepScores& scores) override;
  void release(int sentence) override;

 private:
  struct Sentence {
    std::vector<int> source;         ///< until it is encoded
    std::shared_ptr<Buffer> memory;  ///< holds its keys and values, and those encoded with it
    std::vector<const float*> keys;  ///< for every source token, of the first layer
    std::vector<float*> cells;       ///< all that its hypotheses have had
  };
  /// A live hypothesis.
  struct Row {
    const Sentence* sentence = nullptr;
    std::vector<float*> cells;  ///< by position
  };

  void encode_waiting();
  std::shared_ptr<Buffer> take_buffer();
  void follow_parents(std::span<const SearchRow> rows);
  void embed(std::span<const SearchRow> rows, float* x);
  void attend_to_history(int64_t layer, float* x);
  void attend_to_source(int64_t layer, float* x);
  void prepare_attention(StepScores& scores);
  void keep_attention(int64_t layer, int64_t pitch);

  const PackedModel& model_;
  const DecoderOptions options_;
  Encoder encoder_;
  KeyValueCache cache_;
  Workspace workspace_;
  std::vector<float> positions_;
  std::map<int, Sentence> sentences_;
  std::vector<int> waiting_;                      ///< sentences that are not encoded yet
  std::vector<std::shared_ptr<Buffer>> buffers_;  ///< those that no sentence holds are free
  int64_t count_ = 0;                             ///< of rows in this step
  std::vector<Row> rows_, last_rows_;             ///< may be longer than count_
  std::vector<const float* const*> keys_;         ///< of an attention, by row
  std::vector<int32_t> lengths_;                  ///< of an attention, by row
  std::vector<float> attention_;                  ///< by row [layers, heads, source length]
  std::vector<int64_t> attention_begin_;          ///< by row
};

}  // namespace filigree::translate
