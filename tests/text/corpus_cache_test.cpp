#include "filigree/text/corpus_cache.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "filigree/base/random.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/captured_log.h"
#include "tests/text/matchers.h"
#include "tests/text/small_text.h"

namespace filigree::text {
namespace {

namespace fs = std::filesystem;
using test::CapturedLog;
using test::small_text;
using test::small_tokenizer;
using test::TemporaryFolder;
using testing::HasSubstr;

std::string many_pairs(int pairs) {
  std::string text;
  for (int i = 0; i < pairs; ++i) {
    text += small_text()[static_cast<size_t>(i * 7 + i / 10) % 10] + "\t" +
            small_text()[static_cast<size_t>(i) % 10] + "\n";
  }
  return text;
}

class CorpusCacheTest : public testing::Test {
 protected:
  CorpusCacheTest() { use(many_pairs(200)); }

  void use(const std::string& tsv) {
    options_.sources = {{.source = folder_.write("a.tsv", tsv), .tsv = true}};
  }
  PairStore open(bool remove_others = false) {
    return open_corpus(options_, small_tokenizer(), small_tokenizer(),
                       {folder_ / "cache", remove_others}, report_);
  }
  bool open_builds() {
    const CapturedLog log;
    open();
    return log.text().find("tokenising") != std::string::npos;
  }
  /// Names of the files in the cache, without the lock.
  std::vector<std::string> cached() const {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "cache", ignored)) {
      if (entry.path().filename() != "lock") names.push_back(entry.path().filename().string());
    }
    return names;
  }
  std::string cached_file() const { return folder_ / ("cache/" + cached().at(0)); }

  TemporaryFolder folder_;
  CorpusOptions options_;
  CorpusReport report_;
};

TEST_F(CorpusCacheTest, TextIsTokenisedOnce) {
  options_.filters.max_length = 6;
  const uint64_t fingerprint = open().fingerprint();
  const std::string table = report_.table();
  EXPECT_THAT(table, HasSubstr("too long"));
  EXPECT_FALSE(open_builds());
  EXPECT_EQ(open().fingerprint(), fingerprint);
  EXPECT_EQ(report_.table(), table);
}

TEST_F(CorpusCacheTest, WhateverDecidesTheContentIsNoticed) {
  EXPECT_TRUE(open_builds());
  std::string text = many_pairs(200);
  text[50] = 'x';
  use(text);  // of the same size
  EXPECT_TRUE(open_builds());
  options_.filters.max_length = 10;
  EXPECT_TRUE(open_builds());
  options_.filters.drop_identical = true;
  EXPECT_TRUE(open_builds());
  options_.filters.max_length_ratio = 9;
  EXPECT_TRUE(open_builds());
  options_.filters.drop_duplicates = true;
  EXPECT_TRUE(open_builds());
  options_.filters.source_script = "Latin";
  EXPECT_TRUE(open_builds());
  options_.bad_lines = BadLines::kDrop;
  EXPECT_TRUE(open_builds());
  const Tokenizer other = train_tokenizer(small_text(), {.vocab_size = 70});
  open_corpus(options_, small_tokenizer(), other, {folder_ / "cache"}, report_);
  EXPECT_EQ(cached().size(), 9u);
}

TEST_F(CorpusCacheTest, WhatDoesNotIsNot) {
  EXPECT_TRUE(open_builds());
  options_.sources[0].weight = 3;
  options_.threads = 3;
  fs::rename(folder_ / "a.tsv", folder_ / "b.tsv");
  options_.sources[0].source = folder_ / "b.tsv";
  EXPECT_FALSE(open_builds());
  EXPECT_EQ(report_.sources[0].name, folder_ / "b.tsv");
}

TEST_F(CorpusCacheTest, ACacheOfOneTrainingKeepsOneFile) {
  open(true);
  options_.filters.max_length = 10;
  open(true);
  EXPECT_EQ(cached().size(), 1u);
  EXPECT_FALSE(open_builds());
}

TEST_F(CorpusCacheTest, DamageAnywhereIsRepaired) {
  use(many_pairs(30));
  const PairStore whole = open();
  const std::string file = cached_file(), content = test::content_of(file);
  const auto sum_of_ids = [](const PairStore& store) {
    std::vector<int32_t> source, target;
    int64_t sum = 0;
    for (int64_t i = 0; i < store.size(); ++i) {
      store.read(i, source, target);
      for (const int32_t id : source) sum += id;
      for (const int32_t id : target) sum += id;
    }
    return sum;
  };
  const int64_t expected = sum_of_ids(whole);
  Random random(6);
  const CapturedLog log;
  for (int trial = 0; trial < 300; ++trial) {
    std::string damaged = content;
    const size_t byte = random.below(damaged.size());
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << random.below(8)));
    if (trial % 10 == 0) damaged.resize(byte);
    std::ofstream(file, std::ios::binary) << damaged;
    try {
      EXPECT_EQ(sum_of_ids(open()), expected);  // noticed when it was opened, and built again
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("will be made again"));
      EXPECT_EQ(sum_of_ids(open()), expected);
    }
    ASSERT_TRUE(test::content_of(file) == content);
  }
  EXPECT_THAT(log.text(), HasSubstr("its index has changed; making it again"));
}

