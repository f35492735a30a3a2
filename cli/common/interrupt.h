// Ends child processes and removes temporary files when SIGINT, SIGTERM or SIGHUP ends the process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>

namespace poprt::cli {

// Installs handlers that end the child processes and remove the temporary files and folders of this
// process, and then end it as usual. Signals that the caller ignores (nohup) stay ignored. Without
// the handlers, the system only removes temporary files that have no names, which not all file
// systems support (core/base/file.h).
void remove_temporaries_when_interrupted();

// Ends the children of EndedWithUs, and removes the named temporary files of this process and those
// of RemovedWithUs. Async-signal-safe, for handlers.
void remove_temporaries();

// While an object exists, remove_temporaries() also removes this file or folder, or ends this child
// process and waits for it. If there are too many objects, further ones have no effect.
class RemovedWithUs {
 public:
  explicit RemovedWithUs(std::string path);
  ~RemovedWithUs();
  RemovedWithUs(const RemovedWithUs&) = delete;
  RemovedWithUs& operator=(const RemovedWithUs&) = delete;

 private:
  const std::string path_;
  std::atomic<const char*>* slot_;
};
class EndedWithUs {
 public:
  explicit EndedWithUs(pid_t child);
  ~EndedWithUs();
  EndedWithUs(const EndedWithUs&) = delete;
  EndedWithUs& operator=(const EndedWithUs&) = delete;

 private:
  std::atomic<pid_t>* slot_;
};

}  // namespace poprt::cli
