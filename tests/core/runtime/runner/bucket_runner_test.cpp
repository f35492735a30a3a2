#include "runtime/runner/bucket_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <numeric>
#include <thread>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "core/runtime/runner/refused_requests.h"
#include "program/builder.h"
#include "program/link.h"
#include "program/serialize.h"
#include "runtime/queue/payload_buffer.h"
#include "runtime/session/popef_file.h"

namespace poprt::runtime {
namespace {

constexpr const char* kNotes = R"({"kind": "shapes", "dimensions": ["batch", "length"],
  "inputs": {"x": {"shape": ["batch", "length"], "pad": 7}, "fixed": {"shape": [null]},
             "mask": {"shape": ["batch", "length"], "pad": "mask"}},
  "outputs": {"y": {"shape": ["batch", "length"]}, "m": {"shape": ["batch", "length"]},
              "f": {"shape": [null]}},
  "buckets": [
    {"inputs": {"x": [1, 4], "fixed": [3], "mask": [1, 4]}, "outputs": {"y": [1, 4], "m": [1, 4], "f": [3]}},
    {"inputs": {"x": [2, 4], "fixed": [3], "mask": [2, 4]}, "outputs": {"y": [2, 4], "m": [2, 4], "f": [3]}},
    {"inputs": {"x": [2, 8], "fixed": [3], "mask": [2, 8]}, "outputs": {"y": [2, 8], "m": [2, 8], "f": [3]}}]})";

// y = x, m = mask, f = fixed.
program::LoadedProgram copies(int64_t batch, int64_t length) {
  program::Builder b;
  const auto add = [&](const char* in, const char* out, DType dtype, const Shape& shape) {
    const uint64_t bytes = dtype_bytes(dtype, element_count(shape));
    const program::BufferId operands[] = {
        b.input(b.add_input({in, dtype, shape}), 0, bytes, dtype, shape),
        b.output(b.add_output({out, dtype, shape}), 0, bytes, dtype, shape)};
    b.emit("copy", operands, {}, {}, out);
  };
  add("x", "y", DType::f32, {batch, length});
  add("fixed", "f", DType::f32, {3});
  add("mask", "m", DType::s64, {batch, length});
  return program::load_in_memory(b.program(), b.weight_records());
}

std::shared_ptr<const Model> model(std::string notes = kNotes) {
  const program::LoadedProgram parts[] = {copies(1, 4), copies(2, 4), copies(2, 8)};
  std::vector<program::Variant> variants;
  for (const auto& p : parts) variants.push_back({&p.program, p.weights, ""});
  const program::Linked linked = program::link_buckets(variants);
  const auto payload = std::make_shared<PayloadBuffer>();
  program::write_executable([&](std::span<const std::byte> bytes) { payload->append(bytes); },
                            linked.program, linked.weights, {{kVariants, std::move(notes)}});
  return open_payload("copies", payload->bytes(), payload);
}

struct Request {
  Request(int64_t batch, int64_t length, bool with_shapes = true)
      : shape{batch, length},
        x(static_cast<size_t>(batch * length)),
        y(x.size(), -1),
        mask(x.size(), -1) {
    std::iota(x.begin(), x.end(), 1.0f);
    in = {{"x", 0, x.data(), x.size() * 4}, {"fixed", 0, fixed, 12}};
    out = {
        {"y", 0, y.data(), y.size() * 4}, {"m", 0, mask.data(), mask.size() * 8}, {"f", 0, f, 12}};
    if (with_shapes) in[0].shape = shape.data(), in[0].rank = 2;
  }
  void expect_right() const {
    EXPECT_EQ(y, x);
    for (const int64_t m : mask) EXPECT_EQ(m, 1);
    EXPECT_EQ(std::memcmp(f, fixed, 12), 0);
  }
  Shape shape;
  std::vector<float> x, y;
  std::vector<int64_t> mask;
  float fixed[3] = {1, 2, 3}, f[3] = {};
  std::vector<InputBinding> in;
  std::vector<OutputBinding> out;
};

