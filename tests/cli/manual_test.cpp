// The manual names every command and every option, and no others.
#include <gmock/gmock.h>

#include <regex>
#include <set>
#include <string>

#include "filigree/cli/commands.h"
#include "tests/support/temporary_folder.h"

namespace filigree::cli {
namespace {

std::string page(const std::string& name) {
  return test::content_of(std::string(FILIGREE_DOCS) + "/" + name);
}

/// The part of commands.md about a command.
std::string section(const std::string& command) {
  const std::string manual = page("commands.md");
  const size_t begin = manual.find("\n## " + command + "\n");
  EXPECT_NE(begin, std::string::npos) << command;
  return manual.substr(begin, manual.find("\n## ", begin + 1) - begin);
}

TEST(Manual, NamesEveryOptionOfEveryCommand) {
  Program program;
  add_commands(program);
  for (const auto& command : program.commands()) {
    const std::string text = section(command->name());
    for (const std::string& option : command->long_names()) {
      if (option == "log-level") continue;  // Among those that all commands share.
      EXPECT_NE(text.find("`--" + option), std::string::npos) << command->name() << " --" << option;
    }
  }
}

TEST(Manual, GivesTheDefaults) {
  Program program;
  add_commands(program);
  for (const auto& command : program.commands()) {
    const std::string text = section(command->name());
    for (const auto& [option, values] : command->values()) {
      std::string expected;
      for (const std::string& value : values) expected += (expected.empty() ? "" : " ") + value;
      // A row for this option alone: | `-x`, `--option TYPE` | default | meaning |
      const std::regex row("\n\\| (`-.`, )?`--" + option + "( [^`]*)?` \\| `?([^|`]*)`? \\|");
      std::smatch match;
      if (expected == "false" || !std::regex_search(text, match, row)) continue;
      EXPECT_EQ(match[3], expected) << command->name() << " --" << option;
    }
  }
}

TEST(Manual, NamesNoOptionThatIsNone) {
  std::set<std::string> known = {"help", "version", "config", "dump-config"};
  Program program;
  add_commands(program);
  for (const auto& command : program.commands()) {
    for (const std::string& option : command->long_names()) known.insert(option);
  }
  const std::regex option("--([a-z][a-z0-9-]*)");
  for (const char* name : {"commands.md", "fine-tuning.md", "getting-started.md", "alignments.md",
                           "model-directory.md", "search.md", "../README.md"}) {
    const std::string text = page(name);
    for (std::sregex_iterator i(text.begin(), text.end(), option), end; i != end; ++i) {
      EXPECT_TRUE(known.contains((*i)[1])) << name << ": " << (*i)[0];
    }
  }
}

}  // namespace
}  // namespace filigree::cli
