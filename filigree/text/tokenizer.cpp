#include "filigree/text/tokenizer.h"

#include <fmt/ranges.h>
#include <sentencepiece_processor.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/files.h"

namespace filigree::text {
namespace {

using sentencepiece::SentencePieceProcessor;

void load_processor(SentencePieceProcessor& processor, const std::string& bytes,
                    const std::string& name) {
  const auto status = processor.LoadFromSerializedProto(bytes);
  if (!status.ok() || processor.GetPieceSize() == 0) {
    throw Error("{}: is not a SentencePiece model, or it is damaged", name);
  }
}

// A ModelProto whose only content is one control piece: ModelProto.pieces (field 1) holds
// SentencePiece {piece = 1, score = 2, type = 3}, and type 3 is CONTROL. Serialised protocol
// buffers that are written one after the other are merged, so that this adds the piece at the end.
std::string control_piece(std::string_view piece) {
  std::string inner = "\x0a";
  inner += static_cast<char>(piece.size());
  inner += piece;
  inner += std::string("\x15\0\0\0\0\x18\x03", 7);
  std::string outer = "\x0a";
  outer += static_cast<char>(inner.size());
  return outer + inner;
}

[[noreturn]] void refuse_special_pieces(const std::string& name) {
  throw Error(
      "{}: has no <pad>, <s> or </s> of its own and cannot be given one; train it with these as "
      "control symbols (spm_train --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3)",
      name);
}

// Those of <pad>, <s> and </s> that this tokenizer lacks.
std::vector<std::string> missing_pieces(const SentencePieceProcessor& processor,
                                        const std::string& name) {
  const std::pair<int, const char*> needed[] = {
      {processor.pad_id(), "<pad>"}, {processor.bos_id(), "<s>"}, {processor.eos_id(), "</s>"}};
  std::vector<std::string> missing;
  for (const auto& [id, piece] : needed) {
    if (id >= 0) continue;
    // A piece of text that is written like this would be taken for the added one.
    if (processor.PieceToId(piece) != processor.unk_id()) refuse_special_pieces(name);
    missing.push_back(piece);
  }
  return missing;
}

void check_id(int id, int size) {
  if (id < 0 || id >= size) {
    throw Error("id {} is outside the vocabulary of {} pieces", id, size);
  }
}

}  // namespace

struct Tokenizer::Model {
  SentencePieceProcessor processor;
  std::string bytes;
  int pad, unk, bos, eos;
};

Tokenizer::Tokenizer(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  return from_bytes(read_file(path), path.string());
}

Tokenizer Tokenizer::from_bytes(std::string bytes, const std::string& name) {
  auto model = std::make_shared<Model>();
  load_processor(model->processor, bytes, name);
  const std::vector<std::string> missing = missing_pieces(model->processor, name);
  for (const std::string& piece : missing) bytes += control_piece(piece);
  if (!missing.empty()) load_processor(model->processor, bytes, name);
  model->pad = model->processor.pad_id();
  model->unk = model->processor.unk_id();
  model->bos = model->processor.bos_id();
  model->eos = model->processor.eos_id();
  if (model->pad < 0 || model->bos < 0 || model->eos < 0) refuse_special_pieces(name);
  if (!missing.empty()) {
    spdlog::info("{}: added {} to the vocabulary", name, fmt::join(missing, ", "));
  }
  model->bytes = std::move(bytes);
  return Tokenizer(std::move(model));
}

std::vector<int> Tokenizer::encode(std::string_view line) const {
  std::vector<int> ids;
  const auto status = model_->processor.Encode(line, &ids);
  if (!status.ok()) throw Error("cannot tokenize a line: {}", status.message());
  return ids;
}

std::string Tokenizer::decode(const std::vector<int>& ids) const {
  std::vector<int> text;
  text.reserve(ids.size());
  for (const int id : ids) {
    check_id(id, size());
    if (id != pad() && id != bos() && id != eos()) text.push_back(id);
  }
  std::string line;
  const auto status = model_->processor.Decode(text, &line);
  if (!status.ok()) throw Error("cannot decode ids: {}", status.message());
  return line;
}

std::string Tokenizer::piece(int id) const {
  check_id(id, size());
  return model_->processor.IdToPiece(id);
}

int Tokenizer::size() const { return model_->processor.GetPieceSize(); }
int Tokenizer::pad() const { return model_->pad; }
int Tokenizer::unk() const { return model_->unk; }
int Tokenizer::bos() const { return model_->bos; }
int Tokenizer::eos() const { return model_->eos; }
const std::string& Tokenizer::bytes() const { return model_->bytes; }

}  // namespace filigree::text
