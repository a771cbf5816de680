// Errors that a user can cause and mend: one line that names the file, the line or the option, and
// says what to do. The library throws them; the program prints them and sets the exit code.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace filigree {

/// The work could not be done (exit code 1).
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;

  template <typename... Args>
  explicit Error(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// The command was given wrongly: an unknown key, a value out of range (exit code 2).
class UsageError : public Error {
 public:
  using Error::Error;
};

/// A signal asked the work to stop; what was to be saved is saved (exit code 128 + signal).
class Interrupted : public Error {
 public:
  explicit Interrupted(int signal);
  int signal() const { return signal_; }

 private:
  int signal_;
};

/// The work could not be done, and another process that takes part in it tells the user why.
class SaidElsewhere : public Error {
 public:
  using Error::Error;
};

/// The text of the current errno, such as "No such file or directory".
std::string system_message();

}  // namespace filigree
