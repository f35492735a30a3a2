#include "popef/feed_group.h"

#include <gtest/gtest.h>

#include "core/popef/support.h"
#include "popef/error.h"

namespace poprt::popef {
namespace {

constexpr uint64_t kSteps = 3000;

std::vector<FeedDataInfo> infos() {
  return {{"image", TensorInfo(DataType::F32, {5, 7}), kSteps},
          {"mask", TensorInfo(DataType::BOOL, {3}), kSteps},
          {"scalar", TensorInfo(DataType::S64, {}), kSteps},
          {"empty", TensorInfo(DataType::F16, {0, 2}), kSteps}};
}

std::vector<std::string> data() {
  std::vector<std::string> all;
  uint32_t seed = 1;
  for (const FeedDataInfo& info : infos()) all.push_back(random_bytes(info.sizeInBytes(), seed++));
  return all;
}

void write_in_sequence(Writer& writer) {
  const auto all = data();
  for (size_t i = 0; i < all.size(); i++)
    writer.createFeedData(infos()[i], "model")->write(all[i].data(), all[i].size());
}

void write_in_steps(Writer& writer) {
  const auto all = data();
  const auto feeds = writer.createFeedGroup(infos(), "model");
  for (uint64_t step = 0; step < kSteps; step++) {
    std::vector<const void*> tensors;
    for (size_t i = 0; i < all.size(); i++)
      tensors.push_back(all[i].data() + step * infos()[i].tensorInfo().sizeInBytes());
    feeds->writeStep(tensors);
  }
  feeds->close();
}

// A stream that accepts all bytes but cannot seek.
class Pipe : public std::streambuf {
 public:
  std::string bytes;

 protected:
  int_type overflow(int_type c) override {
    bytes.push_back(traits_type::to_char_type(c));
    return c;
  }
};

template <class F>
std::string in_memory(F write) {
  std::ostringstream out;
  Writer writer(out);
  writer.createOpaqueBlob("before", "")->stream << "b";
  write(writer);
  writer.createOpaqueBlob("after", "")->stream << "a";
  writer.close();
  return out.str();
}

TEST(FeedGroup, StepByStepEqualsOneAfterTheOther) {
  const std::string expected = in_memory(write_in_sequence);
  EXPECT_EQ(in_memory(write_in_steps), expected);

  const TemporaryFolder folder;
  for (const auto mode : {FileWriter::Mode::TRUNCATE, FileWriter::Mode::APPEND}) {
    FileWriter writer(folder / "f", mode);
    write_in_steps(writer);
    writer.close();
  }
  const std::string one = [] {
    std::ostringstream out;
    Writer writer(out);
    write_in_sequence(writer);
    writer.close();
    return out.str();
  }();
  EXPECT_EQ(file_bytes(folder / "f"), one + one);

  Pipe pipe;
  std::ostream stream(&pipe);
  Writer writer(stream);
  write_in_steps(writer);
  writer.close();
  EXPECT_EQ(pipe.bytes, one);
}

TEST(FeedGroup, AnyInterleavingOfPieces) {
  const auto all = data();
  std::mt19937 random(7);
  const auto write = [&](Writer& writer) {
    const auto feeds = writer.createFeedGroup(infos(), "model");
    std::vector<size_t> at(all.size());
    for (size_t left = 1; left != 0;) {
      left = 0;
      for (size_t i = 0; i < all.size(); i++) {
        const size_t n = std::min<size_t>(random() % 200000, all[i].size() - at[i]);
        feeds->write(i, all[i].data() + at[i], n);
        at[i] += n;
        left += all[i].size() - at[i];
      }
    }
    EXPECT_EQ(feeds->writtenTensors(0), kSteps);
  };
  EXPECT_EQ(in_memory(write), in_memory(write_in_sequence));
}

TEST(FeedGroup, TensorsComeBack) {
  Reader reader;
  parse(reader, in_memory(write_in_steps));
  ASSERT_EQ(reader.feeds().size(), 4u);
  const auto all = data();
  for (const uint64_t k : {uint64_t{0}, uint64_t{17}, kSteps - 1})
    for (size_t i = 0; i < 4; i++) {
      const uint64_t bytes = infos()[i].tensorInfo().sizeInBytes();
      EXPECT_EQ(text_of(reader.feeds()[i].tensor(k)), all[i].substr(k * bytes, bytes));
    }
}

TEST(FeedGroup, MissingOrTooManyBytesFailTheWriter) {
  const std::vector<FeedDataInfo> two = {{"a", TensorInfo(DataType::U8, {2}), 2},
                                         {"b", TensorInfo(DataType::U8, {1}), 2}};
  {
    std::ostringstream out;
    Writer writer(out);
    const auto feeds = writer.createFeedGroup(two);
    feeds->write(0, "1234", 4);
    feeds->write(1, "1", 1);
    EXPECT_EQ(feeds->writtenTensors(1), 1u);
    EXPECT_THROW(feeds->close(), SizeError);
    EXPECT_THROW(writer.close(), InactiveWriterError);
    EXPECT_THROW(feeds->write(1, "2", 1), InactiveWriterError);
  }
  {
    std::ostringstream out;
    Writer writer(out);
    const auto feeds = writer.createFeedGroup(two);
    EXPECT_THROW(feeds->write(0, "12345", 5), SizeError);
    EXPECT_THROW(writer.createOpaqueBlob("o", ""), InactiveWriterError);
  }
  {
    std::ostringstream out;
    Writer writer(out);
    const auto feeds = writer.createFeedGroup(two);
    const void* one[] = {"12"};
    EXPECT_THROW(feeds->writeStep(one), SizeError);
    EXPECT_THROW(feeds->write(2, "1", 1), SizeError);
  }
}

TEST(FeedGroup, RefusedInfosLeaveTheWriterUsable) {
  std::ostringstream out;
  Writer writer(out);
  EXPECT_THROW(writer.createFeedGroup({{"", TensorInfo(DataType::U8, {}), 1}}), LinkError);
  EXPECT_THROW(writer.createFeedGroup({{"a", TensorInfo(DataType::U8, {}), 1},
                                       {"b", TensorInfo(DataType::U8, {-1}), 1}}),
               SizeError);
  writer.createOpaqueBlob("o", "")->stream << "x";
  writer.close();
  Reader reader;
  parse(reader, out.str());
  EXPECT_EQ(reader.blobs().size(), 1u);
}

TEST(FeedGroup, NextBlobFinishesIt) {
  std::ostringstream out;
  Writer writer(out);
  const auto feeds = writer.createFeedGroup({{"a", TensorInfo(DataType::U8, {}), 2}});
  feeds->write(0, "12", 2);
  writer.createOpaqueBlob("o", "")->stream << "x";
  EXPECT_THROW(feeds->write(0, "3", 1), InactiveWriterError);
  writer.close();
  Reader reader;
  parse(reader, out.str());
  EXPECT_EQ(text_of(reader.feeds().at(0).payload()), "12");
}

TEST(FeedGroup, ExceptionLeavesTheOldFile) {
  const TemporaryFolder folder;
  write_bytes(folder / "f", sample_file());
  for (const auto mode : {FileWriter::Mode::TRUNCATE, FileWriter::Mode::APPEND}) {
    try {
      FileWriter writer(folder / "f", mode);
      const auto feeds = writer.createFeedGroup(infos());
      throw std::logic_error("stop");
    } catch (const std::logic_error&) {
    }
    EXPECT_EQ(file_bytes(folder / "f"), sample_file());
    EXPECT_EQ(folder.entries(), 1u);
  }
}

}  // namespace
}  // namespace poprt::popef
