#include "filigree/text/tokenizer.h"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/text/subword_library.h"

namespace filigree::text {
namespace {

std::unique_ptr<SubwordModel> load_subwords(const std::string& bytes, const std::string& name) {
  auto subwords = subword_library().load(bytes);
  if (!subwords) throw Error("{}: is not a SentencePiece model, or it is damaged", name);
  return subwords;
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
std::vector<std::string> missing_pieces(const SubwordModel& subwords, const std::string& name) {
  const std::pair<int, const char*> needed[] = {
      {subwords.pad(), "<pad>"}, {subwords.bos(), "<s>"}, {subwords.eos(), "</s>"}};
  std::vector<std::string> missing;
  for (const auto& [id, piece] : needed) {
    if (id >= 0) continue;
    // A piece of text that is written like this would be taken for the added one.
    if (subwords.id_of(piece) != subwords.unk()) refuse_special_pieces(name);
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
  std::unique_ptr<SubwordModel> subwords;
  std::string bytes;
  int pad, unk, bos, eos;
};

Tokenizer::Tokenizer(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  return from_bytes(read_file(path), path.string());
}

Tokenizer Tokenizer::from_bytes(std::string bytes, const std::string& name) {
  auto model = std::make_shared<Model>();
  model->subwords = load_subwords(bytes, name);
  const std::vector<std::string> missing = missing_pieces(*model->subwords, name);
  for (const std::string& piece : missing) bytes += control_piece(piece);
  if (!missing.empty()) model->subwords = load_subwords(bytes, name);
  model->pad = model->subwords->pad();
  model->unk = model->subwords->unk();
  model->bos = model->subwords->bos();
  model->eos = model->subwords->eos();
  if (model->pad < 0 || model->bos < 0 || model->eos < 0) refuse_special_pieces(name);
  if (!missing.empty()) {
    spdlog::info("{}: added {} to the vocabulary", name, fmt::join(missing, ", "));
  }
  model->bytes = std::move(bytes);
  return Tokenizer(std::move(model));
}

std::vector<int> Tokenizer::encode(std::string_view line) const {
  std::vector<int> ids;
  const std::string problem = model_->subwords->encode(line, ids);
  if (!problem.empty()) throw Error("cannot tokenize a line: {}", problem);
  return ids;
}

std::vector<int> Tokenizer::pieces_of_text(const std::vector<int>& ids) const {
  std::vector<int> text;
  text.reserve(ids.size());
  for (const int id : ids) {
    check_id(id, size());
    if (id != pad() && id != bos() && id != eos()) text.push_back(id);
  }
  return text;
}

std::string Tokenizer::decode(const std::vector<int>& ids) const {
  const std::vector<int> text = pieces_of_text(ids);
  std::string line;
  const std::string problem = model_->subwords->decode(text, line);
  if (!problem.empty()) throw Error("cannot decode ids: {}", problem);
  return line;
}

PlacedPieces Tokenizer::encode_with_places(std::string_view line) const {
  PlacedPieces pieces{std::string(line), {}, {}};
  const std::string problem = model_->subwords->encode(line, pieces.ids, pieces.places);
  if (!problem.empty()) throw Error("cannot tokenize a line: {}", problem);
  return pieces;
}

PlacedPieces Tokenizer::decode_with_places(const std::vector<int>& ids) const {
  const std::vector<int> text = pieces_of_text(ids);
  PlacedPieces pieces{{}, ids, {}};
  std::vector<Range> places;
  const std::string problem = model_->subwords->decode(text, pieces.text, places);
  if (!problem.empty()) throw Error("cannot decode ids: {}", problem);
  // Pieces that are no text lie, empty, where the one before them ended.
  auto place = places.begin();
  for (const int id : ids) {
    const bool is_text = id != pad() && id != bos() && id != eos();
    const size_t end = pieces.places.empty() ? 0 : pieces.places.back().end;
    pieces.places.push_back(is_text ? *place++ : Range{end, end});
  }
  return pieces;
}

std::string Tokenizer::piece(int id) const {
  check_id(id, size());
  return model_->subwords->piece(id);
}

int Tokenizer::size() const { return model_->subwords->size(); }
int Tokenizer::pad() const { return model_->pad; }
int Tokenizer::unk() const { return model_->unk; }
int Tokenizer::bos() const { return model_->bos; }
int Tokenizer::eos() const { return model_->eos; }
const std::string& Tokenizer::bytes() const { return model_->bytes; }

}  // namespace filigree::text
