// What a failing program must look like.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "tests/cli/process.h"

namespace filigree::test {

/// Exit code `code`, nothing on standard output, and on standard error exactly one line that starts
/// with "error: " and matches `line`. (Progress that was logged before a failure is allowed only
/// where a test says so, see LastLineIsError.)
MATCHER_P2(FailsWith, code, line, "") {
  *result_listener << "exit code " << arg.exit_code << ", output \"" << arg.out << "\", errors \""
                   << arg.err << "\"";
  const bool one_line =
      std::count(arg.err.begin(), arg.err.end(), '\n') == 1 && arg.err.back() == '\n';
  return arg.exit_code == code && arg.out.empty() && one_line && arg.err.starts_with("error: ") &&
         testing::Value(arg.err, line);
}

/// As FailsWith, but log lines may come before the one error line.
MATCHER_P2(EndsWithError, code, line, "") {
  *result_listener << "exit code " << arg.exit_code << ", errors \"" << arg.err << "\"";
  if (arg.err.empty() || arg.err.back() != '\n') return false;
  const size_t before = arg.err.rfind('\n', arg.err.size() - 2);
  const size_t start = before == std::string::npos ? 0 : before + 1;
  const std::string last = arg.err.substr(start), rest = arg.err.substr(0, start);
  return arg.exit_code == code && last.starts_with("error: ") && testing::Value(last, line) &&
         rest.find("error: ") == std::string::npos;
}

}  // namespace filigree::test
