// Writes PopEF to a stream or a file, blob by blob, with streaming of payloads.
//
//   FileWriter writer("model.popef");
//   writer.write(metadata);
//   {
//     auto blob = writer.createExecutable("model");
//     blob->write(bytes, size);
//   }
//   writer.close();
//
// Only one blob writer is active at a time: creating the next one finishes the previous one. The
// destructor of a blob writer finishes its blob. If a blob cannot be finished (wrong size, an
// exception, a full disk), the whole writer has failed: close() and all functions that write throw,
// and the file keeps its previous contents. A writer and its blob writers must be used by one
// thread.
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

// Writes the payload of one blob.
class BlobWriter {
 public:
  explicit BlobWriter(std::shared_ptr<detail::BlobBuffer> buffer);
  ~BlobWriter();
  BlobWriter(const BlobWriter&) = delete;
  BlobWriter& operator=(const BlobWriter&) = delete;

  // Appends bytes. Throws InactiveWriterError, SizeError (more bytes than the tensor info allows),
  // FileError.
  void write(const void* data, uint64_t bytes);
  // Finishes the blob. Throws SizeError if bytes of a tensor or feed blob are missing. A second
  // call has no effect.
  void close();
  // Abandons the blob; the whole writer has then failed. Has no effect after close().
  void abandon();

 private:
  std::shared_ptr<detail::BlobBuffer> buffer_;
  int exceptions_;

 public:
  std::ostream stream;  // writes like write(); its functions pass on the exceptions of write()
};

class Writer {
 public:
  // Writes from the stream's current position. The stream must be in binary mode and outlive the
  // writer. If it can seek, its position must be a multiple of 4096 so that executables can be
  // mapped directly from the file. A stream with std::ios::app does not work; use FileWriter.
  explicit Writer(std::ostream& stream);
  // Closes the writer without reporting errors, so call close() first. If an exception ends the
  // writing, the destructor abandons the writer instead.
  virtual ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Every create function finishes the active blob first and throws its errors, InactiveWriterError
  // if the writer is closed or has failed, LinkError for an empty name or the repeated name of an
  // executable, SizeError if a name, a shape or the size of the data is too large, and FileError.
  std::shared_ptr<BlobWriter> createExecutable(const std::string& name, bool compress = false);
  std::shared_ptr<BlobWriter> createOpaqueBlob(const std::string& name,
                                               const std::string& executable);
  // `executable` assigns the data to one model of a file with several; if empty, it belongs to
  // every model with such an anchor.
  std::shared_ptr<BlobWriter> createTensorData(const TensorDataInfo& info,
                                               const std::string& executable = {});
  std::shared_ptr<BlobWriter> createFeedData(const FeedDataInfo& info,
                                             const std::string& executable = {});
  // Several feeds that are filled in parallel.
  std::shared_ptr<FeedGroupWriter> createFeedGroup(const std::vector<FeedDataInfo>& infos,
                                                   const std::string& executable = {});
  void write(const Metadata& metadata);

  // Announces that about `bytes` bytes will be written. This is a hint for large files.
  void reserve(uint64_t bytes);
  // Finishes the active blob and the writer. A second call has no effect.
  void close();
  // Abandons the writer: a file keeps or regains its previous contents. Has no effect after
  // close().
  void abandon();

 protected:
  explicit Writer(std::unique_ptr<detail::WriterCore> core);

  std::unique_ptr<detail::WriterCore> core_;

 private:
  int exceptions_;
};

class FileWriter : public Writer {
 public:
  // TRUNCATE: the new file replaces `path` when close() succeeds. APPEND: adds blobs to a valid
  // PopEF file, or creates a new one; if the writer fails, the file is truncated to its old size.
  enum class Mode { TRUNCATE, APPEND };
  explicit FileWriter(const std::string& path, Mode mode = Mode::TRUNCATE);

  // Replaces the metadata that was written last, for values that are known late. Both must have the
  // same size in the file; texts of the same lengths do. Throws SizeError otherwise, and if the
  // file has no metadata or is in mode APPEND.
  void rewrite(const Metadata& metadata);
};

}  // namespace poprt::popef
