#include "filigree/cli/values.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "filigree/base/error.h"

namespace filigree::cli {
namespace {

/// The whole text as a number, or nothing.
template <typename T>
std::optional<T> parse(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string check_integer(std::string& text) {
  const auto value = parse<int64_t>(text);
  if (!value) return fmt::format("expected a whole number, got '{}'", text);
  text = std::to_string(*value);
  return {};
}

std::string check_number(std::string& text) {
  const auto value = parse<double>(text);
  if (!value || !std::isfinite(*value)) return fmt::format("expected a number, got '{}'", text);
  return {};
}

CLI::Option* check_range(CLI::Option* option, std::string expected,
                         std::function<bool(double)> inside) {
  return option->check([expected, inside](const std::string& text) -> std::string {
    const auto value = parse<double>(text);
    if (value && inside(*value)) return {};
    return fmt::format("expected {}, got {}", expected, text);
  });
}

}  // namespace

void check_values(CLI::Option* option, Kind kind) {
  if (kind == Kind::kInteger) option->transform(CLI::Validator(check_integer, "", "integer"));
  if (kind == Kind::kNumber) option->transform(CLI::Validator(check_number, "", "number"));
  static constexpr const char* kLabels[] = {"TEXT", "PATH", "N", "X", ""};
  option->type_name(kLabels[static_cast<int>(kind)]);
}

CLI::Option* at_least(CLI::Option* option, double least) {
  return check_range(option, fmt::format("at least {}", least),
                     [least](double value) { return value >= least; });
}

CLI::Option* between(CLI::Option* option, double least, double most) {
  return check_range(option, fmt::format("{} to {}", least, most),
                     [least, most](double value) { return value >= least && value <= most; });
}

CLI::Option* above(CLI::Option* option, double bound) {
  return check_range(option, fmt::format("more than {}", bound),
                     [bound](double value) { return value > bound; });
}

CLI::Option* one_of(CLI::Option* option, std::vector<std::string> words) {
  std::string expected;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) expected += i + 1 == words.size() ? " or " : ", ";
    expected += words[i];
  }
  return option->check([words, expected](const std::string& text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end()) return {};
    return fmt::format("expected {}, got '{}'", expected, text);
  });
}

CLI::Option* accepted_by(CLI::Option* option, std::function<void(const std::string&)> parse) {
  return option->check([parse](const std::string& text) -> std::string {
    try {
      parse(text);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  });
}

}  // namespace filigree::cli
