// zstd streams, the codec of compressed executables. The caller of Writer::createExecutable()
// decides whether an executable is compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "popef/source.h"

namespace poprt::popef {

// Compresses a stream of bytes to a frame, at whose end zstd stores a checksum of the content.
class Compressor {
 public:
  using Output = std::function<void(std::span<const std::byte>)>;

  explicit Compressor(Output output);
  ~Compressor();
  void write(std::span<const std::byte> bytes);
  // Ends the frame. If the compression ratio is above kMaxCompressionRatio, adds skippable frames
  // that reduce it to that value, so that readers can bound the memory that a file makes them
  // allocate.
  void finish();
  uint64_t raw_bytes() const { return raw_bytes_; }
  uint64_t stored_bytes() const { return stored_bytes_; }

 private:
  void run(std::span<const std::byte> bytes, bool end);

  struct State;
  std::unique_ptr<State> state_;
  Output output_;
  uint64_t raw_bytes_ = 0, stored_bytes_ = 0;
};

// The decompressed bytes of `stored`; there must be exactly `raw_bytes`. Reading continues from the
// last position; reading before it starts again from the beginning.
std::unique_ptr<Content> compressed_content(std::unique_ptr<Content> stored, uint64_t raw_bytes);

}  // namespace poprt::popef
