#include "program/serialize.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <tuple>

#include "base/block_memory.h"
#include "base/checked.h"
#include "base/threads.h"
#include "codecs/capnp_message.h"
#include "program/program_places.h"

static_assert(std::endian::native == std::endian::little, "payloads are little-endian");

namespace poprt::program {
namespace {

// program.capnp defines the positions of the fields.
using capnp_message::Message;
using capnp_message::Struct;
using capnp_message::StructBuilder;
using capnp_message::Structs;

constexpr std::string_view kTag = "poprt program";
constexpr uint16_t kMajor = 1;
// Minor version 1: input anchors may have data. 2: weights may be stored in a narrower type. 3 and
// 4 added a form of weights that is not written any more.
constexpr uint16_t kMinor = 4;

struct PayloadHeader {
  char tag[16];
  uint16_t major, minor;
  uint32_t header_bytes;
  uint64_t program_offset, program_bytes;
  uint64_t weights_offset, weights_bytes;
  uint64_t reserved;
  char package[64];
};
static_assert(sizeof(PayloadHeader) == kPackageBytes &&
              std::is_trivially_copyable_v<PayloadHeader>);

void encode(StructBuilder& out, uint32_t pointer, const std::vector<Instruction>& instructions) {
  namespace at = places::instruction;
  auto& list = out.init_structs(pointer, instructions.size());
  for (size_t i = 0; i < list.size(); i++) {
    const Instruction& in = instructions[i];
    list[i].set(at::kKernel, in.kernel);
    list[i].set_numbers(at::kOperands, in.operands);
    list[i].set_numbers(at::kInts, in.ints);
    list[i].set_numbers(at::kFloats, in.floats);
    list[i].set_text(at::kName, in.name);
  }
}

void encode(StructBuilder& out, uint32_t pointer, const std::vector<Anchor>& anchors) {
  namespace at = places::anchor;
  auto& list = out.init_structs(pointer, anchors.size());
  for (size_t i = 0; i < list.size(); i++) {
    list[i].set_text(at::kName, anchors[i].name);
    list[i].set(at::kDtype, static_cast<uint8_t>(anchors[i].dtype));
    list[i].set_numbers(at::kShape, anchors[i].shape);
    list[i].set(at::kData, anchors[i].data + 1);  // kNoData becomes 0, the default
  }
}

std::vector<std::byte> encode(const Program& p, const Notes& notes,
                              std::span<const NarrowWeights> narrow) {
  namespace at = places::program;
  namespace buffer = places::buffer;
  StructBuilder out;
  out.set(at::kArenaBytes, p.arena_bytes);
  out.set(at::kWeightsBytes, p.weights_bytes);
  out.set(at::kStateBytes, p.state_bytes);
  out.set_texts(at::kKernels, p.kernels);
  auto& buffers = out.init_structs(at::kBuffers, p.buffers.size());
  for (size_t i = 0; i < buffers.size(); i++) {
    const Buffer& b = p.buffers[i];
    buffers[i].set(buffer::kOffset, b.offset);
    buffers[i].set(buffer::kBytes, b.bytes);
    buffers[i].set(buffer::kIndex, b.index);
    buffers[i].set(buffer::kSpace, static_cast<uint8_t>(b.space));
    buffers[i].set(buffer::kDtype, static_cast<uint8_t>(b.dtype));
    buffers[i].set_numbers(buffer::kShape, b.shape);
  }
  encode(out, at::kLoad, p.load);
  encode(out, at::kMain, p.main);
  encode(out, at::kSave, p.save);
  encode(out, at::kInputs, p.inputs);
  encode(out, at::kOutputs, p.outputs);
  std::vector<std::string> texts;
  for (const auto& [name, text] : notes) texts.insert(texts.end(), {name, text});
  if (!texts.empty()) out.set_texts(at::kNotes, texts);
  if (!narrow.empty()) {
    auto& list = out.init_structs(at::kNarrow, narrow.size());
    for (size_t i = 0; i < list.size(); i++) {
      list[i].set(places::narrow::kOffset, narrow[i].offset);
      list[i].set(places::narrow::kBytes, narrow[i].bytes);
      list[i].set(places::narrow::kExponent, narrow[i].exponent);
      list[i].set(places::narrow::kDtype, static_cast<uint8_t>(narrow[i].dtype));
    }
  }
  return out.canonical_bytes();
}

std::vector<Instruction> decode_instructions(const Structs& in) {
  namespace at = places::instruction;
  std::vector<Instruction> list;
  list.reserve(in.size());
  for (size_t i = 0; i < in.size(); i++) {
    const Struct s = in[i];
    list.push_back({s.get<uint32_t>(at::kKernel), s.numbers<uint32_t>(at::kOperands),
                    s.numbers<int64_t>(at::kInts), s.numbers<float>(at::kFloats),
                    s.text(at::kName)});
  }
  return list;
}

std::vector<Anchor> decode_anchors(const Structs& in) {
  namespace at = places::anchor;
  std::vector<Anchor> anchors;
  anchors.reserve(in.size());
  for (size_t i = 0; i < in.size(); i++)
    anchors.push_back({in[i].text(at::kName), static_cast<DType>(in[i].get<uint8_t>(at::kDtype)),
                       in[i].numbers<int64_t>(at::kShape), in[i].get<uint64_t>(at::kData) - 1});
  return anchors;
}

std::vector<NarrowWeights> decode_narrow(const Structs& in) {
  namespace at = places::narrow;
  std::vector<NarrowWeights> table;
  for (size_t i = 0; i < in.size(); i++) {
    table.push_back({in[i].get<uint64_t>(at::kOffset), in[i].get<uint64_t>(at::kBytes),
                     static_cast<DType>(in[i].get<uint8_t>(at::kDtype)),
                     in[i].get<int32_t>(at::kExponent)});
    if (in[i].get<uint8_t>(at::kTile) != 0)
      fail(ErrorCode::failed_precondition,
           "the weights at {} are in a form that {} does not read; compile the model again",
           table.back().offset, package());
  }
  return table;
}

Program decode(std::span<const std::byte> bytes, Notes& notes, std::vector<NarrowWeights>& narrow) {
  namespace at = places::program;
  namespace buffer = places::buffer;
  Message message(bytes, "executable program");
  const Struct in(message);
  Program p;
  p.arena_bytes = in.get<uint64_t>(at::kArenaBytes);
  p.weights_bytes = in.get<uint64_t>(at::kWeightsBytes);
  p.state_bytes = in.get<uint64_t>(at::kStateBytes);
  p.kernels = in.texts(at::kKernels);
  const Structs buffers = in.structs(at::kBuffers);
  p.buffers.reserve(buffers.size());
  for (size_t i = 0; i < buffers.size(); i++) {
    const Struct b = buffers[i];
    p.buffers.push_back(
        {static_cast<Space>(b.get<uint8_t>(buffer::kSpace)), b.get<uint32_t>(buffer::kIndex),
         b.get<uint64_t>(buffer::kOffset), b.get<uint64_t>(buffer::kBytes),
         static_cast<DType>(b.get<uint8_t>(buffer::kDtype)), b.numbers<int64_t>(buffer::kShape)});
  }
  p.load = decode_instructions(in.structs(at::kLoad));
  p.main = decode_instructions(in.structs(at::kMain));
  p.save = decode_instructions(in.structs(at::kSave));
  p.inputs = decode_anchors(in.structs(at::kInputs));
  p.outputs = decode_anchors(in.structs(at::kOutputs));
  narrow = decode_narrow(in.structs(at::kNarrow));
  const std::vector<std::string> texts = in.texts(at::kNotes);
  if (texts.size() % 2 != 0)
    fail(ErrorCode::data_loss, "executable program: {} texts in notes, expected pairs",
         texts.size());
  for (size_t i = 0; i < texts.size(); i += 2) notes[texts[i]] = texts[i + 1];
  return p;
}

// The records ordered by offset. An empty record comes before the record that begins at the same
// offset.
std::vector<const Weight*> sorted(const Program& program, std::span<const Weight> weights) {
  std::vector<const Weight*> list;
  for (const Weight& w : weights) list.push_back(&w);
  std::sort(list.begin(), list.end(), [](const Weight* a, const Weight* b) {
    return std::tie(a->offset, a->bytes) < std::tie(b->offset, b->bytes);
  });
  uint64_t end = 0;
  for (const Weight* w : list) {
    if (w->offset < end)
      fail(ErrorCode::invalid_argument, "weight record at offset {} overlaps the one before",
           w->offset);
    end = checked_add(w->offset, w->bytes, "weight record");
    if (end > program.weights_bytes)
      fail(ErrorCode::invalid_argument,
           "weight record [{}, {}) is outside of the {} bytes of weights", w->offset, end,
           program.weights_bytes);
  }
  return list;
}

void write_zeros(const Sink& sink, uint64_t bytes) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  while (bytes != 0) {
    const uint64_t step = std::min<uint64_t>(bytes, kZeros.size());
    sink(std::span(kZeros).first(step));
    bytes -= step;
  }
}

// Starting a thread takes as long as packing some hundred kilobytes.
size_t useful_threads(const std::vector<const Weight*>& records) {
  constexpr uint64_t kPerThread = uint64_t{1} << 19;
  uint64_t bytes = 0;
  for (const Weight* w : records) bytes += w->bytes;
  return std::min<size_t>(
      {records.size(), std::thread::hardware_concurrency(), bytes / kPerThread + 1});
}

// Fills the records on up to two threads and calls `write` for them in order, from one thread at a
// time. So packing overlaps with writing, and at most two records are in memory.
template <class Write>
void fill_in_order(const std::vector<const Weight*>& records, Write&& write) {
  std::mutex mutex;
  std::condition_variable turn;
  size_t next = 0, written = 0;  // guarded by mutex
  std::exception_ptr error;
  // The first use of each page takes time, so each thread allocates a buffer of up to kMostRoom
  // only once.
  constexpr uint64_t kMostRoom = uint64_t{16} << 20;
  uint64_t largest = 0;
  for (const Weight* w : records) largest = std::max(largest, w->bytes);
  const uint64_t least = std::min(largest, kMostRoom);
  const auto work = [&] {
    std::shared_ptr<std::byte> buffer;
    uint64_t room = 0;
    for (;;) {
      std::unique_lock lock(mutex);
      const size_t mine = next++;
      if (mine >= records.size() || error) return;
      lock.unlock();
      const Weight& w = *records[mine];
      std::exception_ptr failed;
      try {
        if (w.bytes > room || !buffer) {
          room = std::max(w.bytes, least);
          buffer = nullptr;
          buffer = allocate_block(room);
        }
        w.fill({buffer.get(), w.bytes});
      } catch (...) {
        failed = std::current_exception();
      }
      lock.lock();
      turn.wait(lock, [&] { return written == mine || error; });
      if (error) return;
      try {
        if (failed) std::rethrow_exception(failed);
        write(w, std::span<const std::byte>(buffer.get(), w.bytes));
      } catch (...) {
        error = std::current_exception();
      }
      written++;
      turn.notify_all();
    }
  };
  work_on_threads(std::min<size_t>(2, useful_threads(records)), work);
  if (error) std::rethrow_exception(error);
}

// Writes the stored form of the records and the zeros between them.
void write_weights(const Sink& sink, const std::vector<const Weight*>& records,
                   const std::vector<StoredPiece>& pieces, uint64_t weights_bytes) {
  // Returns the piece that contains the weights at `offset`, which must not decrease from call to
  // call.
  size_t next = 0;
  const auto piece_at = [&](uint64_t offset) -> const StoredPiece& {
    while (next + 1 < pieces.size() && pieces[next + 1].offset <= offset) next++;
    return pieces[next];
  };
  uint64_t at = 0;
  std::vector<std::byte> narrowed;
  fill_in_order(records, [&](const Weight& w, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const StoredPiece& piece = piece_at(w.offset);
    if (w.offset + w.bytes > piece.offset + piece.bytes ||
        (piece.narrow && (w.offset != piece.offset || w.bytes != piece.bytes)))
      fail(ErrorCode::invalid_argument, "weights [{}, +{}) are narrow in part", w.offset, w.bytes);
    const uint64_t stored = piece.stored + (w.offset - piece.offset);
    write_zeros(sink, stored - at);
    if (piece.narrow) {
      narrowed.resize(piece.stored_bytes);
      program::narrow(*piece.narrow,
                      {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)},
                      narrowed);
      bytes = narrowed;
    }
    sink(bytes);
    at = stored + bytes.size();
  });
  write_zeros(sink, weights_bytes - at);
}

