// Options in a YAML file: "key: value" or "key: [value, …]", the keys being the long option names.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace filigree::cli {

struct ConfigEntry {
  std::string key;
  std::vector<std::string> values;
  bool is_list;
  int line;  ///< 1-based.
};

struct ConfigFile {
  std::filesystem::path path;
  std::vector<ConfigEntry> entries;  ///< In the file's order, no key twice.
};

/// Throws Error when the file cannot be read, UsageError naming file and line when it is not such a
/// file or holds a key twice.
ConfigFile read_config(const std::filesystem::path& path);

/// The YAML text of these keys with their values; a single value is written as a scalar unless
/// `lists` holds the key. read_config reads it back.
std::string print_config(
    const std::vector<std::pair<std::string, std::vector<std::string>>>& options);

}  // namespace filigree::cli
