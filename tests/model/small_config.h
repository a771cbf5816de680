// The smallest model that has everything, for tests that need some model.
#pragma once

#include "filigree/model/config.h"

namespace filigree::model {

/// So many layers on either side, 8 features, 2 heads, one vocabulary for both languages.
inline ModelConfig small_config(int64_t vocabulary, int64_t layers = 1) {
  ModelConfig config;
  config.encoder_layers = config.decoder_layers = layers;
  config.d_model = 8;
  config.d_ff = 12;
  config.heads = 2;
  config.source_vocabulary = config.target_vocabulary = vocabulary;
  return config;
}

}  // namespace filigree::model
