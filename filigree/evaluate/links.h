// Word alignments as text, in the form of Pharaoh, Moses and fast_align: "0-0 1-2 2-1" links word 0
// of the source with word 0 of the target, and so on.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace filigree::evaluate {

/// Words are counted from 0.
struct Link {
  int source = 0, target = 0;
  auto operator<=>(const Link&) const = default;
};

/// Sorted, each link once.
using Links = std::vector<Link>;

/// A gold alignment: links that must be found, and others that may be. Both sorted; those that are
/// sure are among those that are possible.
struct GoldLinks {
  Links sure, possible;
};

/// Reads one line of links, in any order; "" has none. Where `first` is 1 the words are counted
/// from
/// 1. Throws Error naming the link that is not one.
Links parse_links(std::string_view line, int first = 0);

/// The same for a gold alignment: "1-2" is sure; "1?2" or "1p2" is possible.
GoldLinks parse_gold_links(std::string_view line, int first = 0);

/// One line for each sentence; "-" is standard input. Throws Error naming the file and the line.
std::vector<Links> read_links(const std::filesystem::path& path, int first = 0);
std::vector<GoldLinks> read_gold_links(const std::filesystem::path& path, int first = 0);

/// "0-0 1-2 2-1"
std::string format_links(const Links& links);

/// Sorts and removes what is there twice.
void make_set(Links& links);

}  // namespace filigree::evaluate
