#include "filigree/translate/joined_translation.h"

#include <algorithm>
#include <memory>

#include "filigree/translate/search.h"
#include "filigree/translate/split_line.h"

namespace filigree::translate {
namespace {

template <typename T>
void append(std::vector<T>& list, const std::vector<T>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

void append_places(std::vector<text::Range>& places, const std::vector<text::Range>& more,
                   size_t offset) {
  for (const text::Range& place : more) {
    places.push_back({place.begin + offset, place.end + offset});
  }
}

/// Only the spaces around the cuts were lost, so that a part is the next text that is like it.
Source join_sources(const std::vector<Translation>& parts, const std::string& line) {
  Source joined{line, {}, {}};
  size_t place = 0;
  for (const Translation& part : parts) {
    place = std::min(line.find(part.source.text, place), line.size());
    append(joined.pieces, part.source.pieces);
    append_places(joined.places, part.source.places, place);
    place += part.source.text.size();
  }
  return joined;
}

/// A row of a part whose `pieces` source pieces follow `before` others, of `all`.
std::shared_ptr<const AttentionRow> moved(const AttentionRow& row, int before, int pieces,
                                          int all) {
  AttentionRow result = row;
  for (AttentionWeight& w : result) w.source = w.source == pieces ? all : w.source + before;
  return std::make_shared<const AttentionRow>(std::move(result));
}

/// Output n of every part.
Output join_outputs(const std::vector<Translation>& parts, size_t n, int source_pieces,
                    double length_penalty) {
  Output joined, ends;
  int sources_before = 0;
  for (const Translation& part : parts) {
    const Output& output = part.n_best[std::min(n, part.n_best.size() - 1)];
    const auto pieces = output.pieces.size();
    const auto targets_before = static_cast<int>(joined.pieces.size());
    const auto sources = static_cast<int>(part.source.pieces.size());
    joined.text = join_parts({joined.text, output.text});
    append_places(joined.places, output.places, joined.text.size() - output.text.size());
    append(joined.pieces, output.pieces);
    for (size_t i = 0; i < output.token_log_probabilities.size(); ++i) {
      Output& where = i < pieces ? joined : ends;
      where.token_log_probabilities.push_back(output.token_log_probabilities[i]);
    }
    for (size_t i = 0; i < output.attention.size(); ++i) {
      Output& where = i < pieces ? joined : ends;
      where.attention.push_back(
          moved(*output.attention[i], sources_before, sources, source_pieces));
    }
    for (const evaluate::Link& link : output.piece_links) {
      joined.piece_links.push_back({link.source + sources_before, link.target + targets_before});
    }
    joined.log_probability += output.log_probability;
    joined.penalties += output.penalties;
    joined.coverage += output.coverage;
    sources_before += sources;
  }
  append(joined.token_log_probabilities, ends.token_log_probabilities);
  append(joined.attention, ends.attention);
  joined.score =
      joined.coverage + normalised_score(joined.log_probability + joined.penalties,
                                         joined.token_log_probabilities.size(), length_penalty);
  return joined;
}

}  // namespace

Translation join_translations(const std::vector<Translation>& parts, const std::string& line,
                              double length_penalty) {
  Translation joined;
  joined.source = join_sources(parts, line);
  size_t count = 0;
  for (const Translation& part : parts) count = std::max(count, part.n_best.size());
  for (size_t n = 0; n < count; ++n) {
    joined.n_best.push_back(
        join_outputs(parts, n, static_cast<int>(joined.source.pieces.size()), length_penalty));
  }
  return joined;
}

}  // namespace filigree::translate
