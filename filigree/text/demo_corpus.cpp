#include "filigree/text/demo_corpus.h"

#include <set>
#include <unordered_set>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/base/random.h"
#include "filigree/text/demo_links.h"
#include "filigree/text/spell_out.h"

namespace filigree::text {
namespace {

constexpr int kWords = 100;             // the numbers 0 … 99
constexpr int64_t kFirstDay = -25'567;  // 1 January 1900
constexpr int64_t kEndDay = 47'482;     // 1 January 2100
constexpr int kMostPairs = 500'000;     // of about a million

void validate(const DemoCorpusOptions& options) {
  static const std::set<std::string> languages = {"de", "ja", "ro"};
  if (!languages.contains(options.target_language)) {
    throw UsageError("the demo corpus speaks de, ja and ro, not '{}'", options.target_language);
  }
  if (options.train_size < kWords || options.valid_size < 1 || options.test_size < 1) {
    throw UsageError(
        "the demo corpus needs at least {} pairs to train on, 1 to validate and 1 to test", kWords);
  }
  if (static_cast<int64_t>(options.train_size) + options.valid_size + options.test_size >
      kMostPairs) {
    throw UsageError("the demo corpus has at most {} pairs", kMostPairs);
  }
}

class DemoWriter {
 public:
  explicit DemoWriter(const DemoCorpusOptions& options)
      : target_(options.target_language), random_(options.seed) {}

  // Adds the numbers below 100.
  void add_words(std::vector<SentencePair>& pairs) {
    for (int number = 0; number < kWords; ++number) add_number(number, pairs);
  }

  // Draws until there are `size` pairs.
  void fill(std::vector<SentencePair>& pairs, int size) {
    while (static_cast<int>(pairs.size()) < size) {
      if (random_.below(5) < 3) {
        const int64_t scales[] = {100, 1000, 10'000, 100'000};
        const int64_t scale = scales[random_.below(4)];
        add_number(scale + static_cast<int64_t>(random_.below(9 * scale)), pairs);
      } else {
        const int64_t day = kFirstDay + static_cast<int64_t>(random_.below(kEndDay - kFirstDay));
        add({english_.date(day), target_.date(day)}, pairs);
      }
    }
  }

 private:
  void add_number(int64_t number, std::vector<SentencePair>& pairs) {
    add({english_.number(number), target_.number(number)}, pairs);
  }

  void add(SentencePair pair, std::vector<SentencePair>& pairs) {
    if (sources_.contains(pair.source) || targets_.contains(pair.target)) return;
    sources_.insert(pair.source);
    targets_.insert(pair.target);
    pairs.push_back(std::move(pair));
  }

  SpellOut english_{"en"}, target_;
  Random random_;
  std::unordered_set<std::string> sources_, targets_;
};

void write_side(const std::vector<SentencePair>& pairs, std::string SentencePair::*side,
                const std::filesystem::path& path) {
  AtomicFile file(path);
  for (const SentencePair& pair : pairs) {
    file.write(pair.*side);
    file.write("\n");
  }
  file.commit();
}

void write_links(const std::vector<SentencePair>& pairs, const std::filesystem::path& path) {
  std::string lines;
  for (const SentencePair& pair : pairs) lines += demo_links(pair) + '\n';
  write_file(path, lines);
}

}  // namespace

DemoCorpus make_demo_corpus(const DemoCorpusOptions& options) {
  validate(options);
  DemoWriter writer(options);
  DemoCorpus corpus;
  corpus.target_language = options.target_language;
  writer.add_words(corpus.train);
  // Held-out pairs first: the numbers of three digits soon are used up.
  writer.fill(corpus.test, options.test_size);
  writer.fill(corpus.valid, options.valid_size);
  writer.fill(corpus.train, options.train_size);
  return corpus;
}

TokenizerOptions demo_tokenizer_options() { return {.vocab_size = 400, .model_type = "bpe"}; }

void write_demo_corpus(const DemoCorpus& corpus, const std::filesystem::path& folder) {
  make_writable_folder(folder);
  const std::pair<const char*, const std::vector<SentencePair>*> sets[] = {
      {"train", &corpus.train}, {"valid", &corpus.valid}, {"test", &corpus.test}};
  for (const auto& [set, pairs] : sets) {
    const CorpusSource files = demo_files(folder, set, corpus.target_language);
    write_side(*pairs, &SentencePair::source, files.source);
    write_side(*pairs, &SentencePair::target, files.target);
  }
  write_links(corpus.valid, folder / "valid.links");
  write_links(corpus.test, folder / "test.links");
}

CorpusSource demo_files(const std::filesystem::path& folder, const std::string& set,
                        const std::string& target_language) {
  return {.source = folder / (set + ".en"), .target = folder / (set + "." + target_language)};
}

}  // namespace filigree::text
