// Logging of the PopEF library. It has a separate logger that is silent by default.
//
//   POPEF_LOG_LEVEL  OFF (default) ERR WARN INFO DEBUG TRACE, in upper or lower case
//   POPEF_LOG_DEST   stderr (default), stdout, or the name of a file to which lines are appended
#pragma once

#include "base/log.h"

namespace poprt::popef {

// The logger, configured from the environment on first use. Thread-safe. Lines have the form
// "[12:34:56.789] [popef] [warning] ...".
Logger& log();

// Configures the logger; `level` and `destination` have the values of POPEF_LOG_LEVEL and
// POPEF_LOG_DEST, and null and "" mean the default. If the level is unknown or the file cannot be
// opened, prints that to stderr (to stdout if that is the destination) and uses the default. Must
// not be called while another thread logs.
void configure_log(const char* level, const char* destination);

}  // namespace poprt::popef
