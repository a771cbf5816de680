#include "filigree/cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "filigree/base/error.h"
#include "filigree/base/log.h"
#include "filigree/base/threads.h"
#include "filigree/cli/output.h"
#include "filigree/cli/suggest.h"

namespace filigree::cli {
namespace {

std::string long_name(const CLI::Option* option) {
  return option->get_lnames().empty() ? "" : option->get_lnames()[0];
}

std::string shown_name(const CLI::Option* option) { return option->get_name(); }

}  // namespace

Command::Command(CLI::App& program, const std::string& name, const std::string& description)
    : app_(program.add_subcommand(name, description)) {
  app_->allow_extras();
  app_->set_help_flag("-h,--help", "Print this help and exit")->group("General");
  group("General");
  CLI::Option* config = app_->add_option(
      "-c,--config", config_, "Take options from a YAML file; the command line goes first");
  config->group("General")->type_name("FILE");
  app_->add_flag("--dump-config", dump_config_, "Print the options as such a file and exit")
      ->group("General");
  one_of(option("--log-level", log_level_, "How much to say on standard error"),
         {"trace", "debug", "info", "warn", "error", "off"});
  group("Options");
}

CLI::Option* Command::set_up(CLI::Option* option, Kind kind,
                             std::function<std::vector<std::string>()> print) {
  check_values(option, kind);
  option->group(heading_);
  if (option->get_items_expected_max() == 1) {
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  std::string shown;
  for (const std::string& text : print()) shown += (shown.empty() ? "" : " ") + text;
  if (!shown.empty()) option->default_str(shown);
  entries_.push_back({option, std::move(print)});
  return option;
}

CLI::Option* Command::flag(const std::string& names, bool& value, const std::string& description) {
  CLI::Option* option = app_->add_flag(names, value, description);
  option->group(heading_);
  entries_.push_back({option, [&value] { return Text<bool>::print(value); }});
  return option;
}

CLI::Option* Command::flag(const std::string& names, std::optional<bool>& value,
                           const std::string& description) {
  CLI::Option* option = app_->add_flag_function(
      names, [&value](int64_t sign) { value = sign > 0; }, description);
  option->group(heading_)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  entries_.push_back({option, [&value] { return Text<std::optional<bool>>::print(value); }});
  return option;
}

void Command::require(CLI::Option* option) {
  option->description(option->get_description() + " (required)");
  required_.push_back(option);
}

void Command::add_threads_option() {
  at_least(option("--threads", threads_, "CPU threads [all usable cores]"), 1);
}

int Command::threads(int processes) const {
  if (threads_) return *threads_;
  const char* variable = std::getenv("OMP_NUM_THREADS");
  const int requested = variable ? std::atoi(variable) : 0;
  return requested > 0 ? requested : std::max(1, usable_cores() / processes);
}

void Command::run() {
  refuse_extras();
  if (!config_.empty()) apply(read_config(config_));
  set_up_logging(log_level_);
  if (dump_config_) return write_output(print_config(values(only_given_())));
  for (const CLI::Option* option : required_) {
    if (option->count() == 0) {
      throw UsageError("{} is required (see filigree {} --help)", shown_name(option), name());
    }
  }
  action_();
}

void Command::refuse_extras() const {
  const std::vector<std::string> extras = app_->remaining();
  if (extras.empty()) return;
  const std::string word = extras[0].substr(0, extras[0].find('='));
  if (!word.starts_with("-")) {
    throw UsageError("unexpected argument {} (see filigree {} --help)", word, name());
  }
  std::vector<std::string> known = {"--help", "--config", "--dump-config"};
  for (const std::string& option : long_names()) known.push_back("--" + option);
  throw UsageError("unknown option {}{} (see filigree {} --help)", word, suggestion(word, known),
                   name());
}

void Command::apply(const ConfigFile& file) {
  for (const ConfigEntry& entry : file.entries) {
    const std::string place = fmt::format("{}:{}", file.path.string(), entry.line);
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
      return long_name(e.option) == entry.key;
    });
    if (found == entries_.end()) {
      throw UsageError("{}: unknown key {}{} (the keys are those of filigree {} --help)", place,
                       entry.key, suggestion(entry.key, long_names()), name());
    }
    CLI::Option* option = found->option;
    if (option->count() > 0) continue;
    const bool is_flag = option->get_items_expected_max() == 0;
    const auto least = static_cast<size_t>(is_flag ? 1 : option->get_items_expected_min());
    const auto most = static_cast<size_t>(is_flag ? 1 : option->get_items_expected_max());
    if (entry.is_list && most == 1) {
      throw UsageError("{}: {}: expected one value, got a list", place, entry.key);
    }
    if (entry.values.size() < least || entry.values.size() > most) {
      throw UsageError("{}: {}: expected {}{} values, got {}", place, entry.key,
                       least == most ? "" : "at least ", least, entry.values.size());
    }
    if (is_flag && entry.values[0] != "true" && entry.values[0] != "false") {
      throw UsageError("{}: {}: expected true or false, got '{}'", place, entry.key,
                       entry.values[0]);
    }
    try {
      for (const std::string& value : entry.values) option->add_result(value);
      option->run_callback();
    } catch (const CLI::ParseError& error) {
      throw UsageError("{}: {}", place, error.what());
    }
  }
}

std::vector<std::pair<std::string, std::vector<std::string>>> Command::values(
    bool only_given) const {
  std::vector<std::pair<std::string, std::vector<std::string>>> options;
  for (const Entry& entry : entries_) {
    if (only_given && entry.option->count() == 0) continue;
    const std::vector<std::string> values = entry.print();
    if (!long_name(entry.option).empty() && !values.empty()) {
      options.emplace_back(long_name(entry.option), values);
    }
  }
  return options;
}

std::vector<std::string> Command::long_names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    for (const std::string& name : entry.option->get_lnames()) names.push_back(name);
  }
  return names;
}

}  // namespace filigree::cli
