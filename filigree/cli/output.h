// Standard output, for data only. A reader that goes away (`filigree … | head`) ends the program
// quietly; any other failure to write is an error.
#pragma once

#include <string_view>

namespace filigree::cli {

/// The reader of standard output is gone. Not a failure to report: exit code 128 + SIGPIPE.
struct OutputClosed {};

/// Makes writing to a closed pipe an error code instead of a signal, so that long work whose log
/// reader died can still save its state.
void ignore_closed_pipes();

/// Throws OutputClosed, or Error (on a full disk, say).
void write_output(std::string_view text);
void flush_output();

}  // namespace filigree::cli
