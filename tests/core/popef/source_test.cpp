// Sources of bytes: streams that end early, fail, cannot seek or begin in their middle, and streams
// over blobs, which behave like a stream over a string.
#include "popef/source.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "core/popef/support.h"
#include "popef/error.h"
#include "popef/log.h"
#include "support/recorded_lines.h"
#include "support/sanitized.h"

namespace poprt::popef {
namespace {

// A stream that returns its bytes in pieces, is seekable only on request, and fails after a given
// position.
class PieceBuffer : public std::streambuf {
 public:
  struct Rules {
    size_t piece = 100;
    bool seekable = false;
    size_t fails_at = SIZE_MAX;
  };
  PieceBuffer(std::string bytes, Rules rules) : bytes_(std::move(bytes)), rules_(rules) {}
  size_t given() const { return at_; }

 protected:
  int_type underflow() override {
    if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
    if (at_ >= rules_.fails_at) throw std::runtime_error("the wire is cut");
    const size_t count = std::min({rules_.piece, bytes_.size() - at_, rules_.fails_at - at_});
    if (count == 0) return traits_type::eof();
    setg(bytes_.data() + at_, bytes_.data() + at_, bytes_.data() + at_ + count);
    at_ += count;
    return traits_type::to_int_type(*gptr());
  }
  pos_type seekoff(off_type offset, std::ios::seekdir from, std::ios::openmode) override {
    if (!rules_.seekable) return pos_type(-1);
    off_type base = 0;
    if (from == std::ios::cur) base = static_cast<off_type>(at_) - (egptr() - gptr());
    if (from == std::ios::end) base = static_cast<off_type>(bytes_.size());
    return seekpos(base + offset, std::ios::in);
  }
  pos_type seekpos(pos_type to, std::ios::openmode) override {
    if (!rules_.seekable || to < 0 || static_cast<size_t>(off_type(to)) > bytes_.size())
      return pos_type(-1);
    at_ = static_cast<size_t>(off_type(to));
    setg(nullptr, nullptr, nullptr);
    return to;
  }