// Fills the records at their places in `memory`; bytes between them do not change. Large records
// are first, so that no thread begins one when the others have finished.
void fill_in_memory(std::vector<const Weight*> records, std::span<std::byte> memory) {
  std::ranges::sort(records, std::ranges::greater(), &Weight::bytes);
  std::atomic<size_t> next = 0;
  work_on_threads(useful_threads(records), [&] {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < records.size();)
      records[i]->fill(memory.subspan(records[i]->offset, records[i]->bytes));
  });
}

[[noreturn]] void throw_broken(std::string_view what) {
  fail(ErrorCode::data_loss, "executable payload: {}", what);
}

// Reads the header and checks only its tag, which all versions of the format have.
PayloadHeader read_tagged_header(std::span<const std::byte> payload) {
  PayloadHeader h;
  if (payload.size() < sizeof(h))
    throw_broken(fmt::format("{} bytes, the header needs {}", payload.size(), sizeof(h)));
  std::memcpy(&h, payload.data(), sizeof(h));
  if (std::string_view(h.tag, strnlen(h.tag, sizeof(h.tag))) != kTag)
    throw_broken(fmt::format("not a '{}'", kTag));
  return h;
}

std::string package_in(const PayloadHeader& h) {
  return {h.package, strnlen(h.package, sizeof(h.package))};
}

