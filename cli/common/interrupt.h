// What SIGINT, SIGTERM and SIGHUP leave behind: nothing.
#pragma once

namespace poprt::cli {

// From now on these signals remove the temporary files that this process is writing before they end
// it as they always do. A signal that the caller ignores (nohup) stays ignored. Needed where files
// have temporary names (core/base/file.h); elsewhere the system removes them.
void remove_temporaries_when_interrupted();

}  // namespace poprt::cli
