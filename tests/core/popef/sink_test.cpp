#include "popef/sink.h"

#include <gtest/gtest.h>

#include <span>
#include <sstream>
#include <string>

namespace poprt::popef {
namespace {

// Zeros are written in pieces.
TEST(Sink, WritesAnyNumberOfZeros) {
  for (const uint64_t count : {0u, 1u, 4095u, 4096u, 4097u, 300'000u}) {
    std::ostringstream out;
    const auto sink = stream_sink(out);
    sink->write_zeros(count);
    sink->commit();
    EXPECT_EQ(sink->size(), count);
    EXPECT_TRUE(out.str() == std::string(count, '\0')) << count;
  }
}

// The position is that in the sink, not in the stream.
TEST(Sink, AStreamWithPositionsIsOverwrittenInPlace) {
  std::ostringstream out;
  out << "before ";
  const auto sink = stream_sink(out);
  const std::string text = "0123456789", late = "ab";
  sink->write(std::as_bytes(std::span(text)));
  sink->write_at(3, std::as_bytes(std::span(late)));
  sink->write(std::as_bytes(std::span(late)));
  sink->fix_written();
  sink->commit();
  EXPECT_EQ(out.str(), "before 012ab56789ab");
  EXPECT_EQ(sink->size(), 12u);
}

}  // namespace
}  // namespace poprt::popef