PayloadHeader read_header(std::span<const std::byte> payload) {
  const PayloadHeader h = read_tagged_header(payload);
  if (h.major != kMajor)
    fail(ErrorCode::failed_precondition,
         "executable has program format {}.{}, this library ({}) reads {}; compile the model again",
         h.major, h.minor, package(), kMajor);
  // Each end is checked to be inside the payload, so no later sum can overflow.
  const auto inside = [&](uint64_t offset, uint64_t bytes) {
    return offset >= h.header_bytes && offset <= payload.size() && bytes <= payload.size() - offset;
  };
  if (h.header_bytes < sizeof(h) || !inside(h.program_offset, h.program_bytes) ||
      !inside(h.weights_offset, h.weights_bytes) ||
      h.program_offset + h.program_bytes > h.weights_offset)
    throw_broken(fmt::format("program [{}, +{}) and weights [{}, +{}) do not fit in {} bytes",
                             h.program_offset, h.program_bytes, h.weights_offset, h.weights_bytes,
                             payload.size()));
  if (h.weights_offset % kAlignment != 0)
    throw_broken(
        fmt::format("weights at offset {}, not a multiple of {}", h.weights_offset, kAlignment));
  return h;
}

}  // namespace

std::string_view package() { return POPRT_PACKAGE; }

