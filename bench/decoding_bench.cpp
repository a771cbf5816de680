// Translates with a Transformer of a given shape and random weights: the speed of decoding, free of
// tokenisation and of what a model has learnt.
//
//   echo "5 32 2 100" | decoding_bench --preset base --vocabulary 32000 SOURCES
//
// Lines of SOURCES are words w4 w5 …, which stand for ids; every output has exactly --length words,
// so that programs and settings do the same work. Every line of standard input is a run: beam size,
// most sentences in a batch, threads, and how many lines of SOURCES to translate. Its result is a
// line of JSON. decoding_speed.py compares with other programs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "filigree/base/files.h"
#include "filigree/base/memory.h"
#include "filigree/model/transformer.h"
#include "filigree/translate/engine.h"

namespace {

using namespace filigree;

struct Arguments {
  std::string preset = "base", transform = "softmax", precision = "float32", sources;
  int vocabulary = 8000, length = 24;
};

model::Transformer random_model(const Arguments& a) {
  model::ModelConfig config;
  model::apply_preset(config, a.preset);
  config.source_vocabulary = config.target_vocabulary = a.vocabulary;
  for (const auto block : model::kAttentionBlocks) {
    config.attention(block).transform = model::parse_transform(a.transform, "transform");
  }
  model::Transformer transformer(config);
  transformer.initialise(1);
  return transformer;
}

std::vector<std::vector<int>> read_ids(const std::string& file) {
  std::vector<std::vector<int>> sentences;
  std::istringstream text(read_file(file));
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    sentences.emplace_back();
    for (std::string word; words >> word;) sentences.back().push_back(std::stoi(word.substr(1)));
  }
  return sentences;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run(const Arguments& a) {
  const model::Transformer model = random_model(a);
  const translate::Engine engine({&model}, translate::parse_precision(a.precision), {});
  const std::vector<std::vector<int>> ids = read_ids(a.sources);
  translate::SearchOptions search;
  search.max_length_factor = 0;
  search.max_length_offset = search.min_length = a.length;
  translate::BatchOptions batches;
  for (size_t count;
       std::cin >> search.beam_size >> batches.mini_batch >> batches.threads >> count;) {
    size_t tokens = 0;
    std::mutex mutex;
    std::vector<translate::SentenceJob> jobs;
    for (size_t i = 0; i < std::min(count, ids.size()); ++i) {
      jobs.push_back({{ids[i], {}, 0}, [&](const std::vector<translate::Hypothesis>& n_best) {
                        const std::lock_guard lock(mutex);
                        tokens += n_best[0].tokens.size() + 1;
                      }});
    }
    const size_t sentences = jobs.size();
    const auto start = std::chrono::steady_clock::now();
    engine.run(std::move(jobs), search, batches);
    const double seconds = seconds_since(start);
    fmt::print("{{\"sentences\": {}, \"tokens\": {}, \"seconds\": {:.4f}, \"peak_bytes\": {}}}\n",
               sentences, tokens, seconds, peak_memory());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  Arguments a;
  CLI::App app("Speed of decoding with random weights");
  app.add_option("--preset", a.preset);
  app.add_option("--vocabulary", a.vocabulary);
  app.add_option("--transform", a.transform);
  app.add_option("--precision", a.precision);
  app.add_option("--length", a.length);
  app.add_option("SOURCES", a.sources)->required();
  CLI11_PARSE(app, argc, argv);
  run(a);
  return 0;
}
