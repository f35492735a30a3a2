// Reads files whose bytes can be read only once: pipes, devices and the standard input.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace poprt::cli {

// Passes all bytes of a file, in pieces, to `take`; "-" is the standard input. Throws Failure with
// `path` in the message if the file cannot be read, if it has more than `most` bytes (a device:
// more than 16 MiB), if no process opens a pipe for writing within 10 seconds, or if nothing comes
// for 10 minutes.
void read_pieces(const std::string& path, uint64_t most,
                 const std::function<void(std::span<const char>)>& take);

}  // namespace poprt::cli
