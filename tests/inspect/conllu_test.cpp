#include "filigree/inspect/conllu.h"

#include <gmock/gmock.h>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/inspect/syntax.h"
#include "tests/inspect/random_attention.h"
#include "tests/support/temporary_folder.h"

namespace filigree::inspect {
namespace {

// "Der Hund geht zum Haus." with a multiword token, a comment and an empty node.
constexpr const char* kParse =
    "# text = Der Hund geht zum Haus.\n"
    "1\tDer\tder\tDET\t_\t_\t2\tdet\t_\t_\n"
    "2\tHund\tHund\tNOUN\t_\t_\t3\tnsubj\t_\t_\n"
    "3\tgeht\tgehen\tVERB\t_\t_\t0\troot\t_\t_\n"
    "3.1\tx\tx\tX\t_\t_\t_\t_\t_\t_\n"
    "4-5\tzum\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "4\tzu\tzu\tADP\t_\t_\t6\tcase\t_\t_\n"
    "5\tdem\tder\tDET\t_\t_\t6\tdet\t_\t_\n"
    "6\tHaus\tHaus\tNOUN\t_\t_\t3\tobl\t_\t_\n"
    "7\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_\n\n";

class Conllu : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& text) {
    const auto path = folder_.path() / "parses.conllu";
    write_file(path, text);
    return path;
  }
  Parse parse() { return *ConlluReader(file(kParse)).next(); }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(Conllu, ReadsTokensAsTheTextHasThem) {
  const Parse p = parse();
  EXPECT_THAT(p.tokens, testing::ElementsAre("Der", "Hund", "geht", "zum", "Haus", "."));
  std::vector<std::string> relations;
  for (const Relation& r : p.relations) {
    relations.push_back(fmt::format("{} {}>{}", r.label, r.dependent, r.head));
  }
  EXPECT_THAT(relations, testing::ElementsAre("det 0>1", "nsubj 1>2", "case 3>4", "det 3>4",
                                              "obl 4>2", "punct 5>2"));
}

TEST_F(Conllu, NamesTheLineThatIsWrong) {
  for (const char* bad :
       {"1\tonly\n\n", "2\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n", "1\ta\t_\t_\t_\t_\tx\troot\t_\t_\n\n",
        "1\ta\t_\t_\t_\t_\t9\tdep\t_\t_\n\n"}) {
    ConlluReader reader(file(bad));
    EXPECT_THROW(reader.next(), Error) << bad;
  }
}

TEST_F(Conllu, TheBaselineIsTheCommonestOffset) {
  RelationTable table;
  table.add(parse());
  table.add({{"a", "b", "c"}, {{0, 2, "det"}}});
  const auto& det = table.rows.at("det");
  EXPECT_EQ(det.count, 3);
  EXPECT_EQ(det.best_offset(), 1);
  EXPECT_DOUBLE_EQ(det.baseline(), 2.0 / 3);
}

TEST_F(Conllu, MatchesPiecesByTheirCharacters) {
  const auto tokens = match_pieces(source_of("_Der _Hu nd _geht _zum _Haus ."), parse());
  ASSERT_TRUE(tokens);
  EXPECT_THAT(*tokens, testing::ElementsAre(0, 1, 1, 2, 3, 4, 5, -1));
  EXPECT_FALSE(match_pieces(source_of("_Der _Hund _lief _zum _Haus ."), parse()));
  EXPECT_FALSE(match_pieces(source_of("_Der _Hund"), parse()));
}

TEST_F(Conllu, AHeadFollowsARelationWhenItsLargestWeightDoes) {
  const Tokens source = source_of("_Der _Hu nd _geht _zum _Haus .");
  const auto tokens = match_pieces(source, parse());
  Dense w(8, std::vector<float>(8));
  w[0][2] = 1;     // Der → nd, a piece of Hund: det found.
  w[1][3] = 0.4f;  // Hu → geht, but …
  w[1][1] = 0.6f;
  w[2][3] = 1;  // … nd → geht: together Hund → geht by 1.4 of 2: nsubj found.
  w[3][5] = 1;  // geht → Haus: obl found from its head.
  w[4][7] = 1;  // zum → </s>, no token: nothing found.
  w[5][0] = w[6][0] = w[7][0] = 1;
  const SyntaxCounts counts = measure_syntax(sparse(w), parse(), *tokens);
  EXPECT_EQ(counts.at("det").total, 2);
  EXPECT_EQ(counts.at("det").to_head, 1);
  EXPECT_EQ(counts.at("nsubj").to_head, 1);
  EXPECT_EQ(counts.at("nsubj").to_dependent, 0);
  EXPECT_EQ(counts.at("obl").to_head, 0);
  EXPECT_EQ(counts.at("obl").to_dependent, 1);
  EXPECT_EQ(counts.at("case").to_head, 0);
}

TEST_F(Conllu, SyntaxOfRandomAttentionEqualsItsDefinition) {
  const Tokens source = source_of("_Der _Hu nd _geht _zum _Haus .");
  const Parse parse = this->parse();
  const std::vector<int32_t> token_of = *match_pieces(source, parse);
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Dense w = random_attention(AttentionBlock::kEncoder, 8, 8, seed);
    // From a token to a token: the mean over the pieces that look of the sum over those looked at.
    const auto weight = [&](int32_t from, int32_t to) {
      double sum = 0, pieces = 0;
      for (size_t q = 0; q < 8; ++q) {
        if (token_of[q] != from) continue;
        ++pieces;
        for (size_t k = 0; k < 8; ++k) sum += token_of[k] == to ? w[q][k] : 0;
      }
      return sum / pieces;
    };
    const auto looks_most = [&](int32_t from, int32_t to) {
      for (int32_t other = 0; other < 6; ++other) {
        if (weight(from, other) > weight(from, to)) return false;
      }
      return true;
    };
    SyntaxCounts expected;
    for (const Relation& r : parse.relations) {
      RelationCounts& count = expected[r.label];
      ++count.total;
      count.to_head += looks_most(r.dependent, r.head);
      count.to_dependent += looks_most(r.head, r.dependent);
    }
    const SyntaxCounts counts = measure_syntax(sparse(w), parse, token_of);
    ASSERT_EQ(counts.size(), expected.size());
    for (const auto& [label, count] : expected) {
      EXPECT_EQ(counts.at(label).total, count.total) << label;
      EXPECT_EQ(counts.at(label).to_head, count.to_head) << label << " " << seed;
      EXPECT_EQ(counts.at(label).to_dependent, count.to_dependent) << label << " " << seed;
    }
  }
}

}  // namespace
}  // namespace filigree::inspect
