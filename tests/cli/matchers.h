// What a failing program must look like.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "tests/cli/process.h"

namespace filigree::test {

/// Exit code `code`, nothing on standard output, and on standard error exactly one line that starts
/// with "error: " and matches `line`.
MATCHER_P2(FailsWith, code, line,
           "has exit code " + testing::PrintToString(code) + " and one error line that " +
               testing::DescribeMatcher<std::string>(line)) {
  const bool one_line =
      std::count(arg.err.begin(), arg.err.end(), '\n') == 1 && arg.err.back() == '\n';
  return arg.exit_code == code && arg.out.empty() && one_line && arg.err.starts_with("error: ") &&
         testing::Value(arg.err, line);
}

/// As FailsWith, but log lines may come before the one error line.
MATCHER_P2(EndsWithError, code, line,
           "has exit code " + testing::PrintToString(code) + " and a last error line that " +
               testing::DescribeMatcher<std::string>(line)) {
  if (arg.err.empty() || arg.err.back() != '\n') return false;
  const size_t before = arg.err.rfind('\n', arg.err.size() - 2);
  const size_t start = before == std::string::npos ? 0 : before + 1;
  const std::string last = arg.err.substr(start), rest = arg.err.substr(0, start);
  return arg.exit_code == code && last.starts_with("error: ") && testing::Value(last, line) &&
         rest.find("error: ") == std::string::npos;
}

}  // namespace filigree::test
