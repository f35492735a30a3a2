// Calls of every kernel with hostile numbers: sizes of 0 together with the largest ones, and
// operands of a few bytes. A call is refused, or its tasks are few, end, and access only the memory
// of its operands.
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <kernel_calls.h>  // generated: AllCalls, a CallList of all

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/kernels/run_call.h"
#include "kernels/calls/conv_plain.h"
#include "kernels/calls/conv_stem.h"
#include "kernels/calls/conv_transpose.h"
#include "kernels/calls/conv_winograd.h"
#include "kernels/calls/custom.h"
#include "kernels/calls/dft.h"
#include "kernels/calls/inverse.h"
#include "kernels/calls/pool_generic.h"
#include "kernels/calls/requantize.h"

namespace poprt::kernels {
namespace {

using calls::Fields;

// Fills the fields of a call with 0, small numbers and the ends of their ranges.
class Filler final : public Fields {
 public:
  explicit Filler(std::mt19937_64& random) : random_(random), hostile_(random() % 4) {}
  void require(bool fulfilled, std::string_view) override { holds &= fulfilled; }
  bool has_optional(bool, size_t) override { return one_in(2); }

  bool holds = true;

 private:
  bool one_in(uint64_t n) { return random_() % n == 0; }
  void visit(std::string_view, int64_t& value, int64_t least, int64_t most) override {
    if (least > most) {
      holds = false;
      return;
    }
    constexpr int64_t kLarge[] = {100000, (1 << 20) + 1, (int64_t{1} << 30), (int64_t{1} << 31) - 1,
                                  (int64_t{1} << 40) - 1};
    const bool large = hostile_ && one_in(4);
    value = large       ? kLarge[random_() % std::size(kLarge)]
            : one_in(4) ? 0
            : one_in(2) ? 1
                        : static_cast<int64_t>(random_() % 6) - (least < 0 ? 2 : 0);
    value = std::clamp(value, least, most);
  }
  void visit(std::string_view, float& value) override {
    value = static_cast<float>(random_() % 5) - 2;
  }
  size_t items(std::string_view, size_t count) override {
    holds &= count <= kMostItems;
    return holds ? count : 0;
  }
  size_t rest_items(std::string_view, size_t, size_t, size_t most) override {
    return random_() % (std::min(most, kMostItems) + 1);
  }
  size_t rest_floats(std::string_view, size_t, size_t most) override {
    return random_() % (std::min(most, kMostItems) + 1);
  }

  static constexpr size_t kMostItems = 6;
  std::mt19937_64& random_;
  const uint64_t hostile_;
};

constexpr uint64_t kOperandBytes = 256;

struct Operands {
  std::vector<Operand> given;
  std::vector<Shape> shapes;
  std::vector<Tensor> memory;

