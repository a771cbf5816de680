// One sub-command: its options, which a YAML file may hold too, and what it runs.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filigree/cli/config_file.h"
#include "filigree/cli/help.h"
#include "filigree/cli/values.h"

namespace filigree::cli {

class Command {
 public:
  Command(CLI::App& program, const std::string& name, const std::string& description);

  /// The options that follow are shown under this heading in the help.
  void group(const std::string& heading) { heading_ = heading; }

  /// An option (`names`: "-b,--beam-size") or, without dashes, an argument by position. It stores
  /// into `value`, whose content is the default: a string, a path, a number, an std::optional of
  /// these (no default), or a std::vector of them (several values).
  template <typename T>
  CLI::Option* option(const std::string& names, T& value, const std::string& description) {
    CLI::Option* option = app_->add_option(names, value, description);
    return set_up(option, Text<T>::kind, [&value] { return Text<T>::print(value); });
  }

  /// An option whose value is one of `words`, each with what it stands for.
  template <typename T>
  CLI::Option* choice(const std::string& names, T& value,
                      std::vector<std::pair<std::string, T>> words,
                      const std::string& description) {
    std::vector<std::string> known;
    for (const auto& [word, meaning] : words) known.push_back(word);
    CLI::Option* option = app_->add_option_function<std::string>(
        names,
        [&value, words](const std::string& text) {
          for (const auto& [word, meaning] : words) {
            if (word == text) value = meaning;
          }
        },
        description);
    one_of(option, std::move(known));
    return set_up(option, Kind::kText, [&value, words]() -> std::vector<std::string> {
      for (const auto& [word, meaning] : words) {
        if (value == meaning) return {word};
      }
      return {};
    });
  }

  /// An option without a value ("true" or "false" in a file).
  CLI::Option* flag(const std::string& names, bool& value, const std::string& description);

  /// A flag with a negative form, which has no value when neither is given; `names`:
  /// "--sampling,!--no-sampling". The last one on the command line counts.
  CLI::Option* flag(const std::string& names, std::optional<bool>& value,
                    const std::string& description);

  /// The command cannot run without this option. Checked after the file is read, which may give it.
  void require(CLI::Option* option);

  /// Adds --threads; threads() is its value or, by default, OMP_NUM_THREADS or all usable cores,
  /// shared by so many processes.
  void add_threads_option();
  int threads(int processes = 1) const;

  /// While `condition` holds, defaults depend on more than this program, and --dump-config prints
  /// only options that were given.
  void dump_only_given_if(std::function<bool()> condition) { only_given_ = std::move(condition); }

  /// What the command does once its options are set.
  void action(std::function<void()> action) { action_ = std::move(action); }

  const std::string& name() const { return app_->get_name(); }
  /// Whether the command line named this command.
  bool parsed() const { return app_->parsed(); }
  std::string help() const { return help_text(*app_, "filigree " + name()); }

  /// Whether the command line or the file gave this option (its long name, without dashes).
  bool given(const std::string& option) const { return app_->count("--" + option) > 0; }

  /// Long names of the options, without dashes: the keys of a YAML file.
  std::vector<std::string> long_names() const;

  /// The options that have a value, as keys and values of such a file: before run(), the defaults.
  std::vector<std::pair<std::string, std::vector<std::string>>> values(
      bool only_given = false) const;

  /// Takes the options from the file, checks them, and runs the action.
  /// Throws UsageError naming the option, or the file and the line, and what the action throws.
  void run();

 private:
  CLI::Option* set_up(CLI::Option* option, Kind kind,
                      std::function<std::vector<std::string>()> print);
  void refuse_extras() const;
  void apply(const ConfigFile& file);

  struct Entry {
    CLI::Option* option;
    std::function<std::vector<std::string>()> print;
  };

  CLI::App* app_;
  std::string heading_ = "Options";
  std::vector<Entry> entries_;
  std::vector<CLI::Option*> required_;
  std::function<void()> action_;
  std::function<bool()> only_given_ = [] { return false; };
  std::string config_, log_level_ = "info";
  std::optional<int> threads_;
  bool dump_config_ = false;
};

}  // namespace filigree::cli
