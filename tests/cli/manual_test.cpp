// The manual names every command and every option, and no others.
#include <gmock/gmock.h>

#include <regex>
#include <set>
#include <string>

#include "filigree/cli/commands.h"
#include "tests/support/temporary_folder.h"

namespace filigree::cli {
namespace {

TEST(Manual, NamesEveryOptionOfEveryCommand) {
  const std::string manual = test::content_of(FILIGREE_MANUAL);
  ASSERT_NE(manual, "") << FILIGREE_MANUAL;
  Program program;
  add_commands(program);
  for (const auto& command : program.commands()) {
    const size_t begin = manual.find("\n## " + command->name() + "\n");
    ASSERT_NE(begin, std::string::npos) << command->name();
    const size_t end = manual.find("\n## ", begin + 1);
    const std::string section = manual.substr(begin, end - begin);
    for (const std::string& option : command->long_names()) {
      if (option == "log-level") continue;  // Among those that all commands share.
      EXPECT_NE(section.find("`--" + option), std::string::npos)
          << command->name() << " --" << option;
    }
  }
}

TEST(Manual, NamesNoOptionThatIsNone) {
  const std::string manual = test::content_of(FILIGREE_MANUAL);
  std::set<std::string> known = {"help", "version", "config", "dump-config"};
  Program program;
  add_commands(program);
  for (const auto& command : program.commands()) {
    for (const std::string& option : command->long_names()) known.insert(option);
  }
  const std::regex option("--([a-z][a-z0-9-]*)");
  for (std::sregex_iterator i(manual.begin(), manual.end(), option), end; i != end; ++i) {
    EXPECT_TRUE(known.contains((*i)[1])) << (*i)[0];
  }
}

}  // namespace
}  // namespace filigree::cli
