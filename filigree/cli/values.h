// Option values as text: how each type is checked and printed.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class Option;
}

namespace filigree::cli {

enum class Kind { kText, kPath, kInteger, kNumber, kFlag };

/// For an option of type T: the kind of its values, and print(value), its values as texts that
/// parse to the same value again; none when there is no value.
template <typename T>
struct Text;

template <>
struct Text<std::string> {
  static constexpr Kind kind = Kind::kText;
  static std::vector<std::string> print(const std::string& value) {
    if (value.empty()) return {};
    return {value};
  }
};

template <>
struct Text<std::filesystem::path> {
  static constexpr Kind kind = Kind::kPath;
  static std::vector<std::string> print(const std::filesystem::path& value) {
    if (value.empty()) return {};
    return {value.string()};
  }
};

template <typename T>
requires std::integral<T> || std::floating_point<T>
struct Text<T> {
  static constexpr Kind kind = std::integral<T> ? Kind::kInteger : Kind::kNumber;
  static std::vector<std::string> print(T value) { return {fmt::format("{}", value)}; }
};

template <>
struct Text<bool> {
  static constexpr Kind kind = Kind::kFlag;
  static std::vector<std::string> print(bool value) { return {value ? "true" : "false"}; }
};

template <typename T>
struct Text<std::optional<T>> {
  static constexpr Kind kind = Text<T>::kind;
  static std::vector<std::string> print(const std::optional<T>& value) {
    if (!value) return {};
    return Text<T>::print(*value);
  }
};

template <typename T>
struct Text<std::vector<T>> {
  static constexpr Kind kind = Text<T>::kind;
  static std::vector<std::string> print(const std::vector<T>& values) {
    std::vector<std::string> texts;
    for (const T& value : values) texts.push_back(Text<T>::print(value).at(0));
    return texts;
  }
};

/// Adds the check for values of this kind, with a message that says what was expected. Integers are
/// decimal: "010" is ten.
void check_values(CLI::Option* option, Kind kind);

/// Further checks, for numbers: value >= least; least <= value <= most; value > bound.
CLI::Option* at_least(CLI::Option* option, double least);
CLI::Option* between(CLI::Option* option, double least, double most);
CLI::Option* above(CLI::Option* option, double bound);
/// … and for words.
CLI::Option* one_of(CLI::Option* option, std::vector<std::string> words);
/// … and for whatever `parse` takes without throwing Error.
CLI::Option* accepted_by(CLI::Option* option, std::function<void(const std::string&)> parse);

}  // namespace filigree::cli
