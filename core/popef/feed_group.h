// Several feeds written side by side, step by step, as a data loader produces them.
//
//   const auto feeds = writer.createFeedGroup({{"image", image_info, 1000}, {"mask", mask_info,
//   1000}}); for (...) feeds->writeStep({image, mask}); feeds->close();
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

// Fills feed blobs whose room is reserved from their counts when the group is made; the file equals
// the one that filling them one after the other gives. Active and finished like a BlobWriter. A
// stream that cannot seek gets the whole group from memory when it is finished.
class FeedGroupWriter {
 public:
  explicit FeedGroupWriter(std::shared_ptr<detail::FeedGroup> group);
  ~FeedGroupWriter();
  FeedGroupWriter(const FeedGroupWriter&) = delete;
  FeedGroupWriter& operator=(const FeedGroupWriter&) = delete;

  size_t size() const;  // number of feeds
  // Appends bytes to feed `index`, in any order between feeds. Throws InactiveWriterError,
  // SizeError (no such feed, more than it takes), FileError.
  void write(size_t index, const void* data, uint64_t bytes);
  // One tensor of every feed, in the order of the feeds. Throws as write(), and SizeError when the
  // number of pointers differs.
  void writeStep(std::span<const void* const> tensors);
  uint64_t writtenTensors(size_t index) const;  // whole ones
  // Throws SizeError when a feed lacks bytes. A second call does nothing.
  void close();
  // As BlobWriter::abandon().
  void abandon();

 private:
  std::shared_ptr<detail::FeedGroup> group_;
  int exceptions_;
};

}  // namespace poprt::popef
