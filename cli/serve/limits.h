// Limits of the server and their defaults. main.cpp has an option for each of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace poprt::serve {

struct Limits {
  size_t request_bytes = size_t{64} << 20;  // body of a request
  size_t json_bytes = size_t{16} << 20;     // JSON in it, which needs more memory than its text
  size_t bodies_bytes = size_t{1} << 30;    // all bodies of HTTP that are in memory
  size_t header_bytes = size_t{32} << 10;
  unsigned connections = 4096;  // of HTTP
  int idle_seconds = 120;       // after which an idle connection is closed
  int64_t waiting = 1024;       // requests in flight
  int64_t texts = 64;           // of generators, that wait or are generated
  int64_t request_ns = 0;       // how long a request may wait for its computation; 0: no limit
};

}  // namespace poprt::serve
