#include "filigree/inspect/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "filigree/inspect/comparison.h"
#include "filigree/inspect/head_findings.h"

namespace filigree::inspect {
namespace {

bool learns_alpha(const ModelInspection& model) {
  return std::any_of(model::kAttentionBlocks.begin(), model::kAttentionBlocks.end(),
                     [&](AttentionBlock block) { return model.config.attention(block).learned(); });
}

bool is_softmax(const ModelInspection& model, AttentionBlock block) {
  const model::AttentionTransform& attention = model.config.attention(block);
  return !attention.learned() && attention.fixed_alpha() == 1;
}

bool is_softmax(const ModelInspection& model) {
  return std::all_of(model::kAttentionBlocks.begin(), model::kAttentionBlocks.end(),
                     [&](AttentionBlock block) { return is_softmax(model, block); });
}

double percent(std::optional<double> share) { return 100 * share.value_or(0); }

Verdict verdict(bool as_in_paper) {
  return as_in_paper ? Verdict::kAsInPaper : Verdict::kNotAsInPaper;
}

double mean_alpha(const ModelInspection& model, AttentionBlock block) {
  double sum = 0, count = 0;
  for (const auto& layer : model.alpha[static_cast<size_t>(block)]) {
    for (const double alpha : layer) {
      sum += alpha;
      ++count;
    }
  }
  return count == 0 ? 1 : sum / count;
}

Finding sparsity(const ModelInspection& model) {
  const Statistics& s = model.statistics;
  const double encoder = percent(s.of(AttentionBlock::kEncoder).mean(Measure::kDensity));
  const double cross = percent(s.of(AttentionBlock::kCross).mean(Measure::kDensity));
  const double decoder = percent(s.of(AttentionBlock::kDecoder).mean(Measure::kDensity));
  Finding finding{
      fmt::format("{:.0f} % of the encoder's attention weights are above zero", encoder),
      fmt::format("Of all pairs of tokens that a head may connect it connects {:.1f} % "
                  "in the encoder, {:.1f} % from target to source and {:.1f} % in the "
                  "decoder (means over heads, {} sentences).",
                  encoder, cross, decoder, s.sentences)};
  if (is_softmax(model)) {
    finding.title = "Every weight is above zero";
    finding.text += " Softmax never gives a weight of exactly zero.";
  }
  return finding;
}

Finding learned_alpha(const ModelInspection& model) {
  double least = 10, most = 0;
  for (const auto& layers : model.alpha) {
    for (const auto& heads : layers) {
      for (const double alpha : heads) {
        least = std::min(least, alpha);
        most = std::max(most, alpha);
      }
    }
  }
  const double encoder = mean_alpha(model, AttentionBlock::kEncoder);
  const double cross = mean_alpha(model, AttentionBlock::kCross);
  const double decoder = mean_alpha(model, AttentionBlock::kDecoder);
  const bool holds = encoder > cross && encoder > decoder;
  return {
      fmt::format("Heads have learned α from {:.2f} to {:.2f}", least, most),
      fmt::format("α is {:.2f} on average in the encoder, {:.2f} in cross-attention and {:.2f} in "
                  "the decoder; 1 is softmax, 2 is sparsemax. In the paper the encoder has the "
                  "highest α (1.36, 1.17 and 1.21 on English to German).",
                  encoder, cross, decoder),
      verdict(holds)};
}

Finding cross_depth(const ModelInspection& model) {
  std::string list;
  std::vector<double> densities;
  for (const LayerStatistics& layer : model.statistics.of(AttentionBlock::kCross).layers) {
    densities.push_back(layer.mean(Measure::kDensity).value_or(0));
    list += fmt::format("{}{:.1f}", list.empty() ? "" : ", ", 100 * densities.back());
  }
  const bool sparser = densities.back() < densities.front();
  const char* const how = *std::min_element(densities.begin(), densities.end()) > 0.995
                              ? "is dense in every layer"
                          : sparser ? "gets sparser with depth"
                                    : "does not get sparser with depth";
  return {fmt::format("Cross-attention {}", how),
          fmt::format("Its density from the first layer to the last is {} %. In the paper it is "
                      "densest in the first two layers.",
                      list),
          verdict(sparser && densities.front() - densities.back() > 0.005)};
}

Finding diversity(const ModelInspection& model) {
  Best most;
  std::string text =
      "Jensen-Shannon divergence of the heads of a layer, divided by the log of their number: ";
  for (const AttentionBlock block : model::kAttentionBlocks) {
    const auto& layers = model.statistics.of(block).layers;
    for (size_t l = 0; l < layers.size(); ++l) {
      const double js = layers[l].diversity.by_heads.value().value_or(0);
      if (js > most.value) most = {block, l, 0, js};
    }
    text +=
        fmt::format("{} {:.3f}, ", name_of(block), model.statistics.of(block).mean_js_by_heads());
  }
  text += fmt::format(
      "and {:.3f} in that layer. 0 would be heads that all look alike, 1 heads that "
      "never look at the same.",
      most.value);
  return {fmt::format("Heads differ most in {} layer {}", name_of(most.block), most.layer + 1),
          text};
}

Finding coverage(const ModelInspection& model) {
  const Mean& mean = model.statistics.coverage;
  const Best least = [&] {
    Best best;
    best.value = 2;
    const auto& layers = model.statistics.of(AttentionBlock::kCross).layers;
    for (size_t l = 0; l < layers.size(); ++l) {
      for (size_t h = 0; h < layers[l].heads.size(); ++h) {
        const double value = layers[l].heads[h][Measure::kCoverage].value().value_or(2);
        if (value < best.value) best = {AttentionBlock::kCross, l, h, value};
      }
    }
    return best;
  }();
  const auto missed = mean.count - static_cast<int64_t>(mean.sum);
  return {missed == 0 ? "No source word is overlooked"
                      : fmt::format("{} source words are never looked at", missed),
          fmt::format("{} of {} words of the source get a weight above zero from some head of "
                      "cross-attention. The most selective head, {}, looks at {:.1f} % of them.",
                      static_cast<int64_t>(mean.sum), mean.count, least.name(), 100 * least.value)};
}

Finding roles(const ModelInspection& model) {
  std::map<std::string, int> counts;
  int64_t with_role = 0;
  for (const auto& layers : model.roles) {
    for (const auto& heads : layers) {
      for (const auto& of_head : heads) {
        if (of_head.empty()) continue;
        ++with_role;
        ++counts[of_head.front().name];
      }
    }
  }
  std::string list;
  for (const auto& [name, count] : counts) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name, count);
  }
  return {fmt::format("{} of {} heads reach the threshold of a role", with_role,
                      model.config.total_heads()),
          list.empty() ? "A threshold is a choice: see the measures of each head."
                       : "Clearest role of each: " + list + "."};
}

