// Writing PopEF: to a stream or a file, blob by blob, payloads streamed.
//
//   FileWriter writer("model.popef");
//   writer.write(metadata);
//   {
//     auto blob = writer.createExecutable("model");
//     blob->write(bytes, size);
//   }
//   writer.close();
//
// One blob writer is active at a time: creating the next one finishes the last one. A blob writer
// that goes out of scope finishes its blob. When a blob cannot be finished (wrong size, an
// exception in flight, a full disk) the whole writer has failed: close() and everything else throw,
// and a file that was being written stays as it was before. A writer and its blob writers belong to
// one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "popef/feed_group.h"
#include "popef/types.h"

namespace poprt::popef {

namespace detail {
class BlobBuffer;
struct WriterCore;
}  // namespace detail

// Takes the payload of one blob.
class BlobWriter {
 public:
  explicit BlobWriter(std::shared_ptr<detail::BlobBuffer> buffer);
  ~BlobWriter();
  BlobWriter(const BlobWriter&) = delete;
  BlobWriter& operator=(const BlobWriter&) = delete;

  // Appends bytes. Throws InactiveWriterError, SizeError (more than the tensor info says),
  // FileError.
  void write(const void* data, uint64_t bytes);
  // Finishes the blob. Throws SizeError when a tensor or feed blob lacks bytes. A second call does
  // nothing.
  void close();
  // Does not finish the blob: the whole writer has failed. Does nothing when closed.
  void abandon();

 private:
  std::shared_ptr<detail::BlobBuffer> buffer_;
  int exceptions_;

 public:
  std::ostream stream;  // as write(); what it throws comes out of the stream's functions
};

class Writer {
 public:
  // Writes from the stream's current position on. The stream must be open in binary mode and
  // outlive the writer; when it can seek, its position must be a multiple of 4096 for executables
  // to be mapped straight from the file. Not for std::ios::app: use FileWriter.
  explicit Writer(std::ostream& stream);
  // As close(); what fails is not reported, so call close().
  virtual ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Every create function finishes the active blob first and throws what that throws, and LinkError
  // for an empty or (executables) repeated name.
  std::shared_ptr<BlobWriter> createExecutable(const std::string& name, bool compress = false);
  std::shared_ptr<BlobWriter> createOpaqueBlob(const std::string& name,
                                               const std::string& executable);
  // `executable` ties the data to one model of a file that holds several; empty: to every model
  // with such an anchor.
  std::shared_ptr<BlobWriter> createTensorData(const TensorDataInfo& info,
                                               const std::string& executable = {});
  std::shared_ptr<BlobWriter> createFeedData(const FeedDataInfo& info,
                                             const std::string& executable = {});
  // Several feeds that are filled side by side.
  std::shared_ptr<FeedGroupWriter> createFeedGroup(const std::vector<FeedDataInfo>& infos,
                                                   const std::string& executable = {});
  void write(const Metadata& metadata);

  // Finishes the active blob and the writer. A second call does nothing.
  void close();
  // Gives up: a file stays, or becomes again, what it was. Does nothing when closed.
  void abandon();

 protected:
  explicit Writer(std::unique_ptr<detail::WriterCore> core);

 private:
  std::unique_ptr<detail::WriterCore> core_;
  int exceptions_;
};

class FileWriter : public Writer {
 public:
  // TRUNCATE: the new file takes the place of `path` when close() has succeeded. APPEND: adds blobs
  // to a valid PopEF file, or makes a new one; a failed writer cuts the file back to what it was.
  enum class Mode { TRUNCATE, APPEND };
  explicit FileWriter(const std::string& path, Mode mode = Mode::TRUNCATE);
};

}  // namespace poprt::popef
