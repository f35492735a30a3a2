// Ends a command with one line when the system signals a fault of a file.
#pragma once

namespace poprt::cli {

// Installs handlers for two signals:
// * SIGBUS, which a read from a memory map raises after another process has truncated the file: the
//   command removes its temporary files, prints one line with the name of the file and ends with
//   status 1.
// * SIGXFSZ, for a file that exceeds the limit of `ulimit -f`: the write fails instead, and the
//   command reports it like a full disk.
void handle_file_signals();

}  // namespace poprt::cli
