#include "program/serialize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <sstream>
#include <thread>

#include "support/capnp_library.h"
#include "support/recorded_lines.h"

// Generated headers must follow support/capnp_library.h.
#include "base/error.h"
#include "program/program.capnp.h"

namespace poprt::program {
namespace {

std::function<void(std::span<std::byte>)> constant(uint8_t value) {
  return [value](std::span<std::byte> bytes) { std::ranges::fill(bytes, std::byte{value}); };
}

Builder sample() {
  Builder b;
  const auto in = b.add_input({"x", DType::f32, {2, 3}});
  const auto out = b.add_output({"y", DType::f16, {2, 3}});
  const auto x = b.input(in, 0, 24, DType::f32, {2, 3});
  const auto w = b.weights(100, DType::f32, {5, 5}, constant(1));
  const auto v = b.weights(3, DType::u8, {3}, constant(2));
  const auto t = b.arena(64, 24, DType::f32, {2, 3});
  const auto y = b.output(out, 0, 12, DType::f16, {2, 3});
  const BufferId first[] = {x, w, kNoBuffer, t};
  const BufferId second[] = {t, v, y};
  const int64_t ints[] = {-1, int64_t{1} << 40};
  const float floats[] = {0.5f, -3.0f};
  b.emit("matmul", first, ints, {}, "node 1");
  b.emit("cast", second, {}, floats, "");
  b.program().load.push_back(b.program().main[0]);
  b.program().save.push_back(b.program().main[1]);
  return b;
}

std::string written(Builder& b) {
  std::ostringstream out;
  write_executable(out, b.program(), b.weight_records());
  return out.str();
}

// A copy with the alignment that a mapped file has, moved by `shift`.
struct Aligned {
  explicit Aligned(const std::string& s, size_t shift = 0)
      : storage(new(std::align_val_t(4096)) std::byte[s.size() + shift]),
        bytes(storage.get() + shift, s.size()) {
    if (!s.empty()) std::memcpy(storage.get() + shift, s.data(), s.size());
  }
  struct Delete {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t(4096)); }
  };
  std::unique_ptr<std::byte[], Delete> storage;
  std::span<const std::byte> bytes;
};

ErrorCode code_of(std::span<const std::byte> bytes) {
  try {
    read_executable(bytes, nullptr);
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::ok;
}

void expect_same(const Program& a, const Program& b) {
  EXPECT_EQ(to_string(a), to_string(b));
  EXPECT_EQ(a.kernels, b.kernels);
  EXPECT_EQ(a.arena_bytes, b.arena_bytes);
  EXPECT_EQ(a.weights_bytes, b.weights_bytes);
  ASSERT_EQ(a.buffers.size(), b.buffers.size());
  for (size_t i = 0; i < a.buffers.size(); i++) {
    EXPECT_EQ(a.buffers[i].space, b.buffers[i].space);
    EXPECT_EQ(a.buffers[i].index, b.buffers[i].index);
    EXPECT_EQ(a.buffers[i].offset, b.buffers[i].offset);
    EXPECT_EQ(a.buffers[i].bytes, b.buffers[i].bytes);
    EXPECT_EQ(a.buffers[i].dtype, b.buffers[i].dtype);
    EXPECT_EQ(a.buffers[i].shape, b.buffers[i].shape);
  }
  ASSERT_EQ(a.inputs.size(), b.inputs.size());
  EXPECT_EQ(a.inputs[0].name, b.inputs[0].name);
  EXPECT_EQ(a.inputs[0].shape, b.inputs[0].shape);
  EXPECT_EQ(a.outputs[0].dtype, b.outputs[0].dtype);
}

TEST(Serialize, RoundTripKeepsEverything) {
  Builder b = sample();
  const Aligned payload(written(b));
  const auto owner = std::make_shared<int>(1);
  const LoadedProgram loaded = read_executable(payload.bytes, owner);
  expect_same(b.program(), loaded.program);
  EXPECT_EQ(loaded.owner, owner);
  EXPECT_EQ(loaded.package, package());
  ASSERT_EQ(loaded.weights.size(), 192u);
  for (size_t i = 0; i < 192; i++) {
    const int expected = i < 100 ? 1 : i >= 128 && i < 131 ? 2 : 0;
    ASSERT_EQ(static_cast<int>(loaded.weights[i]), expected) << i;
  }
}

TEST(Serialize, WeightsAreUsedInPlaceAtPageOffsets) {
  Builder b = sample();
  const Aligned payload(written(b));
  const LoadedProgram loaded = read_executable(payload.bytes, nullptr);
  EXPECT_GE(loaded.weights.data(), payload.bytes.data());
  EXPECT_EQ((loaded.weights.data() - payload.bytes.data()) % 4096, 0);
}

TEST(Serialize, MisalignedPayloadIsCopied) {
  Builder b = sample();
  const Aligned payload(written(b), 8);
  const LoadedProgram loaded = read_executable(payload.bytes, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(loaded.weights.data()) % 64, 0u);
  EXPECT_EQ(static_cast<int>(loaded.weights[99]), 1);
}

TEST(Serialize, OffsetsThatSplitAnElementAreRefused) {
  Builder b = sample();
  Buffer& t = b.program().buffers[3];
  ASSERT_EQ(t.space, Space::arena);
  t.offset = 62;
  t.bytes = 24;
  try {
    verify(b.program());
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::data_loss);
    EXPECT_NE(e.message().find("offset 62 is no multiple of the 4 bytes of f32"), std::string::npos)
        << e.message();
  }
}