std::string package_of(std::span<const std::byte> payload) {
  return package_in(read_tagged_header(payload));
}

void write_executable(const Sink& sink, const Program& program, std::span<const Weight> weights,
                      const Notes& notes, std::span<const NarrowWeights> narrow) {
  write_executable(sink, {}, program, weights, notes, narrow);
}

void write_executable(const Sink& sink, const Extend& extend, const Program& program,
                      std::span<const Weight> weights, const Notes& notes,
                      std::span<const NarrowWeights> narrow) {
  verify(program);
  const auto records = sorted(program, weights);
  std::vector<NarrowWeights> table(narrow.begin(), narrow.end());
  check_narrow(table, program.weights_bytes);
  const std::vector<StoredPiece> pieces = stored_pieces(table, program.weights_bytes);
  const std::vector<std::byte> message = encode(program, notes, table);
  PayloadHeader h{};
  kTag.copy(h.tag, sizeof(h.tag));
  package().copy(h.package, sizeof(h.package) - 1);
  h.major = kMajor;
  h.minor = kMinor;
  h.header_bytes = sizeof(h);
  h.program_offset = sizeof(h);
  h.program_bytes = message.size();
  h.weights_offset = align_up(h.program_offset + h.program_bytes, kWeightsAlignment);
  h.weights_bytes = stored_bytes(pieces);
  sink(std::as_bytes(std::span(&h, 1)));
  sink(message);
  write_zeros(sink, h.weights_offset - h.program_offset - h.program_bytes);
  if (extend && table.empty())
    fill_in_memory(records, extend(h.weights_bytes));
  else
    write_weights(sink, records, pieces, h.weights_bytes);
}