  Operands(size_t count, std::mt19937_64& random) : shapes(count) {
    constexpr DType kMost = DType::f32;
    constexpr DType kOthers[] = {DType::f64,     DType::f16, DType::bf16, DType::s8,
                                 DType::u8,      DType::s32, DType::s64,  DType::s64,
                                 DType::boolean, DType::s16, DType::u64};
    const DType usual = random() % 4 ? kMost : kOthers[random() % std::size(kOthers)];
    for (size_t i = 0; i < count; i++) {
      if (random() % 8 == 0) {
        given.emplace_back();
        memory.emplace_back();
        continue;
      }
      const DType t = random() % 4 ? usual : kOthers[random() % std::size(kOthers)];
      const uint64_t bytes = random() % 4 ? kOperandBytes : 0;
      Shape& shape = shapes[i];
      const size_t rank = random() % 5;
      int64_t elements = 1;
      for (size_t d = 0; d < rank; d++) {
        shape.push_back(static_cast<int64_t>(random() % 4));
        elements *= shape.back();
      }
      if (dtype_bytes(t, elements) > bytes) shape = {0, 100000, 100000};
      memory.push_back(Tensor::zeros(DType::u8, {static_cast<int64_t>(bytes)}));
      for (uint8_t& v : memory.back().mutable_values<uint8_t>())
        v = random() % 2 ? 0 : static_cast<uint8_t>(random() % 4);
      given.push_back({true, t, shape, bytes});
    }
  }
};

void run(const Plan& plan, std::vector<Tensor>& memory) {
  std::vector<std::unique_ptr<test::Fenced>> fenced;
  std::vector<void*> data;
  for (Tensor& t : memory) {
    fenced.push_back(std::make_unique<test::Fenced>(t));
    data.push_back(fenced.back()->data());
  }
  Tensor scratch = Tensor::zeros(DType::u8, {static_cast<int64_t>(plan.scratch_bytes)});
  plan.run(plan.params.get(), data.data(), 0, plan.tasks * plan.rounds,
           static_cast<std::byte*>(scratch.mutable_data()));
}

template <class C>
class HostileCalls : public ::testing::Test {};
template <class... C>
testing::Types<C...> types_of(calls::CallList<C...>);
using TestedCalls = decltype(types_of(calls::AllCalls{}));
TYPED_TEST_SUITE(HostileCalls, TestedCalls);

TYPED_TEST(HostileCalls, HaveFewTasksThatEnd) {
  if (TypeParam::kKernel == calls::Custom::kKernel) GTEST_SKIP() << "it needs a plug-in";
  const Kernel& kernel = *find_kernel(TypeParam::kKernel);
  std::mt19937_64 random(1);
  std::map<size_t, int> accepted;  // how often a number of operands was not refused
  constexpr int kCalls = 1500;
  for (int i = 0; i < kCalls; i++) {
    TypeParam call;
    Filler filler(random);
    call.fields(filler);
    if (!filler.holds) continue;
    const calls::Encoded encoded = calls::encode(call);
    const auto usual =
        std::ranges::max_element(accepted, {}, [](const auto& a) { return a.second; });
    const size_t n = usual != accepted.end() && random() % 16 ? usual->first : 1 + random() % 11;
    Operands operands(n, random);
    Plan plan;
    try {
      plan = kernel.prepare({operands.given, encoded.ints, encoded.floats});
    } catch (const Error& e) {
      if (e.message().find("operands") == std::string::npos) accepted[n]++;
      continue;
    }
    accepted[n]++;
    SCOPED_TRACE(testing::Message() << TypeParam::kKernel << " ["
                                    << fmt::format("{}", fmt::join(encoded.ints, " ")) << "]");
    const uint64_t bytes = n * kOperandBytes;
    ASSERT_LE(static_cast<double>(plan.tasks) * static_cast<double>(plan.rounds),
              static_cast<double>(64 + 8 * bytes));
    if (plan.tasks == 0) continue;
    ASSERT_LE(plan.scratch_bytes, uint64_t{64} << 20);
    run(plan, operands.memory);
  }
}

// An operand of the given size. prepare() does not read its memory.
Operand sized(DType dtype, uint64_t bytes) { return {true, dtype, {}, bytes}; }

template <calls::NamedCall C>
Plan prepare(const C& call, const std::vector<Operand>& operands) {
  const calls::Encoded encoded = calls::encode(call);
  return find_kernel(C::kKernel)->prepare({operands, encoded.ints, encoded.floats});
}

// Element frame * step + i of the last frame has a position that 64 bits cannot represent.
TEST(HostileDft, PositionsOfFramesFitInto64Bits) {
  calls::Dft call{.outer = 1, .n = 1, .inner = 1, .frames = (1 << 25) + 1, .length = 1, .kept = 1};
  const std::vector<Operand> operands = {sized(DType::f32, 4), {}, sized(DType::f32, 1u << 28)};
  call.step = (int64_t{1} << 38) - 1;
  EXPECT_NO_THROW(prepare(call, operands));
  call.step = (int64_t{1} << 39) - 1;
  EXPECT_THROW(prepare(call, operands), Error);
}

TEST(HostileDft, MemoryIsProportionalToTheResults) {
  calls::Dft call{.outer = 1, .n = 0, .inner = 1, .frames = 1, .length = 1 << 26, .kept = 0};
  const std::vector<Operand> operands = {sized(DType::f32, 0), {}, sized(DType::f32, 8)};
  EXPECT_EQ(prepare(call, operands).tasks, 0);
  call.kept = 1;
  EXPECT_THROW(prepare(call, operands), Error);
}

TEST(HostileRequantize, AScaleIsOfRowsOrOfColumns) {
  calls::Requantize call{.outer = 1, .rows = 1, .columns = 4, .b_column = true};
  const std::vector<Operand> operands = {sized(DType::s32, 16), sized(DType::f32, 4),
                                         sized(DType::f32, 16), sized(DType::f32, 4),
                                         sized(DType::u8, 1),   sized(DType::u8, 4)};
  EXPECT_NO_THROW(prepare(call, operands));
  call.b_row = true;
  EXPECT_THROW(prepare(call, operands), Error);
}

TEST(HostileConv, RowsOfAnyStridesAreCounted) {
  calls::BlockedConv conv;
  conv.ow = 15;
  conv.stride_h = conv.stride_w = 1 << 30;
  const std::vector<Operand> operands = {
      sized(DType::f32, 64), sized(DType::f32, 64), {}, {}, sized(DType::f32, 15 * 64)};
  EXPECT_THROW(prepare(calls::ConvStem{.conv = conv, .depth = {}}, operands), Error);
  EXPECT_THROW(prepare(calls::ConvPlain{.conv = conv, .depth = {}}, operands), Error);
}

// The padded row of such a window has more elements than 64 bits with a sign can count.
TEST(HostilePool, LargeWindowsAreNotCopied) {
  constexpr int64_t kMost = calls::kMostExtent;
  calls::PoolGeneric call;
  call.planes = 1;
  call.axes = {{.in = 1, .out = kMost, .kernel = kMost, .stride = kMost, .dilation = kMost}};
  const Plan plan =
      prepare(call, {sized(DType::f32, 4), sized(DType::f32, uint64_t{4} * kMost), {}});
  EXPECT_EQ(plan.scratch_bytes, 0u);
}

TEST(HostileConvTranspose, HasNoPaddingAndNoDilation) {
  calls::BlockedConv plain;
  plain.kh = plain.kw = plain.stride_h = plain.stride_w = plain.oh = plain.ow = 2;
  const std::vector<Operand> operands = {
      sized(DType::f32, 64), sized(DType::f32, 256), {}, {}, sized(DType::f32, 256)};
  EXPECT_NO_THROW(prepare(calls::ConvTranspose{.conv = plain, .depth = {}}, operands));
  for (int64_t calls::BlockedConv::* field :
       {&calls::BlockedConv::pad_h, &calls::BlockedConv::pad_w, &calls::BlockedConv::dilation_h,
        &calls::BlockedConv::dilation_w}) {
    calls::BlockedConv conv = plain;
    conv.*field += 1;
    EXPECT_THROW(prepare(calls::ConvTranspose{.conv = conv, .depth = {}}, operands), Error);
  }
  EXPECT_NO_THROW(
      prepare(calls::ConvTranspose{.conv = plain, .depth = calls::ConvDepth{}}, operands));
  EXPECT_THROW(prepare(calls::ConvTranspose{.conv = plain, .depth = {{.dilation_d = 2}}}, operands),
               Error);
}

TEST(HostileConvWinograd, ADepthWithoutPlainWeightsIsNotWritten) {
  calls::ConvWinograd call;
  call.conv.kh = call.conv.kw = 3;
  call.depth = calls::ConvDepth{.d = 2};
  EXPECT_THROW(calls::encode(call), Error);
  call.plain_weights = true;
  const calls::Encoded encoded = calls::encode(call);
  EXPECT_EQ(calls::decode<calls::ConvWinograd>(encoded.ints, encoded.floats).depth->d, 2);
}

}  // namespace
}  // namespace poprt::kernels