TEST(Serialize, SameProgramGivesSameBytes) {
  Builder a = sample(), b = sample();
  EXPECT_EQ(written(a), written(b));
}

TEST(Serialize, EmptyProgramAndNoWeights) {
  Builder b;
  const LoadedProgram loaded = read_executable(Aligned(written(b)).bytes, nullptr);
  EXPECT_TRUE(loaded.program.main.empty());
  EXPECT_TRUE(loaded.weights.empty());
}

// From about twenty records on, std::sort may order equal offsets in any way.
TEST(Serialize, EmptyWeightsShareOffsetsWithOthers) {
  Builder b;
  for (int i = 0; i < 40; i++) {
    b.weights(i % 3 ? 100 : 0, DType::u8, {i % 3 ? 100 : 0}, constant(static_cast<uint8_t>(i)));
    b.weights(0, DType::f32, {0}, constant(0));
  }
  const Aligned payload(written(b));
  const LoadedProgram loaded = read_executable(payload.bytes, nullptr);
  for (size_t at = 0, i = 0; i < 40; i++) {
    if (i % 3 == 0) continue;
    EXPECT_EQ(static_cast<size_t>(loaded.weights[at]), i);
    at += 128;
  }
}

// The writer makes the zeros between records, and after the last one, in pieces of 4096 bytes.
TEST(Serialize, GapsOfAnySizeAreZero) {
  for (const uint64_t gap : {64u, 4096u, 4160u, 8192u, 300'032u}) {
    Builder b;
    b.weights(64, DType::u8, {64}, constant(1));
    const BufferId second = b.weights(64, DType::u8, {64}, constant(2));
    b.program().buffers[second].offset += gap;
    b.weight_records()[1].offset += gap;
    b.program().weights_bytes += 2 * gap;
    std::vector<std::byte> expected(128 + 2 * gap);
    std::fill_n(expected.begin(), 64, std::byte{1});
    std::fill_n(expected.begin() + 64 + static_cast<std::ptrdiff_t>(gap), 64, std::byte{2});
    const Aligned payload(written(b));
    const LoadedProgram loaded = read_executable(payload.bytes, nullptr);
    EXPECT_TRUE(std::ranges::equal(loaded.weights, expected)) << gap;
  }
}

TEST(Serialize, InMemoryEqualsWrittenAndRead) {
  Builder b = sample();
  const Aligned payload(written(b));
  const LoadedProgram read = read_executable(payload.bytes, nullptr);
  const LoadedProgram direct = load_in_memory(b.program(), b.weight_records());
  expect_same(read.program, direct.program);
  EXPECT_TRUE(std::equal(read.weights.begin(), read.weights.end(), direct.weights.begin(),
                         direct.weights.end()));
}

// Writes the payload to memory that grows at its end.
std::vector<std::byte> in_memory(Builder& b, std::span<const NarrowWeights> narrow = {}) {
  std::vector<std::byte> memory;
  memory.reserve(size_t{16} << 20);
  write_executable(
      [&](std::span<const std::byte> s) { memory.insert(memory.end(), s.begin(), s.end()); },
      [&](uint64_t bytes) {
        memory.resize(memory.size() + bytes);
        return std::span(memory).last(bytes);
      },
      b.program(), b.weight_records(), {}, narrow);
  return memory;
}

TEST(Serialize, MemoryGetsTheSameBytes) {
  Builder b = sample();
  for (uint8_t i = 0; i < 40; i++)
    b.weights(100'001u * (i % 3 + 1), DType::u8, {100'001 * (i % 3 + 1)}, constant(i));
  const std::string expected = written(b);
  const std::vector<std::byte> memory = in_memory(b);
  EXPECT_TRUE(std::ranges::equal(memory, std::as_bytes(std::span(expected))));
}