TEST_F(CorpusCacheTest, ProcessesThatStartAtOnceBuildOnce) {
  use(many_pairs(20'000));
  constexpr int kProcesses = 4;
  struct Answer {
    uint64_t fingerprint;
    bool built, waited;
  };
  int start[2], answers[2];
  ASSERT_EQ(pipe(start), 0);
  ASSERT_EQ(pipe(answers), 0);
  small_tokenizer();  // Trained before, so that all begin at the same moment.
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      char byte;
      close(start[1]);
      if (::read(start[0], &byte, 1) != 0) _exit(1);
      const CapturedLog log;
      Answer answer{};
      try {
        answer.fingerprint = open().fingerprint();
      } catch (const std::exception&) {
        _exit(2);
      }
      answer.built = log.text().find("tokenised in") != std::string::npos;
      answer.waited = log.text().find("waiting") != std::string::npos;
      _exit(::write(answers[1], &answer, sizeof(answer)) == sizeof(answer) ? 0 : 3);
    }
    children.push_back(child);
  }
  close(start[0]);
  close(start[1]);  // Everybody waits for this.
  int built = 0, waited = 0;
  std::set<uint64_t> fingerprints;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
    Answer answer;
    ASSERT_EQ(::read(answers[0], &answer, sizeof(answer)), static_cast<ssize_t>(sizeof(answer)));
    built += answer.built;
    waited += answer.waited;
    fingerprints.insert(answer.fingerprint);
  }
  close(answers[0]);
  close(answers[1]);
  EXPECT_EQ(built, 1);
  EXPECT_GE(waited, 1);
  EXPECT_EQ(fingerprints, std::set<uint64_t>{open().fingerprint()});
  EXPECT_EQ(cached().size(), 1u);
}

TEST_F(CorpusCacheTest, ABuilderThatIsKilledLeavesNothingThatIsTrusted) {
  use(many_pairs(100'000));
  small_tokenizer();
  Random random(8);
  for (int trial = 0; trial < 5; ++trial) {
    const pid_t child = fork();
    if (child == 0) {
      const CapturedLog log;
      open();
      _exit(0);
    }
    while (cached().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(random.below(60)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    if (status == 0) continue;  // It was faster.
    EXPECT_THAT(cached_file(), HasSubstr(".pairs.tmp"));
  }
  const CapturedLog log;
  EXPECT_EQ(open().size(), 100'000);
  ASSERT_EQ(cached().size(), 1u);
  EXPECT_THAT(cached_file(), testing::EndsWith(".pairs"));
}

TEST_F(CorpusCacheTest, AFailedBuildLeavesNothing) {
  use("a\tb\nno tab\n");
  EXPECT_THROWS(open(), Error, (folder_ / "a.tsv") + ":2: has no tab; expected source<TAB>target");
  EXPECT_EQ(cached().size(), 0u);
}

TEST_F(CorpusCacheTest, AFullDiskIsAnErrorAndLeavesNothing) {
  FILIGREE_MOUNT_OR_SKIP(disk, 64 << 10);
  use(many_pairs(20'000));
  EXPECT_THAT(
      [&] { open_corpus(options_, small_tokenizer(), small_tokenizer(), {disk->path()}, report_); },
      testing::ThrowsMessage<Error>(testing::EndsWith("cannot write: No space left on device")));
  for (const auto& entry : fs::directory_iterator(disk->path())) {
    EXPECT_EQ(entry.path().filename(), "lock");
  }
}

TEST_F(CorpusCacheTest, AReadOnlyCacheServesWhatItHas) {
  FILIGREE_MOUNT_OR_SKIP(disk, 1 << 20);
  const auto open_there = [&] {
    return open_corpus(options_, small_tokenizer(), small_tokenizer(), {disk->path()}, report_)
        .size();
  };
  EXPECT_EQ(open_there(), 200);
  disk->make_read_only();
  EXPECT_EQ(open_there(), 200);
  options_.filters.max_length = 10;
  EXPECT_THAT(open_there, testing::ThrowsMessage<Error>(HasSubstr("Read-only file system")));
}

TEST_F(CorpusCacheTest, APipeIsReadOnceAndLeavesNothing) {
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  options_.sources[0].source = fifo;
  for (const int pairs : {3, 5}) {
    std::thread writer([&] { std::ofstream(fifo) << many_pairs(pairs); });
    const PairStore store = open();
    writer.join();
    EXPECT_EQ(store.size(), pairs);
    std::vector<int32_t> source, target;
    store.read(2, source, target);
    EXPECT_EQ(source, small_tokenizer().encode(small_text()[4]));
  }
  EXPECT_EQ(cached().size(), 0u);
}

TEST_F(CorpusCacheTest, MissingFilesAreErrors) {
  fs::remove(folder_ / "a.tsv");
  EXPECT_THROWS(open(), Error, (folder_ / "a.tsv") + ": cannot open: No such file or directory");
}

}  // namespace
}  // namespace filigree::text