void write_executable(std::ostream& stream, const Program& program,
                      std::span<const Weight> weights) {
  write_executable(
      [&](std::span<const std::byte> bytes) {
        stream.write(reinterpret_cast<const char*>(bytes.data()),
                     static_cast<std::streamsize>(bytes.size()));
        if (!stream)
          fail(ErrorCode::resource_exhausted, "cannot write the executable to its stream");
      },
      program, weights);
}

std::span<const std::byte> weights_of(std::span<const std::byte> payload) {
  const PayloadHeader h = read_header(payload);
  return payload.subspan(h.weights_offset, h.weights_bytes);
}

std::vector<std::byte> without_weights(std::span<const std::byte> payload) {
  PayloadHeader h = read_header(payload);
  h.weights_bytes = 0;
  std::vector<std::byte> out(payload.begin(),
                             payload.begin() + static_cast<ptrdiff_t>(h.weights_offset));
  std::memcpy(out.data(), &h, sizeof(h));
  return out;
}

LoadedProgram read_executable(std::span<const std::byte> payload,
                              std::shared_ptr<const void> owner) {
  return read_executable(payload, {}, std::move(owner));
}

LoadedProgram read_executable(std::span<const std::byte> payload,
                              std::span<const std::byte> weights,
                              std::shared_ptr<const void> owner) {
  const PayloadHeader h = read_header(payload);
  LoadedProgram loaded;
  loaded.program =
      decode(payload.subspan(h.program_offset, h.program_bytes), loaded.notes, loaded.narrow);
  loaded.package = package_in(h);
  loaded.weights =
      h.weights_bytes == 0 ? weights : payload.subspan(h.weights_offset, h.weights_bytes);
  // Up to this limit, the sums of stored_pieces() cannot overflow.
  if (loaded.program.weights_bytes > uint64_t{INT64_MAX})
    throw_broken(fmt::format("the program needs {} bytes of weights, {} are there",
                             loaded.program.weights_bytes, loaded.weights.size()));
  check_narrow(loaded.narrow, loaded.program.weights_bytes);
  const std::vector<StoredPiece> pieces =
      stored_pieces(loaded.narrow, loaded.program.weights_bytes);
  if (stored_bytes(pieces) != loaded.weights.size())
    throw_broken(fmt::format("the program needs {} bytes of weights, {} are there",
                             stored_bytes(pieces), loaded.weights.size()));
  verify(loaded.program);
  loaded.owner = std::move(owner);
  if (!loaded.narrow.empty()) {
    const uint64_t bytes = loaded.program.weights_bytes;
    const auto wide = allocate_block(bytes);
    widen_all(pieces, loaded.weights, {wide.get(), bytes});
    loaded.weights = {wide.get(), bytes};
    loaded.owner = wide;
  } else if (reinterpret_cast<uintptr_t>(loaded.weights.data()) % kAlignment != 0) {
    const uint64_t bytes = loaded.weights.size();
    const auto copy = allocate_block(bytes);
    std::memcpy(copy.get(), loaded.weights.data(), bytes);
    loaded.weights = {copy.get(), bytes};
    loaded.owner = copy;
  }
  return loaded;
}

LoadedProgram load_in_memory(Program program, std::span<const Weight> weights) {
  verify(program);
  const auto records = sorted(program, weights);
  const auto bytes = allocate_block(program.weights_bytes);
  uint64_t at = 0;
  for (const Weight* w : records) {
    std::memset(bytes.get() + at, 0, w->offset - at);
    at = w->offset + w->bytes;
  }
  std::memset(bytes.get() + at, 0, program.weights_bytes - at);
  fill_in_memory(records, {bytes.get(), program.weights_bytes});
  LoadedProgram loaded;
  loaded.weights = {bytes.get(), program.weights_bytes};
  loaded.program = std::move(program);
  loaded.owner = bytes;
  loaded.package = package();
  return loaded;
}

}  // namespace poprt::program