TEST(Serialize, NarrowWeightsInMemoryAreAsInAFile) {
  Builder b;
  b.weights(4000, DType::f32, {1000},
            [](std::span<std::byte> s) { std::ranges::fill(s, std::byte{0}); });
  b.weights(64, DType::u8, {64}, constant(3));
  const NarrowWeights narrow[] = {{0, 4000, DType::f16, 0}};
  std::vector<std::byte> file;
  write_executable(
      [&](std::span<const std::byte> s) { file.insert(file.end(), s.begin(), s.end()); },
      b.program(), b.weight_records(), {}, narrow);
  EXPECT_EQ(in_memory(b, narrow), file);
  EXPECT_LT(file.size(), in_memory(b).size());
}

TEST(Serialize, AFailureOfAWeightInMemoryIsThrown) {
  Builder b = sample();
  b.weights(64, DType::u8, {64}, [](std::span<std::byte>) { fail(ErrorCode::data_loss, "gone"); });
  EXPECT_THROW(in_memory(b), Error);
}

TEST(Serialize, MakesAtMostTwoWeightsAtATimeAndWritesThemInOrder) {
  Builder b;
  std::atomic<int> making = 0, most = 0;
  std::atomic<bool> of_its_size = true;
  constexpr int kWeights = 8;
  constexpr size_t kBytes = 1 << 16;
  for (int i = 0; i < kWeights; i++)
    b.weights(kBytes, DType::u8, {kBytes}, [&, i](std::span<std::byte> s) {
      const int now = ++making;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      if (s.size() != kBytes) of_its_size = false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that calls overlap
      std::ranges::fill(s, std::byte{static_cast<uint8_t>(i)});
      making--;
    });
  std::vector<std::byte> written;
  uint64_t piece = 0;
  write_executable(
      [&](std::span<const std::byte> s) {
        written.insert(written.end(), s.begin(), s.end());
        piece = std::max<uint64_t>(piece, s.size());
      },
      b.program(), b.weight_records());
  EXPECT_LE(most, 2);
  EXPECT_TRUE(of_its_size);
  EXPECT_EQ(piece, kBytes);
  ASSERT_EQ(written.size(), kWeightsAlignment + kWeights * kBytes);
  for (size_t i = 0; i < kWeights * kBytes; i++)
    ASSERT_EQ(static_cast<size_t>(written[kWeightsAlignment + i]), i / kBytes) << i;
}

TEST(Serialize, OverlappingOrOutsideWeightRecordsAreRefused) {
  Builder b = sample();
  std::ostringstream out;
  auto records = b.weight_records();
  records[1].offset = 64;
  EXPECT_THROW(write_executable(out, b.program(), records), Error);
  records[1].offset = 190;
  EXPECT_THROW(write_executable(out, b.program(), records), Error);
}

TEST(Serialize, FillFailurePassesThrough) {
  Builder b;
  b.weights(4, DType::f32, {1}, [](std::span<std::byte>) { fail(ErrorCode::cancelled, "stop"); });
  std::ostringstream out;
  EXPECT_THROW(write_executable(out, b.program(), b.weight_records()), Error);
}

TEST(Serialize, NewerMajorIsRefusedNewerMinorRead) {
  Builder b = sample();
  std::string bytes = written(b);
  bytes[18] = 9;
  EXPECT_EQ(code_of(Aligned(bytes).bytes), ErrorCode::ok);
  bytes[16] = 2;
  EXPECT_EQ(code_of(Aligned(bytes).bytes), ErrorCode::failed_precondition);
}

