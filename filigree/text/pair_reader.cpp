#include "filigree/text/pair_reader.h"

#include <memory>
#include <utility>

#include "filigree/base/error.h"

namespace filigree::text {

std::string CorpusSource::name() const {
  return tsv ? source.string() : source.string() + " + " + target.string();
}

PairReader::PairReader(const CorpusSource& source, BadLines bad_lines)
    : source_(source.source, bad_lines) {
  if (!source.tsv) target_.emplace(source.target, bad_lines);
}

std::optional<SentencePair> PairReader::next() {
  std::optional<SentencePair> pair = target_ ? next_side_by_side() : next_tab_separated();
  if (!pair && line_number() == 0) throw Error("{}: is empty", source_.path().string());
  return pair;
}

std::optional<SentencePair> PairReader::next_side_by_side() {
  std::optional<std::string> source = source_.next(), target = target_->next();
  if (!source && target) refuse_unequal_lengths(*target_, source_);
  if (source && !target) refuse_unequal_lengths(source_, *target_);
  if (!source) return std::nullopt;
  fault_ = source_.fault() != LineFault::kNone ? source_.fault() : target_->fault();
  return SentencePair{std::move(*source), std::move(*target)};
}

std::optional<SentencePair> PairReader::next_tab_separated() {
  std::optional<std::string> line = source_.next();
  if (!line) return std::nullopt;
  fault_ = source_.fault();
  if (fault_ != LineFault::kNone) return SentencePair{};
  const size_t tab = line->find('\t');
  if (tab == std::string::npos) {
    throw Error("{}:{}: has no tab; expected source<TAB>target", source_.path().string(),
                line_number());
  }
  if (line->find('\t', tab + 1) != std::string::npos) {
    throw Error("{}:{}: has more than one tab; expected source<TAB>target", source_.path().string(),
                line_number());
  }
  return SentencePair{line->substr(0, tab), line->substr(tab + 1)};
}

void PairReader::refuse_unequal_lengths(TextReader& longer, const TextReader& shorter) {
  if (shorter.line_number() == 0) throw Error("{}: is empty", shorter.path().string());
  while (longer.next()) {
  }
  throw Error(
      "{} ends after {} lines, but {} has {}; line n of one must translate line n of the other",
      shorter.path().string(), shorter.line_number(), longer.path().string(), longer.line_number());
}

std::vector<SentencePair> read_pairs(const CorpusSource& source) {
  PairReader reader(source);
  std::vector<SentencePair> pairs;
  while (auto pair = reader.next()) pairs.push_back(std::move(*pair));
  return pairs;
}

LineSource corpus_lines(std::vector<CorpusSource> sources, Side side, BadLines bad_lines) {
  struct State {
    std::vector<CorpusSource> sources;
    size_t position = 0;
    std::unique_ptr<PairReader> reader;
    std::optional<std::string> pending;  // the target of the pair whose source went out last
  };
  auto state = std::make_shared<State>();
  state->sources = std::move(sources);
  return [state, side, bad_lines](std::string& line) {
    if (state->pending) {
      line = std::move(*state->pending);
      state->pending.reset();
      return true;
    }
    while (state->position < state->sources.size()) {
      if (!state->reader) {
        state->reader = std::make_unique<PairReader>(state->sources[state->position], bad_lines);
      }
      std::optional<SentencePair> pair = state->reader->next();
      if (!pair) {
        state->reader.reset();
        ++state->position;
        continue;
      }
      if (state->reader->fault() != LineFault::kNone) continue;
      if (side == Side::kBoth) state->pending = std::move(pair->target);
      line = std::move(side == Side::kTarget ? pair->target : pair->source);
      return true;
    }
    return false;
  };
}

}  // namespace filigree::text