std::string message_of(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// None of the buckets is the largest one in every dimension.
TEST(BucketRunner, DescribesTheLargestBucket) {
  std::string notes = kNotes;
  const program::LoadedProgram parts[] = {copies(1, 8), copies(3, 4)};
  notes.replace(notes.find("\"buckets\""), std::string::npos, R"("buckets": [
    {"inputs": {"x": [1, 8], "fixed": [3], "mask": [1, 8]}, "outputs": {"y": [1, 8], "m": [1, 8], "f": [3]}},
    {"inputs": {"x": [3, 4], "fixed": [3], "mask": [3, 4]}, "outputs": {"y": [3, 4], "m": [3, 4], "f": [3]}}]})");
  std::vector<program::Variant> variants;
  for (const auto& p : parts) variants.push_back({&p.program, p.weights, ""});
  const program::Linked linked = program::link_buckets(variants);
  const auto payload = std::make_shared<PayloadBuffer>();
  program::write_executable([&](std::span<const std::byte> bytes) { payload->append(bytes); },
                            linked.program, linked.weights, {{kVariants, notes}});
  BucketRunner runner(open_payload("copies", payload->bytes(), payload));
  EXPECT_EQ(runner.execute_inputs()[0].anchor.shape, (Shape{3, 4}));
  EXPECT_EQ(runner.execute_inputs()[0].size_in_bytes, 48u);
  EXPECT_EQ(runner.execute_outputs()[0].anchor.shape, (Shape{3, 4}));
  for (const bool with_shapes : {true, false})
    for (const auto& [batch, length] : {std::pair(1, 8), std::pair(3, 4), std::pair(2, 3)}) {
      if (!with_shapes && batch == 2) continue;  // the number of bytes determines only the bucket
      Request r(batch, length, with_shapes);
      runner.execute(r.in, r.out);
      r.expect_right();
    }
  Request neither(2, 8);
  EXPECT_EQ(message_of([&] { runner.execute(neither.in, neither.out); }),
            "the model was compiled for no shape that holds batch 2, length 8; there are: batch 1, "
            "length 8; batch 3, length 4");
}

TEST(BucketRunner, TakesEverySizeUpToTheLargest) {
  BucketRunner runner(model());
  ASSERT_EQ(runner.execute_inputs().size(), 3u);
  EXPECT_EQ(runner.execute_inputs()[0].anchor.shape, (Shape{2, 8}));
  EXPECT_TRUE(runner.execute_inputs()[2].popef_contains_tensor_data) << "a mask need not be given";
  for (int64_t batch = 1; batch <= 2; batch++)
    for (int64_t length = 1; length <= 8; length++) {
      Request r(batch, length);
      runner.execute(r.in, r.out);
      r.expect_right();
      Request again(batch, length);
      const RequestPtr request = runner.execute_async(again.in, again.out);
      request->wait();
      request->check();
      again.expect_right();
      EXPECT_EQ(runner.output_shapes(r.in)[0], (Shape{batch, length}));
    }
  // Bucket 0 had lengths 1 to 4 of batch 1, bucket 1 those of batch 2, and bucket 2 the others;
  // each twice.
  EXPECT_EQ(runner.bucket_statistics(0).requests, 8u);
  EXPECT_EQ(runner.bucket_statistics(0).padded, 6u);
  EXPECT_EQ(runner.bucket_statistics(1).requests, 8u);
  EXPECT_EQ(runner.bucket_statistics(2).requests, 16u);
  EXPECT_EQ(runner.bucket_statistics(2).padded, 14u);
  EXPECT_EQ(runner.bucket_statistics(0).room, 8u * 7);
  EXPECT_EQ(runner.bucket_statistics(0).elements, 2u * (1 + 2 + 3 + 4) + 8u * 3);
}