// The header states places of the program and the weights that do not fit the file.
TEST(Serialize, PlacesThatDoNotFitAreRefused) {
  Builder b = sample();
  const std::string bytes = written(b);
  struct Places {
    uint64_t program, program_bytes, weights, weights_bytes;
  } right{};
  std::memcpy(&right, bytes.data() + 24, sizeof right);
  const auto code = [&](Places p) {
    std::string altered = bytes;
    std::memcpy(altered.data() + 24, &p, sizeof p);
    return code_of(Aligned(altered).bytes);
  };
  ASSERT_EQ(code(right), ErrorCode::ok);
  const auto with = [&](uint64_t Places::* field, uint64_t value) {
    Places p = right;
    p.*field = value;
    return code(p);
  };
  const uint64_t size = bytes.size(), most = UINT64_MAX;
  for (const uint64_t bad : {uint64_t{0}, right.program - 8, right.weights, size, size + 1, most})
    EXPECT_EQ(with(&Places::program, bad), ErrorCode::data_loss) << bad;
  for (const uint64_t bad :
       {right.weights - right.program + 8, size, most - right.program + 1, most})
    EXPECT_EQ(with(&Places::program_bytes, bad), ErrorCode::data_loss) << bad;
  for (const uint64_t bad :
       {uint64_t{0}, right.program, right.weights - 8, right.weights + 8, size + 1, most})
    EXPECT_EQ(with(&Places::weights, bad), ErrorCode::data_loss) << bad;
  for (const uint64_t bad : {right.weights_bytes + 1, size, most})
    EXPECT_EQ(with(&Places::weights_bytes, bad), ErrorCode::data_loss) << bad;
  // The program is after its weights, which begin at a page.
  Places turned = right;
  std::swap(turned.program, turned.weights);
  std::swap(turned.program_bytes, turned.weights_bytes);
  EXPECT_EQ(code(turned), ErrorCode::data_loss);
}

std::vector<std::byte> message_of(const std::string& payload) {
  uint64_t place[2];  // offset and bytes
  std::memcpy(place, payload.data() + 24, sizeof place);
  const auto bytes = std::as_bytes(std::span(payload)).subspan(place[0], place[1]);
  return {bytes.begin(), bytes.end()};
}

TEST(Serialize, TheCapnProtoLibraryReadsTheSame) {
  using capnp_library::text;
  using capnp_library::values;
  Builder b = sample();
  const Program& p = b.program();
  capnp_library::Message message(message_of(written(b)));
  EXPECT_TRUE(message.is_canonical());
  const auto read = message.root<schema::Program>();
  EXPECT_EQ(read.getArenaBytes(), p.arena_bytes);
  EXPECT_EQ(read.getWeightsBytes(), p.weights_bytes);
  ASSERT_EQ(read.getKernels().size(), p.kernels.size());
  for (unsigned i = 0; i < p.kernels.size(); i++)
    EXPECT_EQ(text(read.getKernels()[i]), p.kernels[i]);
  ASSERT_EQ(read.getBuffers().size(), p.buffers.size());
  for (unsigned i = 0; i < p.buffers.size(); i++) {
    const auto buffer = read.getBuffers()[i];
    EXPECT_EQ(buffer.getOffset(), p.buffers[i].offset);
    EXPECT_EQ(buffer.getBytes(), p.buffers[i].bytes);
    EXPECT_EQ(buffer.getIndex(), p.buffers[i].index);
    EXPECT_EQ(buffer.getSpace(), static_cast<uint8_t>(p.buffers[i].space));
    EXPECT_EQ(buffer.getDtype(), static_cast<uint8_t>(p.buffers[i].dtype));
    EXPECT_EQ(values(buffer.getShape()), p.buffers[i].shape);
  }
  const auto same = [&](capnp::List<schema::Instruction>::Reader list,
                        const std::vector<Instruction>& expected) {
    ASSERT_EQ(list.size(), expected.size());
    for (unsigned i = 0; i < list.size(); i++) {
      EXPECT_EQ(list[i].getKernel(), expected[i].kernel);
      EXPECT_EQ(values(list[i].getOperands()), expected[i].operands);
      EXPECT_EQ(values(list[i].getInts()), expected[i].ints);
      EXPECT_EQ(values(list[i].getFloats()), expected[i].floats);
      EXPECT_EQ(text(list[i].getName()), expected[i].name);
    }
  };
  same(read.getLoad(), p.load);
  same(read.getMain(), p.main);
  same(read.getSave(), p.save);
  ASSERT_EQ(read.getInputs().size(), 1u);
  EXPECT_EQ(text(read.getInputs()[0].getName()), p.inputs[0].name);
  EXPECT_EQ(read.getInputs()[0].getDtype(), static_cast<uint8_t>(p.inputs[0].dtype));
  EXPECT_EQ(values(read.getInputs()[0].getShape()), p.inputs[0].shape);
  ASSERT_EQ(read.getOutputs().size(), 1u);
  EXPECT_EQ(text(read.getOutputs()[0].getName()), p.outputs[0].name);
}

TEST(Serialize, TruncationAnywhereIsDataLoss) {
  Builder b = sample();
  const std::string bytes = written(b);
  for (size_t n = 0; n < bytes.size(); n += n < 1024 ? 1 : 97) {
    const Aligned payload(bytes.substr(0, n));
    ASSERT_EQ(code_of(payload.bytes), ErrorCode::data_loss) << n;
  }
}

