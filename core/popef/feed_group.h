// Writes several feeds in parallel, step by step, as a data loader produces them.
//
//   const auto feeds = writer.createFeedGroup({{"image", image_info, 1000},
//                                              {"mask", mask_info, 1000}});
//   for (...) feeds->writeStep({image, mask});
//   feeds->close();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "popef/types.h"

namespace poprt::popef {

namespace detail {
class FeedGroup;
}  // namespace detail

// Fills feed blobs. Their space is reserved when the group is created, from their numbers of
// tensors. The file is equal to the one that results from writing one feed after the other. The
// group is active and is finished like a BlobWriter. For a stream that cannot seek, the whole group
// is kept in memory until it is finished.
class FeedGroupWriter {
 public:
  explicit FeedGroupWriter(std::shared_ptr<detail::FeedGroup> group);
  ~FeedGroupWriter();
  FeedGroupWriter(const FeedGroupWriter&) = delete;
  FeedGroupWriter& operator=(const FeedGroupWriter&) = delete;

  size_t size() const;  // number of feeds
  // Appends bytes to feed `index`; feeds may be filled in any order. Throws InactiveWriterError,
  // SizeError (no such feed, or more bytes than its size), FileError.
  void write(size_t index, const void* data, uint64_t bytes);
  // Writes one tensor of every feed, in the order of the feeds. Throws like write(), and SizeError
  // if the number of pointers differs.
  void writeStep(std::span<const void* const> tensors);
  uint64_t writtenTensors(size_t index) const;  // the number of complete tensors
  // Throws SizeError if bytes of a feed are missing. A second call has no effect.
  void close();
  // Like BlobWriter::abandon().
  void abandon();

 private:
  std::shared_ptr<detail::FeedGroup> group_;
  int exceptions_;
};

}  // namespace poprt::popef