TEST(BucketRunner, PadsWithTheValueOfTheModel) {
  std::string notes = kNotes;  // y is as long as the bucket
  const std::string cropped = R"("y": {"shape": ["batch", "length"]})";
  notes.replace(notes.find(cropped), cropped.size(), R"("y": {"shape": [null, null]})");
  BucketRunner runner(model(notes));
  Request r(1, 3);
  r.y.assign(4, -1);
  r.out[0] = {"y", 0, r.y.data(), 16};
  runner.execute(r.in, r.out);
  EXPECT_EQ(r.y, (std::vector<float>{1, 2, 3, 7}));
}

// y = x of one bucket of shape [2,3,4,2]; y is the whole bucket, or as large as x.
std::shared_ptr<const Model> of_box(DType dtype, const std::string& extents, const std::string& pad,
                                    bool cropped) {
  const Shape shape = {2, 3, 4, 2};
  const uint64_t bytes = dtype_bytes(dtype, element_count(shape));
  program::Builder b;
  const program::BufferId operands[] = {
      b.input(b.add_input({"x", dtype, shape}), 0, bytes, dtype, shape),
      b.output(b.add_output({"y", dtype, shape}), 0, bytes, dtype, shape)};
  b.emit("copy", operands, {}, {}, "y");
  const program::LoadedProgram part = program::load_in_memory(b.program(), b.weight_records());
  const program::Variant variants[] = {{&part.program, part.weights, ""}};
  const program::Linked linked = program::link_buckets(variants);
  const std::string notes = fmt::format(
      R"({{"kind": "shapes", "dimensions": ["a", "b", "c"],
          "inputs": {{"x": {{"shape": {}, "pad": {}}}}}, "outputs": {{"y": {{"shape": {}}}}},
          "buckets": [{{"inputs": {{"x": [2, 3, 4, 2]}}, "outputs": {{"y": [2, 3, 4, 2]}}}}]}})",
      extents, pad, cropped ? extents : "[null, null, null, null]");
  const auto payload = std::make_shared<PayloadBuffer>();
  program::write_executable([&](std::span<const std::byte> piece) { payload->append(piece); },
                            linked.program, linked.weights, {{kVariants, notes}});
  return open_payload("box", payload->bytes(), payload);
}

// Runs on `real` elements of each dimension: every element stays at its index, and the others are
// `pad`.
void expect_padded(BucketRunner& runner, DType dtype, const Shape& real, double pad, bool cropped) {
  SCOPED_TRACE(fmt::format("{}{} padded with {}", dtype_name(dtype), shape_string(real), pad));
  const Shape whole = cropped ? real : Shape{2, 3, 4, 2};
  const uint64_t element = dtype_bytes(dtype, 1);
  std::vector<uint8_t> x(static_cast<size_t>(element_count(real)) * element);
  for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<uint8_t>(1 + i % 50);
  std::vector<uint8_t> y(static_cast<size_t>(element_count(whole)) * element, 0xee);
  runner.execute(std::vector<InputBinding>{{"x", 0, x.data(), x.size(), real.data(), real.size()}},
                 std::vector<OutputBinding>{{"y", 0, y.data(), y.size()}});
  const std::vector<double> values =
      Tensor::view(dtype, whole, y.data(), y.size(), nullptr).to_doubles();
  for (int64_t i = 0; i < element_count(whole); i++) {
    int64_t rest = i, from = 0, scale = 1;
    bool inside = true;
    for (size_t d = 4; d-- > 0; rest /= whole[d]) {
      inside = inside && rest % whole[d] < real[d];
      from += rest % whole[d] * scale;
      scale *= real[d];
    }
    if (inside)
      ASSERT_EQ(std::memcmp(&y[static_cast<size_t>(i) * element],
                            &x[static_cast<size_t>(from) * element], element),
                0)
          << i;
    else
      ASSERT_EQ(values[static_cast<size_t>(i)], pad) << i;
  }
}

