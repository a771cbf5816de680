// filigree info: what a model directory holds. Loads all of it, so that it is also a check.
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <string>

#include "filigree/cli/commands.h"
#include "filigree/cli/head_table.h"
#include "filigree/cli/output.h"
#include "filigree/model/model_directory.h"
#include "filigree/translate/generation_config.h"

namespace filigree::cli {
namespace {

using model::AttentionBlock;

double alpha_of(const model::Transformer& transformer, AttentionBlock block, int64_t layer,
                int64_t head) {
  return transformer.alpha(block, layer)[head].item<double>();
}

std::string info_text(const model::Model& model, const translate::GenerationConfig& generation) {
  const model::ModelConfig& c = model.transformer.config();
  const int64_t count = model.transformer.parameters().count();
  std::string text;
  text += fmt::format("layers       {} encoder, {} decoder, {}\n", c.encoder_layers,
                      c.decoder_layers, c.pre_norm ? "pre-norm" : "post-norm");
  const int64_t all_heads = (c.encoder_layers + 2 * c.decoder_layers) * c.heads;
  text += fmt::format(
      "width        {}, feed-forward {}, {} heads{}\n", c.d_model, c.d_ff, c.heads,
      c.total_heads() == all_heads
          ? ""
          : fmt::format(" (of {} in all, {} are pruned)", all_heads, all_heads - c.total_heads()));
  for (const AttentionBlock block : model::kAttentionBlocks) {
    text += fmt::format("{:12} {}\n", std::string(name_of(block)) + " att.",
                        describe(c.attention(block)));
  }
  text +=
      fmt::format("output       {}\n",
                  c.output_alpha == 1 ? "softmax" : fmt::format("entmax, α {}", c.output_alpha));
  text += c.shared_vocabulary ? fmt::format("vocabulary   {} pieces, shared\n", c.source_vocabulary)
                              : fmt::format("vocabulary   {} source pieces, {} target pieces\n",
                                            c.source_vocabulary, c.target_vocabulary);
  text += fmt::format("parameters   {} ({:.1f} MB){}\n", count, static_cast<double>(count) * 4e-6,
                      c.tied_embeddings ? ", embeddings tied" : "");
  text += fmt::format("search       beam {}, length penalty {}, sources up to {} pieces\n",
                      generation.search.beam_size, generation.search.length_penalty,
                      generation.max_source_length);
  text += "\nα of every head\n";
  text += head_table(c, [&](AttentionBlock block, int64_t layer, int64_t head) {
    return fmt::format("{:.3f}", alpha_of(model.transformer, block, layer, head));
  });
  return text;
}

std::string info_json(const model::Model& model, const translate::GenerationConfig& generation) {
  using Json = nlohmann::ordered_json;
  const model::ModelConfig& c = model.transformer.config();
  Json json = {{"config", Json::parse(model::to_json(c))},
               {"generation_config", Json::parse(translate::to_json(generation))},
               {"parameters", model.transformer.parameters().count()}};
  for (const AttentionBlock block : model::kAttentionBlocks) {
    Json& layers = json["alpha"][name_of(block)] = Json::array();
    for (int64_t layer = 0; layer < c.layers(block); ++layer) {
      Json heads = Json::array();
      for (int64_t head = 0; head < c.heads_of(block, layer); ++head) {
        heads.push_back(alpha_of(model.transformer, block, layer, head));
      }
      layers.push_back(heads);
    }
  }
  return json.dump(1) + "\n";
}

}  // namespace

void add_info(Program& program) {
  struct Arguments {
    std::filesystem::path directory;
    bool json = false;
  };
  const auto a = std::make_shared<Arguments>();
  Command& command =
      program.add_command("info", "Show what a model is, after checking that it is whole");
  command.require(command.option("model", a->directory, "Model directory")->type_name("DIR"));
  command.flag("--json", a->json, "Print JSON: config, parameter count, α of every head");
  command.action([a] {
    const model::Model model = model::load_model(a->directory);
    const auto generation = translate::load_generation_config(a->directory);
    write_output(a->json ? info_json(model, generation) : info_text(model, generation));
  });
}

}  // namespace filigree::cli
