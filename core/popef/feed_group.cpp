#include "popef/feed_group.h"

#include <exception>
#include <vector>

#include "popef/error.h"
#include "popef/feed_group_core.h"

namespace poprt::popef {
namespace detail {

namespace {
// Small steps are collected before they are written.
constexpr size_t kGather = 1 << 16;
}  // namespace

FeedGroup::FeedGroup(WriterCore* core, std::span<const FeedDataInfo> infos,
                     const std::string& executable)
    : core_(core) {
  const auto descriptor = [&](const FeedDataInfo& info) {
    return Descriptor{.name = info.name(),
                      .executable = executable,
                      .info = info.tensorInfo(),
                      .num_tensors = info.numTensors()};
  };
  // Checks everything that may be refused before anything is written.
  for (const FeedDataInfo& info : infos) {
    (void)info.sizeInBytes();
    (void)encode_descriptor(descriptor(info), BlobType::DATA_FEED, false);
  }
  for (const FeedDataInfo& info : infos) {
    Feed feed;
    feed.name = info.name();
    feed.bytes = info.sizeInBytes();
    feed.tensor_bytes = info.tensorInfo().sizeInBytes();
    feed.tensors = info.numTensors();
    feed.blob = OpenBlob::begin(*core->sink, BlobType::DATA_FEED, descriptor(info), false);
    core->sink->extend(feed.bytes);
    feed.blob.end_payload(*core->sink, feed.bytes, feed.bytes);
    feeds_.push_back(std::move(feed));
  }
}

void FeedGroup::check_active() const {
  if (!active())
    raise<InactiveWriterError>(
        "the group of {} feeds is no longer active: it was closed, failed, or another blob was "
        "begun",
        feeds_.size());
}

const FeedGroup::Feed& FeedGroup::at(size_t index) const {
  if (index >= feeds_.size())
    raise<SizeError>("the group has {} feeds, number {} was requested", feeds_.size(), index);
  return feeds_[index];
}

void FeedGroup::write(size_t index, std::span<const std::byte> bytes) {
  check_active();
  guarded([&] {
    (void)at(index);
    Feed& feed = feeds_[index];
    if (bytes.size() > feed.bytes - feed.given)
      raise<SizeError>("feed '{}' takes {} bytes of data, got {}", feed.name, feed.bytes,
                       feed.given + bytes.size());
    feed.given += bytes.size();
    if (feed.gathered.size() + bytes.size() < kGather) {
      feed.gathered.insert(feed.gathered.end(), bytes.begin(), bytes.end());
      return;
    }
    flush(feed);
    store(feed, bytes);
  });
}

uint64_t FeedGroup::written_tensors(size_t index) const {
  const Feed& feed = at(index);
  return feed.tensor_bytes == 0 ? feed.tensors : feed.given / feed.tensor_bytes;
}

void FeedGroup::store(Feed& feed, std::span<const std::byte> bytes) {
  core_->sink->write_at(feed.blob.payload + feed.stored, bytes);
  feed.checksum.update(bytes);
  feed.stored += bytes.size();
}

void FeedGroup::flush(Feed& feed) {
  store(feed, feed.gathered);
  feed.gathered.clear();
}

void FeedGroup::finish() {
  check_active();
  guarded([&] {
    for (Feed& feed : feeds_) {
      if (feed.given != feed.bytes)
        raise<SizeError>("feed '{}' needs {} bytes of data, got {}", feed.name, feed.bytes,
                         feed.given);
      flush(feed);
    }
    for (Feed& feed : feeds_) feed.blob.write_header(*core_->sink, feed.checksum.value());
    core_->sink->fix_written();
  });
  deactivate();
}

void FeedGroup::abandon(std::string why) {
  if (!active()) return;
  if (core_->failure.empty()) core_->failure = std::move(why);
  deactivate();
}

void FeedGroup::deactivate() {
  WriterCore* core = std::exchange(core_, nullptr);
  if (core->active.get() == this) core->active = nullptr;  // may destroy this
}

}  // namespace detail

FeedGroupWriter::FeedGroupWriter(std::shared_ptr<detail::FeedGroup> group)
    : group_(std::move(group)), exceptions_(std::uncaught_exceptions()) {}

FeedGroupWriter::~FeedGroupWriter() {
  if (!group_->active()) return;
  if (std::uncaught_exceptions() > exceptions_) {
    group_->abandon("an exception ended the writing of a group of feeds");
    return;
  }
  try {
    group_->finish();
  } catch (...) {
    // finish() has marked the writer as failed, so its next call reports the error.
  }
}

size_t FeedGroupWriter::size() const { return group_->size(); }

void FeedGroupWriter::write(size_t index, const void* data, uint64_t bytes) {
  group_->write(index, {static_cast<const std::byte*>(data), static_cast<size_t>(bytes)});
}

void FeedGroupWriter::writeStep(std::span<const void* const> tensors) {
  if (tensors.size() != size())
    raise<SizeError>("a step of {} feeds needs as many tensors, got {}", size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); i++)
    group_->write(i, {static_cast<const std::byte*>(tensors[i]),
                      static_cast<size_t>(group_->tensor_bytes(i))});
}

uint64_t FeedGroupWriter::writtenTensors(size_t index) const {
  return group_->written_tensors(index);
}

void FeedGroupWriter::close() {
  if (group_->active()) group_->finish();
}

void FeedGroupWriter::abandon() { group_->abandon("the writing of a group of feeds was given up"); }

}  // namespace poprt::popef