 private:
  std::string bytes_;
  Rules rules_;
  size_t at_ = 0;
};

// Owns its buffer.
struct PieceStream : PieceBuffer, std::istream {
  PieceStream(std::string bytes, Rules rules)
      : PieceBuffer(std::move(bytes), rules), std::istream(this) {}
};

std::string all_of(const Source& source) {
  std::string bytes(source.size(), '\0');
  source.read(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const poprt::Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  return "";
}

TEST(Source, StreamsOfEveryLengthAndStartGiveTheirBytes) {
  for (const size_t length : {0, 1, 2, 63, 65535, 65536, 65537, 200000})
    for (const bool seekable : {true, false}) {
      const std::string bytes = random_bytes(length);
      for (const size_t start : {size_t{0}, length / 3, length}) {
        const auto open = [&] {
          auto stream = std::make_shared<PieceStream>(
              bytes, PieceBuffer::Rules{.piece = 4096, .seekable = seekable});
          std::string skipped(start, ' ');
          stream->read(skipped.data(), static_cast<std::streamsize>(start));
          return stream;
        };
        const size_t left = length - start;
        SCOPED_TRACE(fmt::format("{} bytes from {}", length, start));
        const auto whole = stream_source(open(), 0);
        EXPECT_EQ(whole->size(), left);
        EXPECT_EQ(all_of(*whole), bytes.substr(start));
        EXPECT_EQ(whole->name(), "stream");
        if (left == 0) continue;
        const auto exact = stream_source(open(), left), part = stream_source(open(), left / 2 + 1);
        EXPECT_EQ(all_of(*exact), bytes.substr(start));
        EXPECT_EQ(all_of(*part), bytes.substr(start, left / 2 + 1));
        EXPECT_EQ(error_of([&] { stream_source(open(), left + 1); }),
                  fmt::format("data_loss: truncated: the stream has {} bytes, {} were announced",
                              left, left + 1));
        const size_t middle = left / 2;
        std::string some(left - middle, ' ');
        whole->read(middle, std::as_writable_bytes(std::span(some)));
        EXPECT_EQ(some, bytes.substr(start + middle));
      }
    }
}

TEST(Source, OfAStreamThatCannotBeSoughtNoMoreIsTakenThanWasAnnounced) {
  const std::string bytes = random_bytes(300000);
  for (const uint64_t size : {uint64_t{1}, uint64_t{4096}, uint64_t{65536}, uint64_t{70000}}) {
    const auto stream = std::make_shared<PieceStream>(bytes, PieceBuffer::Rules{.piece = 1});
    EXPECT_EQ(all_of(*stream_source(stream, size)), bytes.substr(0, size));
    EXPECT_EQ(stream->given(), size);
    EXPECT_EQ(stream->get(), static_cast<unsigned char>(bytes[size])) << "the stream goes on";
  }
}

// A stream at its end has no position. It may have more bytes later.
TEST(Source, ReadsBytesWrittenAfterTheEndOfAStream) {
  auto stream =
      std::make_shared<std::stringstream>("before", std::ios::in | std::ios::out | std::ios::ate);
  std::string word;
  *stream >> word;
  ASSERT_TRUE(stream->eof());
  stream->rdbuf()->sputn("later", 5);
  EXPECT_EQ(all_of(*stream_source(stream, 0)), "later");
}

TEST(Source, RefusesUnreadableStreams) {
  const std::string unreadable = "invalid_argument: the stream to read PopEF from is not readable";
  EXPECT_EQ(error_of([] { stream_source(nullptr, 0); }), unreadable);
  const auto failed = std::make_shared<std::istringstream>("bytes");
  failed->setstate(std::ios::failbit);
  EXPECT_EQ(error_of([&] { stream_source(failed, 0); }), unreadable);
  EXPECT_EQ(error_of([] { stream_source(std::make_shared<std::ifstream>("/nonexistent"), 0); }),
            unreadable);
}

// The stream becomes shorter after it was opened.
TEST(Source, ErrorStatesTheOffsetInAStreamThatShrank) {
  const auto text = std::make_shared<std::stringstream>("0123456789");
  const auto source = stream_source(text, 0);
  text->str("0123");
  std::string bytes(6, ' ');
  const auto read = [&](uint64_t at) {
    return error_of([&] { source->read(at, std::as_writable_bytes(std::span(bytes))); });
  };
  EXPECT_EQ(read(3), "data_loss: cannot read 6 bytes at offset 3 of a PopEF stream");
  bytes.resize(4);
  EXPECT_EQ(read(0), "") << "remaining bytes are read after a failure";
  EXPECT_EQ(bytes, "0123");
}

TEST(Source, ReadingAStreamThatBreaksOffFails) {
  const std::string file = sample_file();
  for (size_t at = 0; at < file.size(); at += 997) {
    const auto stream = std::make_shared<PieceStream>(
        file, PieceBuffer::Rules{.piece = 64, .seekable = true, .fails_at = at});
    EXPECT_NE(error_of([&] {
                Reader reader;
                reader.parseStream(stream);
                for (const auto& e : reader.executables()) (void)e.payload();
                for (const auto& t : reader.tensors()) (void)t.payload();
                for (const auto& f : reader.feeds()) (void)f.payload();
                for (const auto& o : reader.opaqueBlobs()) (void)o.payload();
              }),
              "")
        << at;
  }
}

// -- Streams over blobs -----------------------------------------------------------------------

// The same operations on both; every answer and position must be the same.
class Pair {
 public:
  Pair(std::istream& found, std::istream& wanted) : found_(found), wanted_(wanted) {}

  void step(std::mt19937& random, size_t size) {
    const auto both = [](auto&& f) { return [f](std::istream& s) { return f(s); }; };
    const auto near = [&] { return static_cast<std::streamoff>(random() % (size + size / 8 + 2)); };
    const std::streamoff a = near(), b = near();
    switch (random() % 10) {
      case 0: return same("get", both([](std::istream& s) { return std::to_string(s.get()); }));
      case 1: return same("peek", both([](std::istream& s) { return std::to_string(s.peek()); }));
      case 2: return same("seek", both([a](std::istream& s) { return s.seekg(a), ""; }));
      case 3:
        return same("seek from the end",
                    both([a](std::istream& s) { return s.seekg(-a, std::ios::end), ""; }));
      case 4:
        return same("seek from here",
                    both([a, b](std::istream& s) { return s.seekg(a - b, std::ios::cur), ""; }));
      case 5: return same("ignore", both([a](std::istream& s) { return s.ignore(a), ""; }));
      case 6:
        return same("unget after get", both([](std::istream& s) {
                      if (s.get() != EOF) s.unget();
                      return "";
                    }));
      default:
        return same("read", both([a](std::istream& s) {
                      std::string bytes(static_cast<size_t>(a), '?');
                      s.read(bytes.data(), a);
                      bytes.resize(static_cast<size_t>(s.gcount()));
                      return bytes;
                    }));
    }
  }

 private:
  template <class F>
  void same(const char* what, F&& f) {
    found_.clear();
    wanted_.clear();
    const std::string x = f(found_), y = f(wanted_);
    ASSERT_EQ(x, y) << what;
    ASSERT_EQ(found_.rdstate(), wanted_.rdstate()) << what;
    found_.clear();
    wanted_.clear();
    ASSERT_EQ(found_.tellg(), wanted_.tellg()) << what;
  }

  std::istream &found_, &wanted_;
};

TEST(ContentBuffer, BehavesAsAStringDoes) {
  const TemporaryFolder folder;
  for (const size_t size : {0, 1, 5, 16384, 16385, 50000})
    for (const bool compress : {false, true})
      for (const bool in_memory : {false, true}) {
        SCOPED_TRACE(fmt::format("{} bytes{}{}", size, compress ? " compressed" : "",
                                 in_memory ? " in memory" : ""));
        const std::string data = random_bytes(size, 7);
        std::ostringstream out;
        Writer writer(out);
        writer.createExecutable("e", compress)->write(data.data(), data.size());
        writer.close();
        const std::string file = out.str();
        Reader reader;
        if (in_memory)
          reader.parseMemory(std::as_bytes(std::span(file)), nullptr);
        else
          parse(reader, file);
        const auto stream = reader.executables().at(0).getStandaloneExecutableStream();
        std::istringstream wanted(data);
        Pair pair(*stream, wanted);
        std::mt19937 random(static_cast<uint32_t>(size));
        for (int i = 0; i < (compress ? 60 : 300) && !testing::Test::HasFatalFailure(); i++)
          pair.step(random, size);
        stream->clear();
        stream->seekg(0);
        EXPECT_EQ(stream->rdbuf()->in_avail(), size == 0 ? -1 : static_cast<std::streamsize>(size));
        EXPECT_EQ(text_of(*stream), data);
        EXPECT_EQ(stream->rdbuf()->in_avail(), -1);
        EXPECT_EQ(stream->rdbuf()->pubseekoff(0, std::ios::cur, std::ios::out), std::streampos(-1));
        EXPECT_EQ(stream->rdbuf()->pubseekoff(INT64_MAX, std::ios::end), std::streampos(-1))
            << "a sum that overflows";
      }
}

// -- Errors of the writer ---------------------------------------------------------------------

// Accepts exactly this number of bytes, in both kinds of streams.
class Full : public std::stringbuf {
 public:
  Full(size_t room, bool seekable)
      : std::stringbuf(std::ios::out), room_(room), seekable_(seekable) {}

 protected:
  std::streamsize xsputn(const char* data, std::streamsize count) override {
    if (static_cast<size_t>(count) > room_) return 0;
    room_ -= static_cast<size_t>(count);
    return std::stringbuf::xsputn(data, count);
  }
  pos_type seekoff(off_type offset, std::ios::seekdir from, std::ios::openmode which) override {
    return seekable_ ? std::stringbuf::seekoff(offset, from, which) : pos_type(-1);
  }
  pos_type seekpos(pos_type to, std::ios::openmode which) override {
    return seekable_ ? std::stringbuf::seekpos(to, which) : pos_type(-1);
  }

 private:
  size_t room_;
  bool seekable_;
};

// A random series of calls of a writer; each answer is a line.
void use_writer(uint32_t seed, test::MessageCounts& messages) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const size_t rooms[] = {SIZE_MAX, SIZE_MAX, 64, 4096, 5000};
  Full room(rooms[below(5)], below(2) == 0);
  std::ostream stream(&room);
  std::vector<std::shared_ptr<BlobWriter>> blobs;
  std::unique_ptr<Writer> writer;
  const auto call = [&](const char* what, const std::function<void()>& f) {
    try {
      f();
      messages.add(fmt::format("taken: {}", what));
    } catch (const std::exception& e) {
      messages.add(fmt::format("{}: {}", what, e.what()));
    }
  };
  call("new", [&] { writer = std::make_unique<Writer>(stream); });
  for (int i = 0; writer && i < 12; i++) {
    const std::string name = std::string(below(4), 'n'), owner = below(2) ? "n" : "";
    const TensorInfo info(DataType::F16, {static_cast<int64_t>(below(3))});
    const unsigned bytes = below(7), at = blobs.empty() ? 0 : below(unsigned(blobs.size()));
    switch (below(9)) {
      case 0:
        call("executable", [&] { blobs.push_back(writer->createExecutable(name, below(2) == 0)); });
        break;
      case 1:
        call("opaque", [&] { blobs.push_back(writer->createOpaqueBlob(name, owner)); });
        break;
      case 2:
        call("tensor", [&] { blobs.push_back(writer->createTensorData({name, info}, owner)); });
        break;
      case 3:
        call("feed", [&] { blobs.push_back(writer->createFeedData({name, info, 2}, owner)); });
        break;
      case 4: call("metadata", [&] { writer->write(sample_metadata(name)); }); break;
      case 5:
        if (below(3) == 0) call("close", [&] { writer->close(); });
        break;
      case 6:
        if (below(4) == 0) call("abandon", [&] { writer->abandon(); });
        break;
      case 7:
        if (!blobs.empty()) call("close blob", [&] { blobs[at]->close(); });
        break;
      default:
        if (!blobs.empty()) call("bytes", [&] { blobs[at]->write("1234567", bytes); });
    }
  }
  call("end", [&] { writer->close(); });
  // A file that was closed without an error can be read.
  call("read", [&] {
    Reader reader;
    parse(reader, room.str());
    std::string blobs_found;
    for (const BlobInfo& b : reader.blobs())
      blobs_found += fmt::format(" {}", static_cast<int>(b.type));
    messages.add("taken: read" + blobs_found);
  });
}

TEST(Writer, RecordedAnswersToAnySeriesOfCalls) {
  test::RecordedLines found;
  test::MessageCounts messages;
  for (uint32_t seed = 0; seed < 1500; seed++) use_writer(seed, messages);
  messages.write(found["writer"]);
  test::expect_recorded(found, POPRT_TEST_DATA "/popef_writer.txt",
                        "Messages of a writer for calls in any order: source_test.cpp.");
}

// The limit is set in a separate process.
TEST(Source, AFileLargerThanTheFreeAddressSpaceIsRead) {
  if (POPRT_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer maps memory when it likes";
  const std::string path = testing::TempDir() + "/source_" + std::to_string(::getpid()) + ".popef";
  constexpr uint64_t kBytes = uint64_t{1} << 30;  // with nothing on the disk but the last four
  {
    std::ofstream file(path, std::ios::binary);
    file.seekp(static_cast<std::streamoff>(kBytes - 4));
    file << "last";
  }
  const auto with_a_quarter_of_it_free = [&] {
    uint64_t pages = 0;  // of the process
    std::ifstream("/proc/self/statm") >> pages;
    const uint64_t used = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const rlimit most{used + kBytes / 4, used + kBytes / 4};
    if (pages == 0 || ::setrlimit(RLIMIT_AS, &most) != 0) std::exit(2);
    const auto source = open_file_source(path);
    char last[4] = {};
    source->read(kBytes - 4, std::as_writable_bytes(std::span(last)));
    const bool same = source->size() == kBytes && source->memory().empty() &&
                      std::string_view(last, 4) == "last" && source->name() == path;
    std::exit(same ? 0 : 1);
  };
  EXPECT_EXIT(with_a_quarter_of_it_free(), testing::ExitedWithCode(0), "");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace poprt::popef
