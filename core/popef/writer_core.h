// The state that the writer and the writers of its blobs share. Private to the writing classes.
#pragma once

#include <exception>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "popef/header.h"
#include "popef/sink.h"

namespace poprt::popef::detail {

// A blob or group that is being written; the next create function finishes it.
class Active {
 public:
  virtual ~Active() = default;
  virtual void finish() = 0;
  // Ends it without finishing; the writer has then failed.
  virtual void abandon(std::string why) = 0;
};

struct WriterCore {
  std::unique_ptr<Sink> sink;
  std::shared_ptr<Active> active;
  std::set<std::string> executables;
  uint64_t metadata_at = 0, metadata_bytes = 0;  // the last blob of metadata; 0 bytes: none
  std::string failure;                           // the reason why nothing more can be written
  bool closed = false;
  bool can_rewrite = false;  // whether `sink` can overwrite every byte

  void check() const;  // throws InactiveWriterError
  void finish_active();
  // Called before a new blob or group begins, before metadata is replaced, and before the writer is
  // closed.
  void begin() {
    check();
    finish_active();
  }

  // Calls f, which creates the next active object. If the file cannot be written, the writer has
  // failed.
  template <class F>
  auto create(F f) {
    try {
      auto made = f();
      active = made;
      return made;
    } catch (const std::exception& e) {
      note_failure(e);
      throw;
    }
  }

 private:
  void note_failure(const std::exception& e);
};

// A blob whose header is not written yet.
struct OpenBlob {
  BlobHeader header;
  uint64_t start = 0;    // position of the header
  uint64_t payload = 0;  // position of the payload
  std::vector<std::byte> descriptor;

  // Writes zeros for the header (readers do not accept them as a blob), the descriptor and the
  // padding up to the payload.
  static OpenBlob begin(Sink& sink, BlobType type, const Descriptor& descriptor, bool compress);
  // The payload is at [payload, payload + stored_bytes). Pads it to the end of the blob.
  void end_payload(Sink& sink, uint64_t stored_bytes, uint64_t raw_bytes);
  // `checksum` is the CRC-32C of the payload as stored.
  void write_header(Sink& sink, uint32_t checksum);
};

}  // namespace poprt::popef::detail
