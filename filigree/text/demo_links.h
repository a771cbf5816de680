// The right word alignments of the demo corpus, which follow from how its sentences are made.
#pragma once

#include <string>

#include "filigree/text/pair_reader.h"

namespace filigree::text {

/// The gold links of a pair of make_demo_corpus() in Pharaoh's form, words counted from 0; "1-2" is
/// sure, "1?2" possible.
///
///   three hundred forty-two thousand    trei sute patruzeci și două mii    0-0 1-1 2-2 2?3 2-4 3-5
///   Friday, June 13, 2008               Freitag, 13. Juni 2008             0-0 1-2 2-1 3-3
///
/// A number that the other language writes as one word is linked with all words.
std::string demo_links(const SentencePair& pair);

}  // namespace filigree::text
