#include "filigree/inspect/comparison.h"

namespace filigree::inspect {
namespace {

double value_of(const ModelInspection& model, AttentionBlock block, size_t layer, Headline what) {
  const LayerStatistics& of_layer = model.statistics.of(block).layers[layer];
  switch (what) {
    case Headline::kDensity:
      return of_layer.mean(Measure::kDensity).value_or(0);
    case Headline::kEntropy:
      return of_layer.mean(Measure::kEntropy).value_or(0);
    default:
      return of_layer.diversity.by_heads.value().value_or(0);
  }
}

double block_value(const ModelInspection& model, AttentionBlock block, Headline what) {
  const size_t layers = model.statistics.of(block).layers.size();
  double sum = 0;
  for (size_t l = 0; l < layers; ++l) sum += value_of(model, block, l, what);
  return layers == 0 ? 0 : sum / static_cast<double>(layers);
}

// The mean over the layers, in each of the resampled texts.
std::vector<double> block_samples(const ModelInspection& model, AttentionBlock block,
                                  Headline what) {
  const size_t layers = model.statistics.of(block).layers.size();
  std::vector<double> means(static_cast<size_t>(model.bootstrap.samples()));
  for (size_t l = 0; l < layers; ++l) {
    const auto values = model.bootstrap.values(headline_index(model.config, block, l, what));
    for (size_t i = 0; i < means.size(); ++i) means[i] += values[i] / static_cast<double>(layers);
  }
  return means;
}

Estimate with_interval(double value, std::vector<double> samples) {
  const Interval interval = interval_of(std::move(samples));
  return {value, interval.low, interval.high};
}

}  // namespace

Estimate estimate_of(const ModelInspection& model, AttentionBlock block, size_t layer,
                     Headline what) {
  return with_interval(value_of(model, block, layer, what),
                       model.bootstrap.values(headline_index(model.config, block, layer, what)));
}

Estimate estimate_of(const ModelInspection& model, AttentionBlock block, Headline what) {
  return with_interval(block_value(model, block, what), block_samples(model, block, what));
}

Estimate difference_of(const ModelInspection& base, const ModelInspection& other,
                       AttentionBlock block, Headline what) {
  std::vector<double> samples = block_samples(other, block, what);
  const std::vector<double> of_base = block_samples(base, block, what);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] -= of_base[i];
  return with_interval(block_value(other, block, what) - block_value(base, block, what),
                       std::move(samples));
}

}  // namespace filigree::inspect
