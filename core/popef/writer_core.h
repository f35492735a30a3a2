// What the writer and the things that fill its blobs share. Private to the writing classes.
#pragma once

#include <exception>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "popef/header.h"
#include "popef/sink.h"

namespace poprt::popef::detail {

// What is being filled: the next create function finishes it.
class Active {
 public:
  virtual ~Active() = default;
  virtual void finish() = 0;
  // It will not be finished; the writer has failed.
  virtual void abandon(std::string why) = 0;
};

struct WriterCore {
  std::unique_ptr<Sink> sink;
  std::shared_ptr<Active> active;
  std::set<std::string> executables;
  std::string failure;  // why nothing can be written any more
  bool closed = false;

  void check() const;  // throws InactiveWriterError
  void finish_active();
  // Before anything new is begun.
  void begin() {
    check();
    finish_active();
  }

  // Runs f, which makes what becomes active; a file that cannot be written fails the writer.
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

  // Writes zeros for the header (no reader takes an unfinished one for a blob), the descriptor and
  // the padding up to the payload.
  static OpenBlob begin(Sink& sink, BlobType type, const Descriptor& descriptor, bool compress);
  // The payload lies in [payload, payload + stored_bytes); pads it to the end of the blob.
  void end_payload(Sink& sink, uint64_t stored_bytes, uint64_t raw_bytes);
  void write_header(Sink& sink) const;
};

}  // namespace poprt::popef::detail
