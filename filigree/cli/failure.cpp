#include "filigree/cli/failure.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <csignal>
#include <new>
#include <string>

#include "filigree/base/error.h"
#include "filigree/cli/output.h"

namespace filigree::cli {
namespace {

constexpr int kFailure = 1, kUsage = 2, kSignal = 128;
constexpr const char* kOutOfMemory =
    "out of memory; make the batches or the model smaller, or give the process more memory";

/// One line whatever the message holds: file names and library messages may have line breaks.
std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return text;
}

int report(const std::string& message, int code) {
  fmt::print(stderr, "error: {}\n", one_line(message));
  return code;
}

}  // namespace

int report_failure(std::exception_ptr failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const OutputClosed&) {
    return kSignal + SIGPIPE;
  } catch (const Interrupted& error) {
    return report(error.what(), kSignal + error.signal());
  } catch (const SaidElsewhere&) {
    return kFailure;
  } catch (const UsageError& error) {
    return report(error.what(), kUsage);
  } catch (const Error& error) {
    return report(error.what(), kFailure);
  } catch (const std::bad_alloc&) {
    return report(kOutOfMemory, kFailure);
  } catch (const c10::Error& error) {
    const std::string message = error.what_without_backtrace();
    const bool allocation = message.find("can't allocate memory") != std::string::npos ||
                            message.find("out of memory") != std::string::npos;
    return report(allocation ? kOutOfMemory : message, kFailure);
  } catch (const std::exception& error) {
    return report(error.what(), kFailure);
  }
}

}  // namespace filigree::cli
