// libFuzzer: any bytes as a PopEF file.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

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
    // The announced size of a compressed payload is bounded by the file, but can be much.
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Aligned as a map is.
  const std::unique_ptr<void, void (*)(void*)> copy(
      std::aligned_alloc(64, (size + 127) & ~size_t{63}), std::free);
  if (size != 0) std::memcpy(copy.get(), data, size);
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(copy.get()), size);
  attempt([&] { read_everything(bytes); });
  attempt([&] { (void)popef::decode_metadata(bytes); });
  attempt([&] { (void)program::read_executable(bytes, nullptr); });
  return 0;
}