Finding most_alike(const ModelInspection& model) {
  Best best;
  size_t other = 0;
  best.value = 2;
  for (const AttentionBlock block : model::kAttentionBlocks) {
    const auto& layers = model.statistics.of(block).layers;
    for (size_t l = 0; l < layers.size(); ++l) {
      const size_t heads = layers[l].heads.size();
      for (size_t a = 0; a < heads; ++a) {
        for (size_t b = a + 1; b < heads; ++b) {
          const double value = layers[l].diversity.pairs[a * heads + b].value().value_or(2);
          if (value < best.value) {
            best = {block, l, a, value};
            other = b;
          }
        }
      }
    }
  }
  return {"The two heads that are most alike",
          best.value > 1 ? "There is one head a layer."
                         : fmt::format("Heads {} and {} of {} layer {} differ by {:.3f} (0: the "
                                       "same, 1: nothing in common).",
                                       best.head + 1, other + 1, name_of(best.block),
                                       best.layer + 1, best.value)};
}

// "+0.066", "−0.183", and without a sign what is rounded to nothing.
std::string signed_number(double value) {
  const std::string digits = fmt::format("{:.3f}", std::abs(value));
  if (digits == "0.000") return digits;
  return (value < 0 ? "−" : "+") + digits;
}

// "encoder +0.066 [+0.065, +0.068], cross …": more − less.
std::string differences(const ModelInspection& less, const ModelInspection& more, Headline what) {
  std::string text;
  for (const AttentionBlock block : model::kAttentionBlocks) {
    const auto [value, low, high] = difference_of(less, more, block, what);
    text += fmt::format("{}{} {} [{}, {}]", text.empty() ? "" : ", ", name_of(block),
                        signed_number(value), signed_number(low), signed_number(high));
  }
  return text;
}

void add_comparison(std::vector<Finding>& all, const ModelInspection& base,
                    const ModelInspection& other) {
  // Of a sparse and a softmax model the sparse one comes first, as in the paper.
  const bool turned = is_softmax(other) && !is_softmax(base);
  const ModelInspection &more = turned ? base : other, &less = turned ? other : base;
  Finding js{
      fmt::format("Diversity of {} against {}", more.name, less.name),
      fmt::format("Jensen-Shannon divergence (÷ log of the number of heads) of {} minus that "
                  "of {}, with 95 % intervals over sentences: {}.",
                  more.name, less.name, differences(less, more, Headline::kJs))};
  if (is_softmax(less) && !is_softmax(more)) {
    const bool holds = std::all_of(model::kAttentionBlocks.begin(), model::kAttentionBlocks.end(),
                                   [&](AttentionBlock block) {
                                     return more.statistics.of(block).mean_js_by_heads() >=
                                            less.statistics.of(block).mean_js_by_heads();
                                   });
    js.title = fmt::format("{} {} more diverse than softmax in every block", more.name,
                           holds ? "is" : "is not");
    js.verdict = verdict(holds);
  }
  all.push_back(js);
  all.push_back({fmt::format("Density of {} against {}", more.name, less.name),
                 fmt::format("Share of weights above zero of {} minus that of {}: {}.", more.name,
                             less.name, differences(less, more, Headline::kDensity))});
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAsInPaper:
      return "as in the paper";
    case Verdict::kNotAsInPaper:
      return "not as in the paper";
    default:
      return "";
  }
}

std::vector<Finding> findings(const Inspection& inspection) {
  const ModelInspection& model = inspection.models.front();
  std::vector<Finding> all = {sparsity(model)};
  if (learns_alpha(model)) all.push_back(learned_alpha(model));
  if (!is_softmax(model, AttentionBlock::kCross)) all.push_back(cross_depth(model));
  all.push_back(diversity(model));
  for (size_t m = 1; m < inspection.models.size(); ++m) {
    add_comparison(all, model, inspection.models[m]);
  }
  all.push_back(roles(model));
  add_head_findings(all, inspection, model);
  all.push_back(coverage(model));
  all.push_back(most_alike(model));
  return all;
}

}  // namespace filigree::inspect