TEST(BucketRunner, BoxesOfAnySizeArePaddedAndCropped) {
  for (const bool cropped : {false, true})
    for (const int fixed : {1, 2, 3}) {  // the dimension that has one size
      const char* extents = fixed == 1   ? R"(["a", null, "b", "c"])"
                            : fixed == 2 ? R"(["a", "b", null, "c"])"
                                         : R"(["a", "b", "c", null])";
      BucketRunner runner(of_box(DType::s16, extents, "-3", cropped));
      for (int64_t a = 1; a <= 2; a++)
        for (int64_t b = 1; b <= (fixed == 1 ? 4 : 3); b++)
          for (int64_t c = 1; c <= (fixed == 3 ? 4 : 2); c++)
            expect_padded(runner, DType::s16,
                          fixed == 1   ? Shape{a, 3, b, c}
                          : fixed == 2 ? Shape{a, b, 4, c}
                                       : Shape{a, b, c, 2},
                          -3, cropped);
    }
}

// The value of the padding is converted to each type; numbers that a type does not have are
// refused.
TEST(BucketRunner, PaddingIsOfTheInputsType) {
  const std::tuple<DType, const char*, double> taken[] = {
      {DType::boolean, "1", 1},
      {DType::boolean, "2", 1},
      {DType::s8, "-128", -128},
      {DType::s8, "127", 127},
      {DType::u8, "255", 255},
      {DType::s16, "-32768", -32768},
      {DType::s16, "32767", 32767},
      {DType::u16, "65535", 65535},
      {DType::s32, "-2147483648", -2147483648.0},
      {DType::s32, "2147483647", 2147483647},
      {DType::u32, "4294967295", 4294967295},
      {DType::s64, "-5", -5},
      {DType::u64, "18446744073709549568", 18446744073709549568.0},
      {DType::f16, "0.5", 0.5},
      {DType::bf16, "-2.5", -2.5},
      {DType::f32, "0.25", 0.25},
      {DType::f64, "0.1", 0.1},
      {DType::f8e4m3fn, "0", 0}};
  for (const auto& [dtype, text, value] : taken) {
    BucketRunner runner(of_box(dtype, R"(["a", "b", "c", null])", text, false));
    expect_padded(runner, dtype, {1, 2, 3, 2}, value, false);
  }
  const std::pair<DType, const char*> refused[] = {
      {DType::s8, "-129"},        {DType::s8, "128"},         {DType::u8, "256"},
      {DType::u8, "-1"},          {DType::s16, "-32769"},     {DType::s16, "32768"},
      {DType::u16, "65536"},      {DType::s32, "2147483648"}, {DType::s32, "-2147483649"},
      {DType::u32, "4294967296"}, {DType::u64, "-1"},         {DType::u64, "18446744073709551616"},
      {DType::s8, "0.5"}};
  for (const auto& [dtype, text] : refused) {
    const std::string error_text =
        message_of([&] { BucketRunner(of_box(dtype, R"(["a", "b", "c", null])", text, false)); });
    EXPECT_NE(error_text.find(fmt::format("which {} does not have", dtype_name(dtype))),
              std::string::npos)
        << dtype_name(dtype) << " " << text << ": " << error_text;
  }
  EXPECT_NE(message_of([&] {
              BucketRunner(of_box(DType::f8e4m3fn, R"(["a", "b", "c", null])", "1", false));
            }).find("is padded with 1, but f8e4m3fn is padded with 0 only"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              BucketRunner(of_box(DType::s4, R"(["a", "b", "c", null])", "0", false));
            }).find("input 'x' is s4: elements of less than a byte have one shape"),
            std::string::npos);
}

TEST(BucketRunner, AGivenMaskIsUsed) {
  BucketRunner runner(model());
  Request r(2, 3);
  std::vector<int64_t> mask = {1, 1, 0, 1, 0, 0};
  r.in.push_back({"mask", 0, mask.data(), mask.size() * 8});
  runner.execute(r.in, r.out);
  EXPECT_EQ(r.mask, mask);
}

