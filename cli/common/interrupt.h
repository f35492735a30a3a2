// Removes temporary files when SIGINT, SIGTERM or SIGHUP ends the process.
#pragma once

namespace poprt::cli {

// Installs handlers that remove the temporary files which this process is writing and then end it
// as usual. Signals that the caller ignores (nohup) stay ignored. This is needed on systems on
// which such files have names (core/base/file.h); on others the system removes them.
void remove_temporaries_when_interrupted();

// Removes the named temporary files of this process. Async-signal-safe, for handlers.
void remove_temporaries();

}  // namespace poprt::cli
