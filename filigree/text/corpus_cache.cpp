#include "filigree/text/corpus_cache.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "filigree/base/error.h"
#include "filigree/base/folder_lock.h"
#include "filigree/base/hash.h"
#include "filigree/base/progress.h"
#include "filigree/base/threads.h"

namespace filigree::text {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kKeyVersion = 1;  // changes when tokenising or filtering does
constexpr const char* kExtension = ".pairs";

std::vector<fs::path> files_of(const CorpusOptions& options) {
  std::vector<fs::path> files;
  for (const CorpusSource& source : options.sources) {
    files.push_back(source.source);
    if (!source.tsv) files.push_back(source.target);
  }
  return files;
}

// A pipe can be read once only, so there is no looking at it beforehand.
bool all_are_regular(const std::vector<fs::path>& files) {
  return std::all_of(files.begin(), files.end(), [](const fs::path& file) {
    std::error_code ignored;
    // What does not exist is for the reader to report.
    return file != "-" && (fs::is_regular_file(file, ignored) || !fs::exists(file, ignored));
  });
}

// Of everything that decides what the file holds.
uint64_t key_of(const CorpusOptions& options, const Tokenizer& source, const Tokenizer& target,
                const std::vector<fs::path>& files) {
  std::vector<uint64_t> hashes(files.size());
  const int threads = options.threads > 0 ? options.threads : usable_cores();
  run_parallel(std::min<int>(threads, static_cast<int>(files.size())), [&](int thread) {
    for (size_t i = static_cast<size_t>(thread); i < files.size();
         i += static_cast<size_t>(threads)) {
      hashes[i] = hash_file(files[i]);
    }
  });
  Hasher key;
  for (const uint64_t hash : hashes) key.update(hash);
  for (const CorpusSource& corpus : options.sources) key.update(corpus.tsv ? 1 : 0);
  const FilterOptions& filters = options.filters;
  for (const std::string& text :
       {source.bytes(), target.bytes(), filters.source_script, filters.target_script}) {
    key.update(text.size());
    key.update(text);
  }
  for (const uint64_t number : {kKeyVersion, static_cast<uint64_t>(options.bad_lines),
                                static_cast<uint64_t>(filters.max_length),
                                std::bit_cast<uint64_t>(filters.max_length_ratio),
                                std::bit_cast<uint64_t>(filters.min_script_share),
                                static_cast<uint64_t>(filters.drop_identical),
                                static_cast<uint64_t>(filters.drop_duplicates)}) {
    key.update(number);
  }
  return key.digest();
}

// Nothing when there is no such file or it is not whole.
std::optional<PairStore> open_if_whole(const fs::path& file, bool warn) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  try {
    return PairStore(file);
  } catch (const Error& error) {
    if (warn) spdlog::warn("{}; making it again", error.what());
    return std::nullopt;
  }
}

CorpusReport report_on(const PairStore& store, const CorpusOptions& options) {
  CorpusReport report{store.corpora()};
  for (size_t i = 0; i < report.sources.size(); ++i) {
    report.sources[i].name = options.sources[i].name();
  }
  return report;
}

void remove_others(const fs::path& folder, const fs::path& kept) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == kExtension && entry.path() != kept) {
      fs::remove(entry.path(), ignored);
    }
  }
}

PairStore build(const CorpusOptions& options, const Tokenizer& source, const Tokenizer& target,
                const fs::path& file) {
  const double started = now_seconds();
  spdlog::info("tokenising the training text into {}", file.parent_path().string());
  {
    PairStoreWriter writer(file, std::max(source.size(), target.size()));
    build_corpus(options, source, target, writer);
  }
  spdlog::info("tokenised in {}", format_duration(now_seconds() - started));
  return PairStore(file);
}

PairStore open_or_build(const CorpusOptions& options, const Tokenizer& source,
                        const Tokenizer& target, const CorpusCache& cache, const fs::path& file) {
  if (auto store = open_if_whole(file, false)) return std::move(*store);
  make_writable_folder(cache.folder);
  const FolderLock lock(cache.folder, [&] {
    spdlog::info("{}: waiting for another process that tokenises into it", cache.folder.string());
  });
  if (auto store = open_if_whole(file, true)) return std::move(*store);
  // Whoever left something half-done here is gone: the lock is ours.
  if (lock.held()) remove_abandoned_files(cache.folder);
  PairStore store = build(options, source, target, file);
  if (cache.remove_others) remove_others(cache.folder, file);
  return store;
}

}  // namespace

PairStore open_corpus(const CorpusOptions& options, const Tokenizer& source,
                      const Tokenizer& target, const CorpusCache& cache, CorpusReport& report) {
  validate(options);
  const std::vector<fs::path> files = files_of(options);
  const bool lasting = all_are_regular(files);
  const std::string name = lasting ? fmt::format("{:016x}", key_of(options, source, target, files))
                                   : fmt::format("pipe-{}", getpid());
  const fs::path file = cache.folder / (name + kExtension);
  std::error_code ignored;
  if (!lasting) fs::remove(file, ignored);
  PairStore store = open_or_build(options, source, target, cache, file);
  if (!lasting) fs::remove(file, ignored);
  report = report_on(store, options);
  return store;
}

}  // namespace filigree::text
