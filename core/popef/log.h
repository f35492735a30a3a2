// Logging of the PopEF library: its own logger, silent unless the environment asks for it.
//
//   POPEF_LOG_LEVEL  OFF (default) ERR WARN INFO DEBUG TRACE, in any case
//   POPEF_LOG_DEST   stderr (default), stdout, or the name of a file that lines are added to
#pragma once

#include "base/log.h"

namespace poprt::popef {

// Made from the environment on first use; safe from any thread. Lines look like
// "[12:34:56.789] [popef] [warning] ...".
Logger& log();

// As the environment would; null or "" stands for the default. An unknown level or a file that
// cannot be opened is said on stderr, and the default is used. Not while another thread logs.
void configure_log(const char* level, const char* destination);

}  // namespace poprt::popef
