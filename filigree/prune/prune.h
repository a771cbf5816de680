// Taking redundant heads out of a model under a guard on BLEU.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "filigree/prune/removal_order.h"

namespace filigree::prune {

struct PruneOptions {
  std::filesystem::path model;
  std::filesystem::path output;                   ///< the smaller model, new or an empty folder
  std::vector<std::filesystem::path> valid_sets;  ///< source target: the development set
  double max_bleu_drop = 0.5;
  Criterion criterion = Criterion::kLoss;
  int threads = 1;
};

/// A model on the development set.
struct Scores {
  int64_t heads = 0, parameters = 0;
  double loss = 0;  ///< per target token, in nats
  double bleu = 0, chrf = 0;
};

/// A head that was taken out, and what is known of it in the whole model.
struct RemovedHead {
  HeadPlace place;
  double loss_rise;   ///< by taking it out after those before it
  Neighbour nearest;  ///< of those that were left
  double alpha, density, relative_entropy;
  std::string role;  ///< the clearest one, or ""
};

struct Pruning {
  PruneOptions options;
  model::ModelConfig config;  ///< of the smaller model
  Scores before, after;
  std::vector<RemovedHead> removed;  ///< in order
  HeadSet kept;                      ///< heads that alignments are made of, which never go
  std::vector<Scores> measured;      ///< the models whose BLEU was measured, in order of heads left
};

/// Takes heads out in the order of the criterion, as many as the guard allows: BLEU on the
/// development set with them gone is measured for 1, 2, 4, … heads and, once it has fallen by more
/// than max_bleu_drop, between the last two numbers. Every layer of every block keeps one head, and
/// the heads that generation_config.json names for alignments stay. Writes the model that is left,
/// with the alignment heads counted anew. Throws Error, with nothing written, when no head can go.
Pruning prune(const PruneOptions& options);

}  // namespace filigree::prune
