// A libFuzzer target that reads any bytes as a PopEF file.
#include <cstdlib>
#include <cstring>
#include <istream>
#include <memory>
#include <span>
#include <streambuf>

#include "base/error.h"
#include "popef/dump.h"
#include "popef/metadata_codec.h"
#include "popef/model.h"
#include "program/serialize.h"

namespace {

using namespace poprt;

template <class F>
void attempt(F&& f) {
  try {
    f();
  } catch (const Error&) {
  }
}

void read_everything(std::span<const std::byte> bytes) {
  const auto reader = std::make_shared<popef::Reader>();
  reader->parseMemory(bytes, nullptr);
  for (const auto& e : reader->executables()) {
    // The size that a compressed payload declares is bounded by the file, but can be large.
    if (e.size() > (16u << 20)) continue;
    attempt([&] {
      const popef::Payload payload = e.payload();
      (void)program::read_executable(payload.bytes, payload.owner);
    });
  }
  for (const auto& t : reader->tensors()) (void)t.payload();
  for (const auto& f : reader->feeds())
    if (f.info.numTensors() > 0) (void)f.tensor(f.info.numTensors() - 1);
  for (const auto& o : reader->opaqueBlobs()) (void)o.payload();
  attempt([&] { (void)popef::ModelBuilder(reader).createModels(); });
  (void)popef::dump(reader, "fuzz", popef::DumpFormat::all);
  (void)popef::dump(reader, "fuzz", popef::DumpFormat::json);
  for (const auto& m : reader->metadata())
    attempt([&] { (void)popef::decode_metadata(popef::encode_metadata(m)); });
}

// A seekable stream of the bytes, for models that begin inside of a larger stream.
class Bytes : public std::streambuf {
 public:
  explicit Bytes(std::span<const std::byte> bytes) {
    char* first = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
    setg(first, first, first + bytes.size());
  }

 protected:
  pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override {
    if (from == std::ios_base::cur) offset += gptr() - eback();
    if (from == std::ios_base::end) offset += egptr() - eback();
    if (offset < 0 || offset > egptr() - eback()) return pos_type(off_type(-1));
    setg(eback(), eback() + offset, egptr());
    return pos_type(offset);
  }
  pos_type seekpos(pos_type to, std::ios_base::openmode which) override {
    return seekoff(off_type(to), std::ios_base::beg, which);
  }
};

void read_stream(std::istream& stream) {
  char piece[1000];
  // The size of a decompressed payload is bounded by the file, but can be large.
  for (int i = 0; i < 1000 && stream.read(piece, sizeof piece); i++) continue;
}

void read_as_stream(std::span<const std::byte> bytes, uint64_t skip) {
  Bytes buffer(bytes);
  const auto stream = std::make_shared<std::istream>(&buffer);
  stream->seekg(static_cast<std::streamoff>(skip));
  popef::Reader reader;
  reader.parseStream(stream, bytes.size() - skip);
  for (const auto& e : reader.executables()) attempt([&] { read_stream(e.executable); });
  for (const auto& t : reader.tensors()) attempt([&] { read_stream(t.data); });
  for (const auto& f : reader.feeds()) attempt([&] { read_stream(*f.getStandaloneDataStream()); });
  for (const auto& o : reader.opaqueBlobs()) {
    attempt([&] { read_stream(o.data); });
    (void)o.getAvailableReadSize();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A mapped file is aligned, too.
  const std::unique_ptr<void, void (*)(void*)> copy(
      std::aligned_alloc(64, (size + 127) & ~size_t{63}), std::free);
  if (size != 0) std::memcpy(copy.get(), data, size);
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(copy.get()), size);
  attempt([&] { read_everything(bytes); });
  attempt([&] { read_as_stream(bytes, 0); });
  if (size > 64) attempt([&] { read_as_stream(bytes, 64); });
  attempt([&] { (void)popef::decode_metadata(bytes); });
  attempt([&] { (void)program::read_executable(bytes, nullptr); });
  return 0;
}
