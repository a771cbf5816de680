#include "filigree/base/error.h"
#include "filigree/entmax/kernels.h"
#include "filigree/evaluate/bleu.h"
#include "filigree/translate/translator.h"

// Uses one library without LibTorch, one with ICU behind it, and one with LibTorch behind it.
int main() {
  const float scores[] = {1, 1, -5};
  float p[3];
  filigree::entmax_kernels::forward({1, 3, 3}, scores, 1.5, p);
  const bool sparse = p[0] == 0.5f && p[1] == 0.5f && p[2] == 0;
  const bool hundred = filigree::evaluate::corpus_bleu({"a b c d e"}, {{"a b c d e"}}).score > 99.9;
  try {
    filigree::translate::Translator("absent");
  } catch (const filigree::Error&) {
    return sparse && hundred ? 0 : 1;
  }
  return 1;
}
