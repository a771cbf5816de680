// The files that a report is made of, in the program itself; cmake/EmbedFiles.cmake writes the
// source file.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace filigree::inspect {

/// Contents by file name: those of filigree/inspect/report, and d3.min.js.
const std::map<std::string, std::string_view>& embedded_files();

}  // namespace filigree::inspect
