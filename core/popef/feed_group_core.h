// The state of a FeedGroupWriter. Private to the writing classes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "codecs/crc32c.h"
#include "popef/types.h"
#include "popef/writer_core.h"

namespace poprt::popef::detail {

class FeedGroup : public Active {
 public:
  FeedGroup(WriterCore* core, std::span<const FeedDataInfo> infos, const std::string& executable);

  bool active() const { return core_ != nullptr; }
  size_t size() const { return feeds_.size(); }
  uint64_t tensor_bytes(size_t index) const { return at(index).tensor_bytes; }
  uint64_t written_tensors(size_t index) const;
  void write(size_t index, std::span<const std::byte> bytes);
  void finish() override;
  void abandon(std::string why) override;

 private:
  struct Feed {
    std::string name;
    OpenBlob blob;
    uint64_t bytes = 0, tensor_bytes = 0, tensors = 0;
    uint64_t given = 0, stored = 0;  // given is the sum of stored and buffered bytes
    std::vector<std::byte> gathered;
    Crc32c checksum;  // of the stored bytes
  };
  const Feed& at(size_t index) const;
  void check_active() const;
  void store(Feed& feed, std::span<const std::byte> bytes);
  void flush(Feed& feed);
  void deactivate();
  template <class F>
  void guarded(F f) {
    try {
      f();
    } catch (const std::exception& e) {
      abandon(e.what());
      throw;
    }
  }

  WriterCore* core_;  // null if the group is not active
  std::vector<Feed> feeds_;
};

}  // namespace poprt::popef::detail
