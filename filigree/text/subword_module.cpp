// The loadable module: the only file that includes SentencePiece.
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include "filigree/text/subword_library.h"

namespace filigree::text {
namespace {

class Model : public SubwordModel {
 public:
  bool load(const std::string& bytes) {
    return processor_.LoadFromSerializedProto(bytes).ok() && processor_.GetPieceSize() > 0;
  }
  int size() const override { return processor_.GetPieceSize(); }
  int pad() const override { return processor_.pad_id(); }
  int unk() const override { return processor_.unk_id(); }
  int bos() const override { return processor_.bos_id(); }
  int eos() const override { return processor_.eos_id(); }
  int id_of(const std::string& piece) const override { return processor_.PieceToId(piece); }
  std::string piece(int id) const override { return processor_.IdToPiece(id); }
  std::string encode(std::string_view line, std::vector<int>& ids) const override {
    return message(processor_.Encode(line, &ids));
  }
  std::string decode(const std::vector<int>& ids, std::string& line) const override {
    return message(processor_.Decode(ids, &line));
  }
  std::string encode(std::string_view line, std::vector<int>& ids,
                     std::vector<Range>& places) const override {
    sentencepiece::ImmutableSentencePieceText text;
    const std::string problem = message(processor_.Encode(line, text.mutable_proto()));
    for (const auto& piece : text.pieces()) {
      ids.push_back(static_cast<int>(piece.id()));
      places.push_back({piece.begin(), piece.end()});
    }
    return problem;
  }
  std::string decode(const std::vector<int>& ids, std::string& line,
                     std::vector<Range>& places) const override {
    sentencepiece::ImmutableSentencePieceText text;
    const std::string problem = message(processor_.Decode(ids, text.mutable_proto()));
    line = text.text();
    for (const auto& piece : text.pieces()) places.push_back({piece.begin(), piece.end()});
    return problem;
  }

 private:
  static std::string message(const sentencepiece::util::Status& status) {
    return status.ok() ? "" : status.message();
  }
  sentencepiece::SentencePieceProcessor processor_;
};

class LineIterator : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return position_ == lines_.size(); }
  void Next() override { ++position_; }
  const std::string& value() const override { return lines_[position_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  size_t position_ = 0;
};

std::unique_ptr<SubwordModel> load(const std::string& bytes) {
  auto model = std::make_unique<Model>();
  if (!model->load(bytes)) return nullptr;
  return model;
}

std::string train(const std::unordered_map<std::string, std::string>& arguments,
                  const std::vector<std::string>& lines, std::string& bytes) {
  LineIterator iterator(lines);
  const auto status = sentencepiece::SentencePieceTrainer::Train(arguments, &iterator, &bytes);
  return status.ok() ? "" : status.message();
}

}  // namespace
}  // namespace filigree::text

extern "C" __attribute__((visibility("default")))
const filigree::text::SubwordLibrary filigree_subword_library = {filigree::text::load,
                                                                 filigree::text::train};