TEST(Serialize, MutationsNeverCrash) {
  Builder b = sample();
  const std::string original = written(b);
  std::mt19937 random(7);
  const size_t interesting = 128 + 1024;  // header and program
  int accepted = 0;
  Aligned payload(original);
  for (int i = 0; i < 20000; i++) {
    std::memcpy(payload.storage.get(), original.data(), original.size());
    for (unsigned k = 0; k <= random() % 4; k++)
      payload.storage[random() % interesting] = static_cast<std::byte>(random());
    const ErrorCode code = code_of(payload.bytes);
    ASSERT_TRUE(code == ErrorCode::ok || code == ErrorCode::data_loss ||
                code == ErrorCode::failed_precondition)
        << error_code_name(code);
    accepted += code == ErrorCode::ok;
  }
  EXPECT_LT(accepted, 20000);
}

// A lost check, or a check that refuses a valid file, changes a count.
TEST(Serialize, RecordedAnswersToEveryByteChanged) {
  Builder b = sample();
  const std::string original = written(b);
  test::MessageCounts error_text;
  Aligned payload(original);
  for (size_t n = 0; n < std::min<size_t>(original.size(), 4096); n++)
    for (const int x : {0x01, 0x02, 0x08, 0x40, 0x80}) {
      payload.storage[n] ^= static_cast<std::byte>(x);
      try {
        read_executable(payload.bytes, nullptr);
        error_text.add("taken");
      } catch (const Error& e) {
        error_text.add(e.message());
      }
      payload.storage[n] ^= static_cast<std::byte>(x);
    }
  test::RecordedLines found;
  error_text.write(found["program"]);
  test::expect_recorded(found, POPRT_TEST_DATA "/program_refusals.txt",
                        "Messages for damaged programs: serialize_test.cpp.");
}

TEST(Serialize, SizesAtTheEndOfTheirRangeAreDamage) {
  Builder b = sample();
  const std::string original = written(b);
  const auto eight = [](uint64_t value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  // The sizes of the arena and of the weights follow each other.
  const size_t at =
      original.find(eight(b.program().arena_bytes) + eight(b.program().weights_bytes));
  ASSERT_NE(at, original.npos);
  for (const uint64_t less : {0, 1, 63, 64, 65, 4096}) {
    std::string bytes = original;
    bytes.replace(at + 8, 8, eight(UINT64_MAX - less));
    const Aligned payload(bytes);
    EXPECT_EQ(code_of(payload.bytes), ErrorCode::data_loss) << less;
  }
}

TEST(Serialize, WeightsMayLieElsewhere) {
  Builder b = sample();
  const std::string bytes = written(b);
  const Aligned whole(bytes);
  const LoadedProgram expected = read_executable(whole.bytes, nullptr);
  const auto cut = without_weights(whole.bytes);
  const Aligned program(std::string(reinterpret_cast<const char*>(cut.data()), cut.size()));
  const auto weights = weights_of(whole.bytes);
  ASSERT_GT(weights.size(), 0u);
  const LoadedProgram apart = read_executable(program.bytes, weights, nullptr);
  EXPECT_EQ(apart.weights.size(), expected.weights.size());
  EXPECT_EQ(std::memcmp(apart.weights.data(), expected.weights.data(), weights.size()), 0);
  EXPECT_EQ(apart.program.weights_bytes, expected.program.weights_bytes);
  // It cannot be read without its weights or with fewer of them.
  EXPECT_EQ(code_of(program.bytes), ErrorCode::data_loss);
  EXPECT_THROW(read_executable(program.bytes, weights.first(weights.size() - 1), nullptr), Error);
  // A payload with its own weights uses them.
  EXPECT_EQ(read_executable(whole.bytes, weights.first(1), nullptr).weights.data(),
            expected.weights.data());
}

TEST(Serialize, AProgramThatDoesNotFitTogetherIsNotWritten) {
  Builder b = sample();
  Program broken = b.program();
  ASSERT_FALSE(broken.main.empty());
  broken.main[0].operands.push_back(static_cast<uint32_t>(broken.buffers.size()));
  size_t written = 0;
  const auto count = [&](std::span<const std::byte> bytes) { written += bytes.size(); };
  EXPECT_THROW(write_executable(count, broken, b.weight_records(), {}), Error);
  EXPECT_EQ(written, 0u);
}

}  // namespace
}  // namespace poprt::program
