// The translation of a line that was split, from those of its parts.
#pragma once

#include <string>
#include <vector>

#include "filigree/translate/translation.h"

namespace filigree::translate {

/// The n-th outputs of the parts joined; a part with fewer gives its last. Positions of pieces,
/// places, links and attention are those in the whole line and the whole output; the ends of the
/// parts follow all pieces. parts: in order, their sources parts of `line`.
Translation join_translations(const std::vector<Translation>& parts, const std::string& line,
                              double length_penalty);

}  // namespace filigree::translate