TEST(BucketRunner, BytesDetermineTheSizeIfItIsUnique) {
  BucketRunner runner(model());
  Request exact(2, 8, false);
  runner.execute(exact.in, exact.out);
  exact.expect_right();
  Request open(1, 3, false);
  EXPECT_NE(message_of([&] {
              runner.execute(open.in, open.out);
            }).find("input 'x': 12 bytes do not determine its shape: give the shape, too"),
            std::string::npos);
}

TEST(BucketRunner, RefusesSizesThatFitNoBucket) {
  BucketRunner runner(model());
  const auto fails = [&](Request r, std::string_view part) {
    const std::string message = message_of([&] { runner.execute(r.in, r.out); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  fails(Request(1, 9), "dimension 'length' is 9: expected 1 to 8");
  fails(Request(1, 0), "dimension 'length' is 0: expected 1 to 8");
  fails(Request(3, 4), "dimension 'batch' is 3: expected 1 to 2");
  Request mixed(2, 3);
  const int64_t mask_shape[] = {2, 4}, mask[8] = {};
  mixed.in.push_back({"mask", 0, mask, 64, mask_shape, 2});
  EXPECT_NE(message_of([&] {
              runner.execute(mixed.in, mixed.out);
            }).find("input 'mask': dimension 'length' is 4, another input has 3"),
            std::string::npos);
  Request r(2, 3);
  r.in.pop_back();
  EXPECT_NE(message_of([&] { runner.execute(r.in, r.out); }).find("input 'fixed' is missing"),
            std::string::npos);
  Request index(2, 3);
  index.in.push_back({"poprt.bucket", 0, mask, 4});
  EXPECT_NE(message_of([&] { runner.execute(index.in, index.out); }).find("is the runner's"),
            std::string::npos);
  Request small(2, 3);
  small.out[0].bytes = 20;
  EXPECT_NE(message_of([&] { runner.execute(small.in, small.out); }).find("expected 24 bytes"),
            std::string::npos);
}

TEST(BucketRunner, BindingsMayBeByIndex) {
  BucketRunner runner(model());
  for (int64_t batch = 1; batch <= 2; batch++) {
    Request r(batch, 3);
    r.in[0].name = r.in[1].name = {};
    r.in[1].index = 1;
    std::swap(r.in[0], r.in[1]);
    const size_t of_outputs[] = {0, 2, 1};  // y, m and f in the model
    for (size_t i = 0; i < r.out.size(); i++) r.out[i].name = {}, r.out[i].index = of_outputs[i];
    runner.execute(r.in, r.out);
    r.expect_right();
  }
}

TEST(BucketRunner, ExplainsWhyARequestIsRefused) {
  BucketRunner runner(model());
  static const int64_t four[] = {4};
  auto cases = refused_requests<Request>();
  cases.emplace_back([](Request& r) { r.in[0].name = {}, r.in[0].index = 3; },
                     "there is no input 3; the model has 3");
  cases.emplace_back([](Request& r) { r.in[1].shape = four, r.in[1].rank = 1; },
                     "input 'fixed': expected f32[3], given [4]");
  cases.emplace_back([](Request& r) { r.in[0].shape = four, r.in[0].rank = 1; },
                     "input 'x': expected f32[2 or less,8 or less], given [4]");
  cases.emplace_back([](Request& r) { r.out[0].name = {}, r.out[0].index = 3; },
                     "there is no output 3; the model has 3");
  for (const auto& [change, wanted] : cases) {
    Request r(2, 3);
    change(r);
    EXPECT_EQ(message_of([&] { runner.execute(r.in, r.out); }), wanted);
    EXPECT_EQ(message_of([&] { runner.execute_async(r.in, r.out); }), wanted);
  }
  for (size_t bucket = 0; bucket < 3; bucket++)
    EXPECT_EQ(runner.bucket_statistics(bucket).requests, 0u) << bucket;
}

TEST(BucketRunner, AnInputOfOneShapeCanBeFrozen) {
  const float value[32] = {4, 5, 6};
  RunnerConfig config;
  config.frozen_inputs = {{"fixed", {value, 12}}};
  BucketRunner runner(model(), config);
  Request r(2, 3);
  r.in.pop_back();
  runner.execute(r.in, r.out);
  EXPECT_EQ(r.y, r.x);
  EXPECT_EQ(std::memcmp(r.f, value, 12), 0);
}

TEST(BucketRunner, CallbacksSeeTheCroppedOutputs) {
  BucketRunner runner(model());
  Request r(2, 5);
  struct Calls {
    const Request& request;
    std::atomic<bool> right_before{false}, done{false};
  } calls{r, {}, {}};
  RequestCallback callback;
  callback.context = &calls;
  callback.before = [](void* context) noexcept {
    auto& own = *static_cast<Calls*>(context);
    own.right_before = own.request.y == own.request.x;
  };
  callback.call = [](void* context, ErrorCode code) noexcept {
    static_cast<Calls*>(context)->done = code == ErrorCode::ok;
  };
  const RequestPtr request = runner.execute_async(r.in, r.out, callback);
  request->wait();
  request->check();
  for (int i = 0; i < 2000 && !calls.done; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(calls.right_before);
  EXPECT_TRUE(calls.done);
  r.expect_right();
}

// The C ABI gives a null shape with a rank for a tensor of undefined type.
TEST(BucketRunner, AnOutputWithoutAShapeMayHaveARank) {
  BucketRunner runner(model());
  Request r(2, 3);
  for (OutputBinding& b : r.out) b.rank = 4;
  runner.execute(r.in, r.out);
  r.expect_right();
}

TEST(BucketRunner, RefusesNegativeSizes) {
  BucketRunner runner(model());
  for (const int64_t size : {-1, -5, INT32_MIN}) {
    Request r(2, 3, false);
    const int64_t shape[] = {2, size};
    r.in[0].shape = shape;
    r.in[0].rank = 2;
    const int64_t mask[8] = {};
    r.in.push_back({"mask", 0, mask, 64});
    EXPECT_EQ(message_of([&] { runner.execute(r.in, r.out); }),
              fmt::format("dimension 'length' is {}: expected 1 to 8, the largest shape that the "
                          "model was compiled for",
                          size));
  }
}

TEST(BucketRunner, CountsOnlyRequestsThatTheQueueAccepts) {
  RunnerConfig config;
  config.queue_depth = 1;
  BucketRunner runner(model(), config);
  uint64_t accepted = 0, refused = 0;
  std::deque<Request> all;
  std::vector<RequestPtr> requests;
  while (refused < 20) {
    Request& r = all.emplace_back(2, 7);
    try {
      requests.push_back(runner.execute_async(r.in, r.out, {}, {.when_full = WhenFull::fail}));
      accepted++;
    } catch (const Error& e) {
      ASSERT_EQ(e.code(), ErrorCode::unavailable);
      refused++;
    }
  }
  for (const RequestPtr& r : requests) r->wait();
  runner.stop();
  Request late(2, 7);
  EXPECT_THROW(runner.execute(late.in, late.out), Error);
  const BucketStatistics s = runner.bucket_statistics(2);
  EXPECT_EQ(s.requests, accepted);
  EXPECT_EQ(s.padded, accepted);
  EXPECT_EQ(s.elements, accepted * (14 + 3));
  EXPECT_EQ(s.room, accepted * (16 + 3));
}

TEST(BucketRunner, OutputsMayBeInTheMemoryOfInputs) {
  BucketRunner runner(model());
  for (const int64_t length : {3, 8})
    for (const int offset : {-1, 0, 1}) {
      Request r(2, length);
      std::vector<float> room(r.x.size() + 2);
      const auto run = [&](auto call) {
        std::copy(r.x.begin(), r.x.end(), room.begin() + 1);
        r.in[0].data = room.data() + 1;
        r.out[0].data = room.data() + 1 + offset;
        call();
        EXPECT_EQ(std::memcmp(r.out[0].data, r.x.data(), r.x.size() * 4), 0);
        EXPECT_EQ(std::memcmp(r.f, r.fixed, 12), 0);
      };
      run([&] { runner.execute(r.in, r.out); });
      run([&] {
        const RequestPtr request = runner.execute_async(r.in, r.out);
        request->wait();
        request->check();
      });
    }
}

TEST(BucketRunner, RefusesOutputsInTheMemoryOfOutputs) {
  BucketRunner runner(model());
  for (const int64_t length : {3, 8}) {
    Request r(2, length);
    r.out[0].data = r.out[2].data;
    EXPECT_EQ(message_of([&] { runner.execute_async(r.in, r.out); }),
              "outputs 'y' and 'f' are in the same memory: give each of them its own");
  }
}

TEST(BucketRunner, CancelledRequestsDoNotWriteTheirMemory) {
  BucketRunner runner(model());
  std::vector<std::unique_ptr<Request>> requests;
  std::vector<RequestPtr> handles;
  for (int i = 0; i < 64; i++) {
    requests.push_back(std::make_unique<Request>(1 + i % 2, 1 + i % 8));
    handles.push_back(runner.execute_async(requests.back()->in, requests.back()->out));
  }
  for (int i = 0; i < 64; i += 3)
    if (handles[static_cast<size_t>(i)]->cancel()) requests[static_cast<size_t>(i)].reset();
  for (size_t i = 0; i < handles.size(); i++) {
    handles[i]->wait();
    if (requests[i]) requests[i]->expect_right();
  }
}

TEST(BucketRunner, RefusesConfigurationsThatDoNotFit) {
  RunnerConfig batching;
  batching.batching_dim = 0;
  EXPECT_NE(message_of([&] { BucketRunner(model(), batching); }).find("leave `batching_dim` unset"),
            std::string::npos);
  RunnerConfig overlap;
  overlap.overlap_io = true;
  EXPECT_NE(message_of([&] { BucketRunner(model(), overlap); }).find("overlap_io"),
            std::string::npos);
}

TEST(BucketRunner, NotesThatContradictTheProgramAreRefused) {
  const auto open = [&](std::string_view from, std::string_view to) {
    std::string notes = kNotes;
    notes.replace(notes.find(from), from.size(), to);
    return message_of([&] { model(notes); });
  };
  EXPECT_NE(open(R"("x": [2, 8])", R"("x": [2, 9])").find("'x' is [2,9] in a bucket"),
            std::string::npos);
  EXPECT_NE(open(R"("x": [2, 8])", R"("x": [2, 7])").find("do not follow its dimensions"),
            std::string::npos);
  EXPECT_NE(open(R"(["batch", "length"], "pad": 7)", R"(["batch", "width"], "pad": 7)")
                .find("there is no dimension 'width'"),
            std::string::npos);
  EXPECT_NE(open(R"("fixed": {"shape": [null]})", R"("fixed": {"shape": []})").find("0 dimensions"),
            std::string::npos);
  for (const char* number : {"1e300", "2.5", "18446744073709551615", "\"2\""})
    EXPECT_NE(open(R"("x": [2, 8])", fmt::format(R"("x": [2, {}])", number))
                  .find("expected a whole number, found "),
              std::string::npos)
        << number;
  const auto pad = [&](const char* number) {
    std::string notes = kNotes;
    notes.replace(notes.find("\"mask\"}}"), 6, number);
    return message_of([&] { BucketRunner(model(notes), {}); });
  };
  for (const char* number : {"9223372036854775808", "-1e19", "1e300", "0.5"})
    EXPECT_NE(pad(number).find("which s64 does not have"), std::string::npos) << number;
  EXPECT_EQ(pad("-9223372036854775808"), "no error");
}

}  // namespace
}  // namespace poprt::runtime
