#include "filigree/inspect/head_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace filigree::inspect {
namespace {

Best best_head(const Statistics& statistics, Measure measure,
               std::initializer_list<AttentionBlock> blocks) {
  Best best;
  for (const AttentionBlock block : blocks) {
    const auto& layers = statistics.of(block).layers;
    for (size_t l = 0; l < layers.size(); ++l) {
      for (size_t h = 0; h < layers[l].heads.size(); ++h) {
        const double value = layers[l].heads[h][measure].value().value_or(-1);
        if (value > best.value) best = {block, l, h, value};
      }
    }
  }
  return best;
}

void add_positional(std::vector<Finding>& all, const ModelInspection& model) {
  const auto& [encoder, decoder] = std::pair{AttentionBlock::kEncoder, AttentionBlock::kDecoder};
  const Best before = best_head(model.statistics, Measure::kPrevious, {encoder, decoder});
  const Best after = best_head(model.statistics, Measure::kNext, {encoder});
  all.push_back(
      {before.value >= 0.9 ? "One head looks at the previous token"
                           : "No head is a pure previous-token head",
       fmt::format(
           "{} puts {:.1f} % of its weight on the token before, more than any other; the best "
           "for the token after is {} with {:.1f} %. The paper's heads reach about 95 %.",
           before.capital_name(), 100 * before.value, after.name(), 100 * after.value),
       before.value >= 0.9 ? Verdict::kAsInPaper : Verdict::kNotAsInPaper});
}

void add_word_pieces(std::vector<Finding>& all, const ModelInspection& model) {
  const Best best = best_head(model.statistics, Measure::kWordPieces, {AttentionBlock::kEncoder});
  if (best.value < 0) return;
  const double own = model.statistics.of(best.block)
                         .layers[best.layer]
                         .heads[best.head][Measure::kOwnWord]
                         .value()
                         .value_or(0);
  all.push_back(
      {best.value >= 0.8 ? "One head puts the pieces of words together"
                         : "No head merges word pieces clearly",
       fmt::format("The best BPE-merging score is {:.1f} %, of {}, which keeps {:.1f} % of "
                   "its weight within the word. In the paper softmax heads stay below 80 % "
                   "and the sparse models' best reach 83 to 90 %.",
                   100 * best.value, best.name(), 100 * own)});
}

void add_question(std::vector<Finding>& all, const ModelInspection& model) {
  const Best best = best_head(model.statistics, Measure::kQuestion, {AttentionBlock::kEncoder});
  if (best.value < 0) return;
  const auto count =
      model.statistics.of(best.block).layers[best.layer].heads[best.head][Measure::kQuestion].count;
  if (count < 5) return;
  all.push_back(
      {"From question words to the question mark",
       fmt::format("In {}, question words put {:.1f} % of their weight on the question mark "
                   "at the end ({} pieces of such words). The paper's head: 97 to 99.5 %.",
                   best.name(), 100 * best.value, count),
       best.value >= 0.9 ? Verdict::kAsInPaper : Verdict::kNotAsInPaper});
}

void add_syntax(std::vector<Finding>& all, const Inspection& inspection,
                const ModelInspection& model) {
  double margin = 0;
  Finding finding{"The head that follows syntax best", ""};
  const auto& layers = model.statistics.of(AttentionBlock::kEncoder).layers;
  for (size_t l = 0; l < layers.size(); ++l) {
    for (size_t h = 0; h < layers[l].syntax.size(); ++h) {
      for (const auto& [label, counts] : layers[l].syntax[h]) {
        if (counts.total < kLeastRelations) continue;
        const double chance = inspection.relations.rows.at(label).baseline();
        const double accuracy = static_cast<double>(std::max(counts.to_head, counts.to_dependent)) /
                                static_cast<double>(counts.total);
        if (accuracy - chance <= margin) continue;
        margin = accuracy - chance;
        finding.text = fmt::format(
            "{} finds {:.1f} % of the relations {} ({}); always the commonest distance finds "
            "{:.1f} "
            "%.",
            Best{AttentionBlock::kEncoder, l, h, accuracy}.capital_name(), 100 * accuracy, label,
            counts.to_head >= counts.to_dependent ? "from dependent to head"
                                                  : "from head to dependent",
            100 * chance);
      }
    }
  }
  if (margin > 0) all.push_back(finding);
}

void add_alignment(std::vector<Finding>& all, const ModelInspection& model) {
  Best best;
  const char* step = "";
  const auto& layers = model.statistics.of(AttentionBlock::kCross).layers;
  for (size_t l = 0; l < layers.size(); ++l) {
    for (size_t h = 0; h < layers[l].output_alignment.size(); ++h) {
      const double output = 1 - layers[l].output_alignment[h].error_rate();
      const double input = 1 - layers[l].input_alignment[h].error_rate();
      if (std::max(output, input) <= best.value) continue;
      best = {AttentionBlock::kCross, l, h, std::max(output, input)};
      step = output >= input ? "predicts the word" : "is given the word";
    }
  }
  if (best.value < 0) return;
  all.push_back({"The head that aligns words best",
                 fmt::format("{} has an alignment error rate of {:.3f}, at the step that {}.",
                             best.capital_name(), 1 - best.value, step)});
}

}  // namespace

std::string Best::name() const {
  return fmt::format("{} layer {}, head {}", name_of(block), layer + 1, head + 1);
}

std::string Best::capital_name() const {
  std::string text = name();
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

void add_head_findings(std::vector<Finding>& all, const Inspection& inspection,
                       const ModelInspection& model) {
  add_positional(all, model);
  add_word_pieces(all, model);
  add_question(all, model);
  add_syntax(all, inspection, model);
  add_alignment(all, model);
}

}  // namespace filigree::inspect
