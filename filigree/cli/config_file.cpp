#include "filigree/cli/config_file.h"

#include <yaml-cpp/yaml.h>

#include <set>

#include "filigree/base/error.h"
#include "filigree/base/files.h"

namespace filigree::cli {
namespace {

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

ConfigEntry read_entry(const std::string& file, const YAML::Node& key, const YAML::Node& value) {
  if (!key.IsScalar()) throw UsageError("{}:{}: expected a key", file, line_of(key));
  ConfigEntry entry{key.Scalar(), {}, value.IsSequence(), line_of(key)};
  if (value.IsScalar()) {
    entry.values.push_back(value.Scalar());
  } else if (value.IsSequence()) {
    for (const YAML::Node& item : value) {
      if (!item.IsScalar()) {
        throw UsageError("{}:{}: {}: expected a list of plain values", file, entry.line, entry.key);
      }
      entry.values.push_back(item.Scalar());
    }
  } else {
    throw UsageError(
        "{}:{}: {}: {}", file, entry.line, entry.key,
        value.IsMap() ? "expected a value or a list, got nested keys" : "has no value");
  }
  return entry;
}

}  // namespace

ConfigFile read_config(const std::filesystem::path& path) {
  const std::string file = path.string(), text = read_file(path);
  ConfigFile config{path, {}};
  try {
    const YAML::Node root = YAML::Load(text);
    if (root.IsNull()) return config;
    if (!root.IsMap()) throw UsageError("{}:1: expected lines of the form 'key: value'", file);
    std::set<std::string> seen;
    for (const auto& pair : root) {
      config.entries.push_back(read_entry(file, pair.first, pair.second));
      const ConfigEntry& entry = config.entries.back();
      if (!seen.insert(entry.key).second) {
        throw UsageError("{}:{}: {}: given twice", file, entry.line, entry.key);
      }
    }
  } catch (const YAML::Exception& error) {
    throw UsageError("{}:{}: not valid YAML: {}", file, error.mark.line + 1, error.msg);
  }
  return config;
}

std::string print_config(
    const std::vector<std::pair<std::string, std::vector<std::string>>>& options) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const auto& [key, values] : options) {
    out << YAML::Key << key << YAML::Value;
    if (values.size() == 1) {
      out << values[0];
    } else {
      out << YAML::Flow << values;
    }
  }
  out << YAML::EndMap;
  return out.c_str() + std::string("\n");
}

}  // namespace filigree::cli
