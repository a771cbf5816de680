// The text of --help: options in groups, two columns, lines that fit a terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace filigree::cli {

/// For the program (its commands and options) or for one command. `path`: "filigree train".
std::string help_text(const CLI::App& app, const std::string& path);

}  // namespace filigree::cli
