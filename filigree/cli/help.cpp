#include "filigree/cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace filigree::cli {
namespace {

constexpr size_t kLineWidth = 100, kColumn = 32;
constexpr const char* kLastGroup = "General";

/// Characters, which UTF-8 gives one byte each that is not a continuation.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// "name", then the words of `text` from kColumn on, broken into lines.
std::string entry(const std::string& name, const std::string& text) {
  std::string out = "  " + name;
  size_t column = 2 + width_of(name);
  if (column + 2 > kColumn) {
    out += '\n';
    column = 0;
  }
  out.append(kColumn - column, ' ');
  column = kColumn;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (column > kColumn && column + 1 + width_of(word) > kLineWidth) {
      out += '\n' + std::string(kColumn, ' ');
      column = kColumn;
    } else if (column > kColumn) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width_of(word);
    begin = end + 1;
  }
  return out + '\n';
}

std::string name_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_type_name();
  std::string names;
  for (const std::string& name : option.get_snames()) names += "-" + name + ", ";
  for (const std::string& name : option.get_lnames()) names += "--" + name + ", ";
  names.resize(names.size() - 2);
  const bool has_value = option.get_items_expected_max() > 0;
  return has_value ? names + " " + option.get_type_name() : names;
}

std::string description_of(const CLI::Option& option) {
  const std::string standard = option.get_default_str();
  return option.get_description() + (standard.empty() ? "" : " [" + standard + "]");
}

}  // namespace

std::string help_text(const CLI::App& app, const std::string& path) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  std::string usage = "Usage: " + path + (commands.empty() ? " [OPTIONS]" : " COMMAND [OPTIONS]");
  std::vector<std::string> groups = app.get_groups();
  std::stable_partition(groups.begin(), groups.end(),
                        [](const std::string& group) { return group != kLastGroup; });
  std::string body;
  for (const std::string& group : groups) {
    const auto members = app.get_options(
        [&group](const CLI::Option* option) { return option->get_group() == group; });
    if (members.empty()) continue;
    body += "\n" + group + ":\n";
    for (const CLI::Option* option : members) {
      if (option->get_positional()) usage += " " + option->get_type_name();
      body += entry(name_of(*option), description_of(*option));
    }
  }
  std::string text = usage + "\n\n" + app.get_description() + "\n";
  if (!commands.empty()) text += "\nCommands:\n";
  for (const CLI::App* command : commands) {
    text += entry(command->get_name(), command->get_description());
  }
  text += body;
  if (!commands.empty()) text += "\n\"" + path + " COMMAND --help\" explains a command.\n";
  return text;
}

}  // namespace filigree::cli
