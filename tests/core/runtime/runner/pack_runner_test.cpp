#include "runtime/runner/pack_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/shape.h"
#include "base/tensor.h"
#include "program/batch_rows.h"
#include "support/error_code.h"
#include "support/function_device.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;
using test::expect_error;
using test::FunctionDevice;

constexpr int64_t kPackRows = 2, kPackLength = 8, kPackItems = 4;
constexpr size_t kPlaces = kPackRows * kPackLength;

// Keeps the inputs of the device; y = ids * 2 at each place.
struct Packed {
  std::mutex mutex;
  std::vector<std::vector<int32_t>> ids, masks, lengths;
};

struct PackSetup {
  explicit PackSetup(bool unpacks = false,
                     const std::function<void(PackRunnerConfig&)>& change = {}) {
    std::vector<program::Anchor> in{{"ids", DType::s32, {kPackRows, kPackLength}},
                                    {"mask", DType::s32, {kPackRows, kPackLength}}};
    if (unpacks) in.push_back({"unpack_info", DType::s32, {kPackItems, 1}});
    std::vector<program::Anchor> out;
    if (unpacks)
      out = {{"sum", DType::s32, {kPackItems}}};
    else
      out = {{"y", DType::s32, {kPackRows, kPackLength}}};
    config.timeout = 24h;
    config.dynamic_input_name = "ids";
    config.dynamic_group = {"mask"};
    if (unpacks) config.unpack_info_input_name = "unpack_info";
    config.runner.session.device = std::make_shared<FunctionDevice>(
        [this, unpacks](const void* const* inputs, void* const* outputs) {
          const auto* ids = static_cast<const int32_t*>(inputs[0]);
          const auto* mask = static_cast<const int32_t*>(inputs[1]);
          auto* y = static_cast<int32_t*>(outputs[0]);
          const std::lock_guard lock(seen.mutex);
          seen.ids.emplace_back(ids, ids + kPlaces);
          seen.masks.emplace_back(mask, mask + kPlaces);
          if (!unpacks) {
            for (size_t i = 0; i < kPlaces; i++) y[i] = 2 * ids[i];
            return;
          }
          const auto* lengths = static_cast<const int32_t*>(inputs[2]);
          seen.lengths.emplace_back(lengths, lengths + kPackItems);
          for (int k = 0, at = 0; k < kPackItems; k++) {
            y[k] = 0;
            for (int i = 0; i < lengths[k]; i++) y[k] += ids[at++];
          }
        });
    if (change) change(config);
    runner = std::make_unique<PackRunner>(test::anchors_only(in, out), config);
  }
  Packed seen;
  PackRunnerConfig config;
  std::unique_ptr<PackRunner> runner;
};

struct Item {
  Item(size_t n, int32_t first, size_t padded = 0)
      : length(n), ids(n + padded), mask(n + padded), y(n + 2, -9) {
    for (size_t i = 0; i < n; i++) ids[i] = first + static_cast<int32_t>(i), mask[i] = 1;
    for (size_t i = n; i < ids.size(); i++) ids[i] = 777;  // padding with rubbish
    in = {{"ids", 0, ids.data(), ids.size() * 4}, {"mask", 0, mask.data(), mask.size() * 4}};
    out = {{"y", 0, y.data() + 1, n * 4}};
  }
  bool right() const {
    for (size_t i = 0; i < length; i++)
      if (y[i + 1] != 2 * ids[i]) return false;
    return y.front() == -9 && y.back() == -9;
  }
  size_t length;
  std::vector<int32_t> ids, mask, y;
  std::vector<InputBinding> in;
  std::vector<OutputBinding> out;
};

std::vector<int32_t> places(std::initializer_list<std::pair<size_t, std::vector<int32_t>>> parts) {
  std::vector<int32_t> list(kPlaces);
  for (const auto& [at, values] : parts)
    std::copy(values.begin(), values.end(), list.begin() + static_cast<std::ptrdiff_t>(at));
  return list;
}

TEST(PackRunner, ACountOfItemsReleasesAPack) {
  PackSetup s(false, [](auto& c) { c.max_valid_num = 3; });
  Item a(5, 10), b(6, 20), c(2, 30);
  const RequestPtr ra = s.runner->execute_async(a.in, a.out),
                   rb = s.runner->execute_async(b.in, b.out);
  EXPECT_FALSE(rb->wait(20ms));
  const RequestPtr rc = s.runner->execute_async(c.in, c.out);
  for (const RequestPtr* r : {&ra, &rb, &rc}) ASSERT_TRUE((*r)->wait(60s));
  EXPECT_TRUE(a.right() && b.right() && c.right());
  // Scheme A: one after the other, across rows.
  ASSERT_EQ(s.seen.ids.size(), 1u);
  EXPECT_EQ(s.seen.ids[0], places({{0, a.ids}, {5, b.ids}, {11, c.ids}}));
  s.runner->stop();
}

// The places of the padding are set to zero before the item runs.
TEST(PackRunner, OutputsMayBeInTheMemoryOfInputs) {
  PackSetup s(false, [](auto& c) {
    c.max_valid_num = 1, c.enable_padding_remove = true, c.mask_name = "mask";
  });
  for (const int offset : {-1, 0, 1}) {
    Item a(5, 10, 2);
    std::vector<int32_t> room(a.ids.size() + 2);
    std::copy(a.ids.begin(), a.ids.end(), room.begin() + 1);
    a.in[0].data = room.data() + 1;
    a.out[0] = {"y", 0, room.data() + 1 + offset, a.ids.size() * 4};
    s.runner->execute(a.in, a.out);
    for (size_t i = 0; i < a.ids.size(); i++)
      EXPECT_EQ(static_cast<int32_t*>(a.out[0].data)[i], i < 5 ? 2 * a.ids[i] : 0) << i;
  }
  s.runner->stop();
}

// Several rows would be one item, which attention does not separate.
TEST(PackRunner, ARequestIsOneItem) {
  PackSetup s(false, [](auto& c) { c.max_valid_num = 1; });
  const auto run_with = [&](const Shape& shape) {
    Item a(6, 10);
    for (InputBinding& b : a.in) b.shape = shape.data(), b.rank = shape.size();
    s.runner->execute(a.in, a.out);
    return a.right();
  };
  for (const Shape& shape : {Shape{6}, {1, 6}, {1, 1, 6}, {6, 1, 1}}) EXPECT_TRUE(run_with(shape));
  for (const Shape& shape : {Shape{2, 3}, {3, 2}, {6, 1}, {1, 2, 3}, {2, 3, 1}})
    expect_error([&] { run_with(shape); }, ErrorCode::invalid_argument,
                 "input 'ids': a request is one item, and [6,...] or [1,6,...] has its 6 places, "
                 "given " +
                     shape_string(shape) + ": submit a request for each item");
  s.runner->stop();
}

// The compiler states whether places change each other's results.
TEST(PackRunner, ItemsThatNothingSeparatesMustNotChangeEachOther) {
  const auto create = [](const std::vector<std::string>& inputs, const std::string& mixed,
                         uint32_t axis, bool numbers, bool unpacks = false) {
    std::vector<program::Anchor> in{{"ids", DType::s32, {2, 8}}, {"mask", DType::s32, {2, 8}}};
    if (unpacks) in.push_back({"unpack_info", DType::s32, {4, 1}});
    const auto model = test::anchors_only(in, {{"y", DType::s32, {unpacks ? 4 : 2, 8}}});
    model->opaque[program::kBatchRows] =
        program::note_of_batch_rows({{axis, axis ? 8 : 2, inputs, mixed}});
    PackRunnerConfig config;
    config.timeout = 24h;
    config.dynamic_input_name = "ids";
    if (numbers) config.enable_single_row_mode("mask");
    if (unpacks) config.unpack_info_input_name = "unpack_info";
    config.runner.session.device =
        std::make_shared<FunctionDevice>([](const void* const*, void* const*) {});
    const PackRunner runner(model, config);
  };
  const std::vector<std::string> both{"ids", "mask"};
  expect_error([&] { create(both, "node 'softmax' mixes", 1, false); },
               ErrorCode::failed_precondition,
               "items of one pack would change each other's results: node 'softmax' mixes; compile "
               "the model with pack_args");
  create(both, "", 1, false);
  create(both, "node 'softmax' mixes", 0, false);  // rows
  create({"mask"}, "node 'softmax' mixes", 1, false);
  create(both, "node 'softmax' mixes", 1, true);
  create(both, "node 'softmax' mixes", 1, false, true);
}

TEST(PackRunner, AnItemThatDoesNotFitReleasesAPack) {
  PackSetup s;
  Item a(10, 1), b(7, 50);
  const RequestPtr ra = s.runner->execute_async(a.in, a.out),
                   rb = s.runner->execute_async(b.in, b.out);
  ASSERT_TRUE(ra->wait(60s));
  EXPECT_TRUE(a.right());
  EXPECT_FALSE(rb->wait(20ms));
  s.runner->stop();
  EXPECT_EQ(rb->code(), ErrorCode::cancelled);
}

TEST(PackRunner, TheTimeoutReleasesAPack) {
  ManualClock clock;
  PackSetup s(false, [&](auto& c) {
    c.timeout = 15000us;
    c.runner.clock = Clock(clock);
  });
  Item a(3, 1), b(3, 5);
  const RequestPtr ra = s.runner->execute_async(a.in, a.out);
  while (clock.waiting() == 0) std::this_thread::sleep_for(1ms);
  clock.advance(14ms);
  const RequestPtr rb = s.runner->execute_async(b.in, b.out);
  EXPECT_FALSE(rb->wait(20ms));
  clock.advance(1ms);  // since the first item
  ASSERT_TRUE(ra->wait(60s) && rb->wait(60s));
  EXPECT_TRUE(a.right() && b.right());
  EXPECT_EQ(s.runner->statistics().steps, 1u);
  EXPECT_EQ(s.runner->statistics().padded_rows, kPlaces - 6);
  s.runner->stop();
}

TEST(PackRunner, SingleRowModeNumbersItemsInTheMask) {
  for (const PackAlgorithm algo : {PackAlgorithm::first_fit, PackAlgorithm::next_fit}) {
    PackSetup s(false, [&](auto& c) {
      c.enable_single_row_mode("mask", "", 1);
      c.algo = algo;
      c.dynamic_group.clear();
      c.max_valid_num = 3;
    });
    Item a(4, 10), b(6, 20), c(3, 30);
    std::vector<RequestPtr> requests;
    for (Item* i : {&a, &b, &c}) {
      if (i == &b) i->in.pop_back();  // the mask need not be given
      requests.push_back(s.runner->execute_async(i->in, i->out));
    }
    const bool third_fits = true;  // 4 + 1 + 3 = 8 in row 0
    if (algo == PackAlgorithm::next_fit) {
      // Row 1 has no room for it any more: the pack goes without it.
      ASSERT_TRUE(requests[1]->wait(60s));
      EXPECT_EQ(s.seen.ids[0], places({{0, a.ids}, {8, b.ids}}));
      EXPECT_EQ(s.seen.masks[0], places({{0, {1, 1, 1, 1}}, {8, {1, 1, 1, 1, 1, 1}}}));
      EXPECT_FALSE(requests[2]->done());
    } else {
      for (const auto& r : requests) ASSERT_TRUE(r->wait(60s));
      EXPECT_TRUE(third_fits && a.right() && b.right() && c.right());
      EXPECT_EQ(s.seen.ids[0], places({{0, a.ids}, {5, c.ids}, {8, b.ids}}));
      EXPECT_EQ(s.seen.masks[0],
                places({{0, {1, 1, 1, 1}}, {5, {2, 2, 2}}, {8, {1, 1, 1, 1, 1, 1}}}));
    }
    s.runner->stop();
  }
}

TEST(PackRunner, UnpackInfoCarriesLengthsAndOutputsAreItems) {
  PackSetup s(true);
  std::vector<RequestPtr> requests;
  std::vector<Item> items;
  std::vector<int32_t> sums(kPackItems, -1);
  for (int i = 0; i < kPackItems; i++) items.emplace_back(static_cast<size_t>(i + 1), 10 * i);
  for (size_t i = 0; i < kPackItems; i++) {
    const std::vector<OutputBinding> out{{"sum", 0, &sums[i], 4}};
    requests.push_back(s.runner->execute_async(items[i].in, out));
  }
  for (const auto& r : requests) ASSERT_TRUE(r->wait(60s));
  EXPECT_EQ(s.seen.lengths[0], (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(sums, (std::vector<int32_t>{0, 21, 63, 126}));
  s.runner->stop();
}

TEST(PackRunner, RemovesPaddingByTheMask) {
  PackSetup s(false, [](auto& c) {
    c.enable_padding_remove_pattern("mask", {});
    c.max_valid_num = 2;
  });
  Item a(3, 10, 5), b(4, 20, 4);
  const RequestPtr ra = s.runner->execute_async(a.in, a.out),
                   rb = s.runner->execute_async(b.in, b.out);
  ASSERT_TRUE(ra->wait(60s) && rb->wait(60s));
  EXPECT_TRUE(a.right() && b.right());
  EXPECT_EQ(s.seen.ids[0], places({{0, {10, 11, 12}}, {3, {20, 21, 22, 23}}}));
  EXPECT_EQ(s.seen.masks[0], places({{0, {1, 1, 1, 1, 1, 1, 1}}}));
  Item empty(1, 1, 3);
  empty.mask[0] = 0;
  EXPECT_THROW(s.runner->execute(empty.in, empty.out), Error);
  s.runner->stop();
}

TEST(PackRunner, InputsOutsideThePaddedGroupArriveAtTheirRealLength) {
  // The mask and "ids" have padding; "positions" has it or not.
  PackRunnerConfig c;
  c.timeout = 24h;
  c.max_valid_num = 2;
  c.enable_padding_remove_pattern("mask", {"ids"});
  std::vector<int32_t> positions;
  c.runner.session.device =
      std::make_shared<FunctionDevice>([&](const void* const* in, void* const* out) {
        const auto* p = static_cast<const int32_t*>(in[2]);
        positions.assign(p, p + kPlaces);
        std::memcpy(out[0], in[0], kPlaces * 4);
      });
  const Shape shape{kPackRows, kPackLength};
  PackRunner runner(test::anchors_only({{"ids", DType::s32, shape},
                                        {"mask", DType::s32, shape},
                                        {"positions", DType::s32, shape}},
                                       {{"y", DType::s32, shape}}),
                    c);
  Item a(3, 10, 5), b(4, 20, 4);
  std::vector<int32_t> own{1, 2, 3}, padded{1, 2, 3, 4, 99, 99, 99, 99};
  a.in.push_back({"positions", 0, own.data(), 12});
  b.in.insert(b.in.begin(), {"positions", 0, padded.data(), 32});
  const RequestPtr ra = runner.execute_async(a.in, a.out), rb = runner.execute_async(b.in, b.out);
  ASSERT_TRUE(ra->wait(60s) && rb->wait(60s));
  ra->check();
  rb->check();
  EXPECT_EQ(positions, places({{0, {1, 2, 3, 1, 2, 3, 4}}}));
  EXPECT_EQ(std::vector<int32_t>(a.y.begin() + 1, a.y.end() - 1),
            (std::vector<int32_t>{10, 11, 12}));
  // Outputs are as long as the shortest input.
  EXPECT_EQ(runner.output_shapes(a.in)[0], (Shape{1, 3}));
  const auto fails = [&](const InputBinding& given, std::string_view part) {
    Item item(3, 10, 5);
    item.in.push_back(given);
    try {
      runner.execute(item.in, item.out);
      ADD_FAILURE() << part;
    } catch (const Error& e) {
      EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos) << e.what();
    }
  };
  fails({"positions", 0, padded.data(), 16},
        "input 'positions' has 4 places, but 'mask' has 8, of which 3 are not padding");
  Item other(3, 10, 5);
  other.in[0].bytes = 12;  // "ids" is in the group
  EXPECT_THROW(runner.execute(other.in, other.out), Error);
  runner.stop();
}

TEST(PackRunner, ADynamicInputMayBeLeftOut) {
  PackSetup s(false, [](auto& c) { c.max_valid_num = 2; });
  Item a(3, 10), b(2, 20);
  a.in.pop_back();
  testing::internal::CaptureStderr();
  const RequestPtr ra = s.runner->execute_async(a.in, a.out),
                   rb = s.runner->execute_async(b.in, b.out);
  ASSERT_TRUE(ra->wait(60s) && rb->wait(60s));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("leaves out input 'mask'"), std::string::npos) << log;
  EXPECT_TRUE(a.right() && b.right());
  EXPECT_EQ(s.seen.masks[0], places({{3, {1, 1}}}));
  s.runner->stop();
}

TEST(PackRunner, UnpackInfoMayBeGivenWithOneSegment) {
  PackSetup s(true, [](auto& c) { c.max_valid_num = 1; });
  Item item(3, 10);
  int32_t sum = 0;
  int32_t length = 3;
  item.in.push_back({"unpack_info", 0, &length, 4});
  const std::vector<OutputBinding> out{{"sum", 0, &sum, 4}};
  s.runner->execute(item.in, out);
  EXPECT_EQ(s.seen.lengths[0], (std::vector<int32_t>{3, 0, 0, 0}));
  EXPECT_EQ(sum, 33);
  length = 2;
  try {
    s.runner->execute(item.in, out);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(std::string_view(e.what()).find("segments have 2 places together, inputs 3"),
              std::string_view::npos)
        << e.what();
  }
  s.runner->stop();
}

TEST(PackRunner, CompileBatchSizeDividesAFlatInput) {
  PackRunnerConfig c;
  c.timeout = 1us;
  c.dynamic_input_name = "ids";
  c.compile_batch_size = 2;
  c.disable_data_across_rows = true;
  c.runner.session.device = std::make_shared<FunctionDevice>(
      [](const void* const* in, void* const* out) { std::memcpy(out[0], in[0], kPlaces * 4); });
  PackRunner runner(
      test::anchors_only({{"ids", DType::s32, {kPlaces}}}, {{"y", DType::s32, {kPlaces}}}), c);
  EXPECT_EQ(runner.execute_inputs()[0].size_in_bytes, kPackLength * 4u);  // one row
  std::vector<int32_t> x(kPackLength, 5), y(kPackLength);
  const InputBinding in[] = {{"ids", 0, x.data(), kPackLength * 4}};
  const OutputBinding out[] = {{"y", 0, y.data(), kPackLength * 4}};
  runner.execute(in, out);
  EXPECT_EQ(x, y);
}

TEST(PackRunner, ResultsEqualUnpackedOnesForRandomRequests) {
  for (int mode = 0; mode < 6; mode++) {
    PackSetup s(false, [&](auto& c) {
      c.timeout = 200us;
      c.delimiter_num = mode % 2;
      c.enable_prefetch_datastreams = mode % 3 != 0;
      if (mode >= 2) c.enable_single_row_mode("mask", "", mode % 2);
      c.algo = mode >= 4 ? PackAlgorithm::first_fit : PackAlgorithm::next_fit;
    });
    std::vector<std::thread> clients;
    for (unsigned t = 0; t < 3; t++)
      clients.emplace_back([&, t] {
        std::mt19937 rng(t);
        for (int i = 0; i < 60; i++) {
          Item item(1 + rng() % kPackLength, static_cast<int32_t>(rng() % 1000));
          s.runner->execute(item.in, item.out);
          ASSERT_TRUE(item.right());
        }
      });
    for (auto& c : clients) c.join();
    EXPECT_EQ(s.runner->statistics().completed, 180u);
    s.runner->stop();
  }
}

TEST(PackRunner, SingleRowModeNeedsOnlyTheMask) {
  PackSetup s(false, [](auto& c) {
    c.dynamic_input_name.clear();
    c.dynamic_group.clear();
    c.timeout = 300us;
    c.enable_single_row_mode("mask", "", 1);
  });
  EXPECT_EQ(s.runner->execute_outputs()[0].anchor.shape, (Shape{1, kPackLength}));
  Item a(4, 10);
  s.runner->execute(a.in, a.out);
  EXPECT_TRUE(a.right());
}

TEST(PackRunner, PaddingThatWasRemovedIsRestored) {
  PackSetup s(false, [](auto& c) {
    c.enable_padding_remove_pattern("mask", {});
    c.timeout = 300us;
  });
  Item a(3, 10, 4);
  std::vector<int32_t> y(7, -9);
  EXPECT_EQ(s.runner->output_shapes(a.in)[0], (Shape{1, 7}));
  const std::vector<OutputBinding> out{{"y", 0, y.data(), 28}};
  s.runner->execute(a.in, out);
  EXPECT_EQ(y, (std::vector<int32_t>{20, 22, 24, 0, 0, 0, 0}));
  EXPECT_EQ(s.runner->statistics().rows, 3u);
}

// Zeros are written over the padding, up to the end of the caller's memory.
TEST(PackRunner, RestoredPaddingEndsWithTheMemoryOrTheItem) {
  PackSetup s(false, [](auto& c) {
    c.enable_padding_remove_pattern("mask", {});
    c.timeout = 300us;
  });
  for (const auto& [room, zeros] : {std::pair<size_t, size_t>{3, 0}, {5, 2}, {7, 4}, {9, 4}}) {
    Item a(3, 10, 4);
    std::vector<int32_t> y(12, -9), wanted(12, -9);
    for (size_t i = 0; i < 3 + zeros; i++) wanted[i] = i < 3 ? 20 + 2 * static_cast<int32_t>(i) : 0;
    const std::vector<OutputBinding> out{{"y", 0, y.data(), room * 4}};
    s.runner->execute(a.in, out);
    EXPECT_EQ(y, wanted) << room;
  }
}

TEST(PackRunner, HoldsRequestsForFourPacks) {
  const auto capacity = [](int64_t places, size_t depth) {
    PackRunnerConfig c;
    c.timeout = 24h;
    c.runner.queue_depth = depth;
    c.runner.session.device = std::make_shared<FunctionDevice>([](const auto*, auto*) {});
    const PackRunner runner(
        test::anchors_only({{"ids", DType::u8, {1, places}}}, {{"y", DType::u8, {1, places}}}), c);
    return runner.statistics().queue_capacity;
  };
  EXPECT_EQ(capacity(8, 0), 64u);
  EXPECT_EQ(capacity(100, 0), 400u);
  EXPECT_EQ(capacity(100, 500), 500u);
  EXPECT_EQ(capacity(20'000, 0), 65'536u);
}

TEST(PackRunner, PreparesTheNextPackDuringARunOnRequest) {
  for (const bool prefetch : {true, false}) {
    test::Gate gate;
    std::atomic<int> runs{0};
    PackSetup s(false, [&](auto& c) {
      c.max_valid_num = 1;
      c.enable_prefetch_datastreams = prefetch;
      c.runner.session.device = std::make_shared<FunctionDevice>([&](const auto*, auto*) {
        runs++;
        gate.wait();
      });
    });
    Item a(3, 1), b(3, 5);
    const RequestPtr ra = s.runner->execute_async(a.in, a.out),
                     rb = s.runner->execute_async(b.in, b.out);
    while (runs == 0) std::this_thread::yield();
    if (prefetch)
      while (s.runner->statistics().steps < 2) std::this_thread::yield();
    EXPECT_FALSE(rb->wait(20ms));
    EXPECT_EQ(s.runner->statistics().steps, prefetch ? 2u : 1u);
    gate.open();
    EXPECT_TRUE(ra->wait(60s) && rb->wait(60s));
    EXPECT_EQ(s.runner->statistics().steps, 2u);
  }
}

TEST(PackRunner, RequestsNameNoReplica) {
  PackSetup s;
  Item a(3, 1);
  RequestOptions options;
  options.replica = 0;
  try {
    s.runner->execute_async(a.in, a.out, {}, options);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "a pack runner puts requests of all together: leave the replica out");
  }
}

TEST(PackRunner, AnOutputOfRowsIsRefused) {
  PackRunnerConfig c;
  c.timeout = 1ms;
  c.runner.session.device = std::make_shared<FunctionDevice>([](const auto*, auto*) {});
  const auto model = test::anchors_only({{"ids", DType::s32, {kPackRows, kPackLength}}},
                                        {{"pooled", DType::s32, {kPackRows, kPackLength * 4}}});
  EXPECT_THROW(PackRunner(model, c), Error);
}

TEST(PackRunner, ErrorsDescribeInvalidRequests) {
  PackSetup s;
  const auto fails = [&](const Item& item, std::string_view part) {
    try {
      s.runner->execute(item.in, item.out);
      ADD_FAILURE() << part;
    } catch (const Error& e) {
      EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos) << e.what();
    }
  };
  Item item(17, 1);
  fails(item, "a request of 17 places is longer than 16");
  item = Item(3, 1);
  item.in[0] = {"ids", 0, item.ids.data(), 12};
  item.in[1] = {"mask", 0, item.mask.data(), 8};
  item.out[0] = {"y", 0, item.y.data(), 12};
  fails(item, "input 'mask' has 2 places, but 'ids' has 3");
  item.in.erase(item.in.begin());
  fails(item, "input 'ids' is missing");
  item = Item(3, 1);
  item.in[0].bytes = 11;
  fails(item, "input 'ids': expected a multiple of 4 bytes, given 11 bytes");
  item.in[0].bytes = 0;
  fails(item, "input 'ids': expected a multiple of 4 bytes, given 0 bytes");
  item.in[0] = {"ids", 0, nullptr, 12};
  fails(item, "input 'ids': the pointer is null");
  item = Item(3, 1);
  item.in.push_back(item.in[0]);
  fails(item, "input 'ids' is given twice");
  item = Item(3, 1);
  item.out[0].bytes = 11;
  fails(item, "output 'y': expected 12 bytes, given 11 bytes");
  item.out[0] = {"y", 0, nullptr, 12};
  fails(item, "output 'y': the pointer is null");
  item.out[0] = {{}, 7, item.y.data(), 12};
  fails(item, "there is no output 7; the model has 1");
  item.out.clear();
  fails(item, "output 'y' is missing");
  item = Item(3, 1);
  item.out.push_back(item.out[0]);
  fails(item, "output 'y' is given twice");
  for (const auto& change : std::vector<std::function<void(PackRunnerConfig&)>>{
           [](auto& c) { c.timeout = 0us; }, [](auto& c) { c.dynamic_input_name = "nothing"; },
           [](auto& c) { c.compile_batch_size = 0; },
           [](auto& c) { c.enable_padding_remove = true; },
           [](auto& c) { c.unpack_info_input_name = "mask"; },
           [](auto& c) { c.runner.batching_dim = 0; }})
    EXPECT_THROW(PackSetup(false, change), Error);
  s.runner->stop();
}

TEST(PackRunner, RefusesToFreezeInputsThatItWrites) {
  const std::vector<int32_t> rubbish(kPlaces, 3);
  for (const std::string name : {"ids", "unpack_info"}) try {
      PackSetup(true, [&](PackRunnerConfig& c) {
        c.runner.frozen_inputs.emplace(
            name,
            ConstTensorMemoryView{rubbish.data(), name == "ids" ? kPlaces * 4 : kPackItems * 4});
      });
      ADD_FAILURE() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
      EXPECT_NE(std::string_view(e.what()).find("is frozen: a pack runner writes"),
                std::string_view::npos)
          << e.what();
    }
}

// First fit finds room for these items in three rows of twelve, and none for all but the first.
TEST(PackRunner, CancelledItemsDoNotMoveOthersInSeparateRows) {
  constexpr size_t kLengths[] = {1, 5, 7, 8, 5, 1, 5, 4};
  const std::vector<program::Anchor> in{{"ids", DType::s32, {3, 12}},
                                        {"mask", DType::s32, {3, 12}},
                                        {"unpack_info", DType::s32, {8, 1}}};
  PackRunnerConfig config;
  config.timeout = 24h;
  config.dynamic_input_name = "ids";
  config.mask_name = "mask";
  config.unpack_info_input_name = "unpack_info";
  config.disable_data_across_rows = true;
  config.algo = PackAlgorithm::first_fit;
  std::mutex mutex;
  std::multiset<int32_t> given;
  config.runner.session.device =
      std::make_shared<FunctionDevice>([&](const void* const* inputs, void* const* outputs) {
        const auto* ids = static_cast<const int32_t*>(inputs[0]);
        const std::lock_guard lock(mutex);
        given = {ids, ids + 36};
        std::memset(outputs[0], 0, 32);
      });
  PackRunner runner(test::anchors_only(in, {{"sum", DType::s32, {8}}}), config);
  for (int round = 0; round < 100; round++) {
    std::vector<std::vector<int32_t>> ids;
    std::vector<RequestPtr> requests;
    std::multiset<int32_t> wanted;
    int32_t results[8], next = 1;
    for (size_t k = 0; k < 8; k++) {
      auto& own = ids.emplace_back();
      while (own.size() < kLengths[k]) own.push_back(next++);
      if (k > 0) wanted.insert(own.begin(), own.end());
    }
    for (size_t k = 0; k < 8; k++) {
      if (k == 7) {
        std::this_thread::sleep_for(200us);  // most often the others have their places then
        EXPECT_TRUE(requests[0]->cancel());
      }
      const InputBinding given_in[] = {{"ids", 0, ids[k].data(), ids[k].size() * 4}};
      const OutputBinding out[] = {{"sum", 0, results + k, 4}};
      requests.push_back(runner.execute_async(given_in, out));
    }
    if (!requests[7]->wait(50ms)) break;  // cancelled before it had a place: seven wait for more
    for (size_t k = 1; k < 8; k++) EXPECT_EQ(requests[k]->code(), ErrorCode::ok);
    while (wanted.size() < 36) wanted.insert(0);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(given, wanted);
  }
}

TEST(PackRunner, DeviceErrorsReachEveryItem) {
  PackSetup s(false, [](auto& c) {
    c.max_valid_num = 2;
    c.runner.faults = std::make_shared<FaultInjector>("application_runtime_error@1");
    c.runner.auto_reset = true;
  });
  Item a(3, 1), b(3, 5);
  const RequestPtr ra = s.runner->execute_async(a.in, a.out),
                   rb = s.runner->execute_async(b.in, b.out);
  ASSERT_TRUE(ra->wait(60s) && rb->wait(60s));
  EXPECT_EQ(ra->code(), ErrorCode::aborted);
  EXPECT_EQ(ra->failure(), rb->failure());
  const RequestPtr again_a = s.runner->execute_async(a.in, a.out),
                   again_b = s.runner->execute_async(b.in, b.out);
  ASSERT_TRUE(again_a->wait(60s) && again_b->wait(60s));
  EXPECT_TRUE(a.right() && b.right());
  s.runner->stop();
}

TEST(PackRunner, CancellationTimeoutsAndTheEndAnswerEverybody) {
  PackSetup s;
  Item a(3, 1), b(3, 5), c(3, 9);
  const RequestPtr ra = s.runner->execute_async(a.in, a.out),
                   rb = s.runner->execute_async(b.in, b.out, {}, {1ms}),
                   rc = s.runner->execute_async(c.in, c.out);
  EXPECT_TRUE(ra->cancel());
  EXPECT_TRUE(rb->wait(60s));
  EXPECT_EQ(rb->code(), ErrorCode::deadline_exceeded);
  s.runner.reset();
  ASSERT_TRUE(rc->done());
  EXPECT_EQ(rc->code(), ErrorCode::cancelled);
}

TEST(PackRunner, DestructionLeavesNoRequestInFlight) {
  for (int round = 0; round < 50; round++) {
    PackSetup s;
    std::vector<std::unique_ptr<Item>> items;
    std::vector<RequestPtr> requests;
    for (int i = 0; i < 30; i++) {
      items.push_back(std::make_unique<Item>(3, i));
      requests.push_back(s.runner->execute_async(items.back()->in, items.back()->out));
    }
    s.runner.reset();
    for (const auto& r : requests) {
      ASSERT_TRUE(r->done());
      ASSERT_TRUE(r->code() == ErrorCode::ok || r->code() == ErrorCode::cancelled);
    }
  }
}

TEST(PackRunner, ACallbackMayDestroyIt) {
  PackSetup s(false, [](PackRunnerConfig& c) { c.timeout = 1ms; });
  Item a(3, 1);
  struct Context {
    PackSetup* setup;
    std::atomic<bool> gone{false};
  } context{&s};
  s.runner->execute_async(a.in, a.out,
                          {[](void* c, ErrorCode) noexcept {
                             static_cast<Context*>(c)->setup->runner.reset();
                             static_cast<Context*>(c)->gone = true;
                           },
                           &context});
  while (!context.gone) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(a.right());
}

// A callback runs on a thread that frees places of the queue, so it must not wait for one.
TEST(PackRunner, ACallbackDoesNotWaitForAPlace) {
  struct Context {
    explicit Context() {
      for (int i = 0; i < 1000; i++) items.push_back(std::make_unique<Item>(1, i));
    }
    std::vector<std::unique_ptr<Item>> items;
    std::vector<RequestPtr> requests;
    PackSetup setup{false, [](PackRunnerConfig& c) { c.timeout = 1ms; }};
    std::atomic<int> code{-1};
  } context;
  Item first(3, 1);
  context.setup.runner->execute_async(
      first.in, first.out,
      {[](void* c, ErrorCode) noexcept {
         auto& own = *static_cast<Context*>(c);
         try {
           for (const auto& item : own.items)
             own.requests.push_back(own.setup.runner->execute_async(item->in, item->out));
           own.code = 0;
         } catch (const Error& e) {
           own.code = static_cast<int>(e.code());
         }
       },
       &context});
  while (context.code < 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(context.code, static_cast<int>(ErrorCode::resource_exhausted));
  for (const RequestPtr& r : context.requests) r->wait();
}

TEST(PackRunner, DestructionCompletesAPackThatIsComputed) {
  test::Gate begun, gate;
  PackSetup s(false, [&](PackRunnerConfig& c) {
    c.timeout = 1ms;
    c.runner.session.device =
        std::make_shared<FunctionDevice>([&](const void* const* in, void* const* out) {
          begun.open();
          gate.wait();
          std::memcpy(out[0], in[0], kPlaces * 4);
        });
  });
  Item a(3, 1);
  const RequestPtr r = s.runner->execute_async(a.in, a.out);
  ASSERT_TRUE(begun.wait());
  std::thread destroyer([&] { s.runner.reset(); });
  std::this_thread::sleep_for(20ms);
  gate.open();
  destroyer.join();
  ASSERT_TRUE(r->done());
  EXPECT_EQ(r->code(), ErrorCode::ok);
  EXPECT_EQ(a.y[1], 1);
}

TEST(PackRunner, AnInputWithoutElementsIsRefused) {
  PackRunnerConfig c;
  c.timeout = 24h;
  c.dynamic_input_name = "ids";
  c.runner.session.device =
      std::make_shared<FunctionDevice>([](const void* const*, void* const*) {});
  const auto model = test::anchors_only(
      {{"ids", DType::s32, {2, 8}}, {"none", DType::s32, {2, 8, 0}}}, {{"y", DType::s32, {2, 8}}});
  try {
    const PackRunner runner(model, c);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
    EXPECT_EQ(e.message(), "input 'none' [2,8,0] has no elements");
  }
}

// A request that is refused leaves the memory of its outputs as it is.
TEST(PackRunner, ARefusedRequestWritesNothing) {
  PackSetup s(false, [](PackRunnerConfig& c) {
    c.enable_padding_remove = true;
    c.mask_name = "mask";
  });
  Item a(3, 1, 2);
  a.out = {{"y", 0, a.y.data(), 20}, {"y", 0, a.y.data(), 20}};
  EXPECT_THROW(s.runner->execute(a.in, a.out), Error);
  EXPECT_EQ(a.y, std::vector<int32_t>(a.y.size(), -9));
}

// The anchors that a runner expects in requests, "name type shape bytes, ..." of inputs and of
// outputs, or the message of its refusal.
std::string expected_anchors(const std::vector<program::Anchor>& in,
                             const std::vector<program::Anchor>& out,
                             const std::function<void(PackRunnerConfig&)>& change = {}) {
  PackRunnerConfig c;
  c.timeout = 24h;
  c.dynamic_input_name = "ids";
  c.runner.session.device =
      std::make_shared<FunctionDevice>([](const void* const*, void* const*) {});
  if (change) change(c);
  try {
    const PackRunner runner(test::anchors_only(in, out), c);
    std::string text;
    const auto list = [&](const std::vector<DataDesc>& all) {
      for (const DataDesc& d : all)
        text += fmt::format("{}{} {}{} {}", text.empty() || text.back() == ' ' ? "" : ", ",
                            d.anchor.name, dtype_name(d.anchor.dtype), shape_string(d.anchor.shape),
                            d.size_in_bytes);
    };
    list(runner.execute_inputs());
    text += " -> ";
    list(runner.execute_outputs());
    return text;
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
}

TEST(PackRunner, ExpectsItemsInTheLayoutOfAnchors) {
  using Anchors = std::vector<program::Anchor>;
  const auto rows_apart = [](PackRunnerConfig& c) { c.disable_data_across_rows = true; };
  const auto batch = [](int64_t b) {
    return [b](PackRunnerConfig& c) { c.compile_batch_size = b; };
  };
  const Anchors three = {
      {"ids", DType::s32, {2, 8}}, {"types", DType::u8, {2, 8}}, {"places", DType::f32, {2, 8, 3}}};
  EXPECT_EQ(expected_anchors(three, {{"y", DType::f16, {2, 8, 5}}}),
            "ids s32[1,16] 64, types u8[1,16] 16, places f32[1,16,3] 192 -> y f16[1,16,5] 160");
  EXPECT_EQ(expected_anchors(three, {{"y", DType::f16, {2, 8, 5}}}, rows_apart),
            "ids s32[1,8] 32, types u8[1,8] 8, places f32[1,8,3] 96 -> y f16[1,8,5] 80");
  const Anchors flat = {{"ids", DType::s32, {16}}, {"places", DType::f32, {16, 3}}};
  EXPECT_EQ(expected_anchors(flat, {{"y", DType::s32, {16}}}),
            "ids s32[16] 64, places f32[16,3] 192 -> y s32[16] 64");
  EXPECT_EQ(expected_anchors(flat, {{"y", DType::s32, {16, 2}}},
                             [&](auto& c) { batch(4)(c), rows_apart(c); }),
            "ids s32[4] 16, places f32[4,3] 48 -> y s32[4,2] 32");
  // One row of the input is several rows of the batch.
  const Anchors one = {{"ids", DType::s32, {1, 16}}};
  EXPECT_EQ(expected_anchors(one, {{"y", DType::s32, {16}}},
                             [&](auto& c) { batch(2)(c), rows_apart(c); }),
            "ids s32[1,8] 32 -> y s32[8] 32");
  EXPECT_EQ(expected_anchors(one, {{"y", DType::s32, {2, 8}}}, batch(2)),
            "ids s32[1,16] 64 -> y s32[1,16] 64");
  EXPECT_EQ(expected_anchors(flat, {{"y", DType::s32, {16}}}, batch(3)),
            "failed_precondition: dynamic input 'ids' [16] does not divide in 3 rows");
  EXPECT_EQ(expected_anchors({{"ids", DType::s32, {}}}, {{"y", DType::s32, {1}}}),
            "failed_precondition: dynamic input 'ids' has shape []");
  EXPECT_EQ(expected_anchors({{"ids", DType::s32, {2, 0}}}, {{"y", DType::s32, {1}}}),
            "failed_precondition: dynamic input 'ids' has shape [2,0]");
  // A tensor with a row for each item is given row by row.
  const auto four = [](PackRunnerConfig& c) { c.max_valid_num = 4; };
  EXPECT_EQ(
      expected_anchors({three[0], {"seed", DType::s32, {4, 2}}}, {{"y", DType::s32, {2, 8}}}, four),
      "ids s32[1,16] 64, seed s32[2] 8 -> y s32[1,16] 64");
  for (const Shape& shape : {Shape{5, 2}, Shape{3}, Shape{}, Shape{8, 2}})
    EXPECT_EQ(expected_anchors({three[0], {"seed", DType::s32, shape}}, {{"y", DType::s32, {2, 8}}},
                               four),
              fmt::format("failed_precondition: input 'seed' {} cannot be packed: name it in "
                          "`dynamic_group`, freeze it, or give it max_valid_num rows",
                          shape_string(shape)));
  EXPECT_EQ(expected_anchors({three[0], {"seed", DType::s32, {4}}}, {{"y", DType::s32, {2, 8}}})
                .substr(0, 20),
            "failed_precondition:");
  const auto named = [](PackRunnerConfig& c) { c.dynamic_group = {"seed"}; };
  EXPECT_EQ(
      expected_anchors({three[0], {"seed", DType::s32, {32}}}, {{"y", DType::s32, {2, 8}}}, named),
      "ids s32[1,16] 64, seed s32[16,2] 128 -> y s32[1,16] 64");
  EXPECT_EQ(
      expected_anchors({three[0], {"seed", DType::s32, {15}}}, {{"y", DType::s32, {2, 8}}}, named),
      "failed_precondition: input 'seed' [15] does not divide in 16 places");
}

TEST(PackRunner, OutputsAreOfPlacesOrOfItems) {
  using Anchors = std::vector<program::Anchor>;
  const Anchors ids = {{"ids", DType::s32, {2, 8}}};
  for (const Shape& shape : {Shape{8, 2}, Shape{2, 7}, Shape{2}, Shape{}, Shape{4, 4}, Shape{0}})
    EXPECT_EQ(
        expected_anchors(ids, {{"y", DType::s32, shape}}),
        fmt::format("failed_precondition: output 'y' {} does not divide in 16 places; compile "
                    "the model without it (remove_outputs), or with pack_args",
                    shape_string(shape)));
  const auto unpacks = [](PackRunnerConfig& c) { c.unpack_info_input_name = "info"; };
  const auto with = [&](DType type, Shape shape, Shape out, uint64_t most = 0) {
    return expected_anchors({ids[0], {"info", type, std::move(shape)}},
                            {{"y", DType::s32, std::move(out)}},
                            [&](PackRunnerConfig& c) { unpacks(c), c.max_valid_num = most; });
  };
  EXPECT_EQ(with(DType::s32, {4}, {4}), "ids s32[1,16] 64 -> y s32[1] 4");
  EXPECT_EQ(with(DType::s32, {4, 1}, {5, 2}), "ids s32[1,16] 64 -> y s32[1,2] 8");
  EXPECT_EQ(with(DType::s32, {4, 3}, {4}), "ids s32[1,16] 64, info s32[3] 12 -> y s32[1] 4");
  EXPECT_EQ(with(DType::s32, {4}, {3}, 3), "ids s32[1,16] 64 -> y s32[1] 4");
  EXPECT_EQ(with(DType::s32, {4}, {3}),
            "failed_precondition: output 'y' [3] does not divide in 4 items; compile the model "
            "without it (remove_outputs)");
  EXPECT_EQ(with(DType::s32, {4}, {8}, 5),
            "failed_precondition: unpack_info 'info' has room for 4 items, not 5");
  for (const auto& [type, shape] :
       {std::pair(DType::f32, Shape{4}), std::pair(DType::s32, Shape{}),
        std::pair(DType::s32, Shape{4, 1, 1}), std::pair(DType::s32, Shape{0, 1}),
        std::pair(DType::s32, Shape{4, 0})})
    EXPECT_EQ(with(type, shape, {4}),
              fmt::format("failed_precondition: unpack_info 'info' is {} {}, expected s32 "
                          "[max_valid_num] or [max_valid_num, segments]",
                          dtype_name(type), shape_string(shape)));
  EXPECT_EQ(expected_anchors(ids, {{"y", DType::s32, {2, 8}}},
                             [](auto& c) { c.unpack_info_input_name = "ids"; }),
            "invalid_argument: input 'ids' cannot be packed and have the lengths");
}

TEST(PackRunner, ConfigurationsAreChecked) {
  const auto with = [](const auto& change) {
    return expected_anchors({{"ids", DType::s32, {2, 8}}}, {{"y", DType::s32, {2, 8}}}, change);
  };
  const std::string taken = "ids s32[1,16] 64 -> y s32[1,16] 64";
  EXPECT_EQ(with([](auto& c) { c.timeout = 1us; }), taken);
  EXPECT_EQ(with([](auto& c) { c.timeout = 0us; }),
            "invalid_argument: the pack timeout must be more than 0 microseconds, given 0");
  EXPECT_EQ(with([](auto& c) { c.max_valid_num = 1 << 20; }), taken);
  EXPECT_EQ(with([](auto& c) { c.max_valid_num = (1 << 20) + 1; }),
            "invalid_argument: `max_valid_num` must be 0 to 1048576, given 1048577");
  EXPECT_EQ(with([](auto& c) { c.compile_batch_size = 2; }), taken);
  for (const int64_t b : {0, -2})
    EXPECT_EQ(
        with([b](auto& c) { c.compile_batch_size = b; }),
        fmt::format("invalid_argument: `compile_batch_size` must be positive or -1, given {}", b));
  EXPECT_EQ(with([](auto& c) { c.runner.batching_dim = 0; }),
            "invalid_argument: packs are whole batches: leave `batching_dim` unset");
  EXPECT_EQ(with([](auto& c) { c.enable_padding_remove = true; }),
            "invalid_argument: removing padding needs the name of a mask");
}

// Two items in the first row and one in the second, numbered in each row where their masks are not
// zero, for every type of the mask.
TEST(PackRunner, ItemNumbersAreOfTheMasksType) {
  for (const DType type :
       {DType::f32, DType::f16, DType::f64, DType::s32, DType::u32, DType::s64, DType::u64,
        DType::s16, DType::u16, DType::s8, DType::u8, DType::boolean}) {
    std::vector<double> mask;
    std::mutex mutex;
    PackRunnerConfig c;
    c.timeout = 24h;
    c.dynamic_input_name = "ids";
    c.enable_single_row_mode("mask");
    c.max_valid_num = 3;
    c.runner.session.device =
        std::make_shared<FunctionDevice>([&](const void* const* inputs, void* const*) {
          const std::lock_guard lock(mutex);
          mask = Tensor::view(type, {2, 8}, inputs[1], dtype_bytes(type, 16), nullptr).to_doubles();
        });
    PackRunner runner(test::anchors_only({{"ids", DType::s32, {2, 8}}, {"mask", type, {2, 8}}},
                                         {{"y", DType::s32, {2, 8}}}),
                      c);
    const std::vector<int32_t> ids(8, 5);
    std::vector<int32_t> y(8);
    std::vector<std::byte> zero_and_ones(64);
    const uint64_t unit = dtype_bytes(type, 1);
    for (size_t i = 0; i < 8; i++)
      zero_and_ones[(i + 1) * unit - 1] = i == 1 ? std::byte{0} : std::byte{1};
    std::vector<RequestPtr> requests;
    for (const size_t n : {size_t{3}, size_t{2}, size_t{4}}) {
      std::vector<InputBinding> in{{"ids", 0, ids.data(), n * 4}};
      if (n == 3) in.push_back({"mask", 0, zero_and_ones.data(), n * unit});
      requests.push_back(
          runner.execute_async(in, std::vector<OutputBinding>{{"y", 0, y.data(), n * 4}}));
    }
    for (const auto& r : requests) ASSERT_TRUE(r->wait(60s));
    const double two = type == DType::boolean ? 1 : 2;
    EXPECT_EQ(mask, (std::vector<double>{1, 0, 1, two, two, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0}))
        << dtype_name(type);
  }
  const auto refused = [](DType type, Shape shape) {
    return expected_anchors({{"ids", DType::s32, {2, 8}}, {"mask", type, shape}},
                            {{"y", DType::s32, {2, 8}}},
                            [](auto& c) { c.enable_single_row_mode("mask"); });
  };
  for (const auto& [type, shape] :
       {std::pair(DType::bf16, Shape{2, 8}), std::pair(DType::s32, Shape{2, 8, 2})})
    EXPECT_EQ(refused(type, shape),
              fmt::format("failed_precondition: mask 'mask' is {} {}: item numbers need one number "
                          "of a plain type per place",
                          dtype_name(type), shape_string(shape)));
}

// An output has as many places as the shortest input of the request.
TEST(PackRunner, OutputShapesAreOfTheItem) {
  for (const bool flat : {false, true}) {
    const Shape in = flat ? Shape{16} : Shape{2, 8};
    PackRunnerConfig c;
    c.timeout = 24h;
    c.dynamic_input_name = "ids";
    c.runner.session.device =
        std::make_shared<FunctionDevice>([](const void* const*, void* const*) {});
    Shape out = in;
    out.push_back(3);
    const PackRunner runner(test::anchors_only({{"ids", DType::s32, in}, {"types", DType::u8, in}},
                                               {{"y", DType::s32, out}}),
                            c);
    const std::vector<std::byte> data(64);
    const auto shapes = [&](uint64_t ids, uint64_t types, bool by_index = false) {
      std::vector<InputBinding> bindings{{"ids", 0, data.data(), ids * 4},
                                         {"types", 0, data.data(), types}};
      if (by_index)
        bindings[0] = {{}, 0, data.data(), ids * 4}, bindings[1] = {{}, 1, data.data(), types};
      return runner.output_shapes(bindings).at(0);
    };
    const auto wanted = [&](int64_t n) { return flat ? Shape{n, 3} : Shape{1, n, 3}; };
    EXPECT_EQ(shapes(5, 5), wanted(5));
    EXPECT_EQ(shapes(5, 7), wanted(5));
    EXPECT_EQ(shapes(9, 4, true), wanted(4));
    EXPECT_EQ(shapes(16, 40), wanted(16)) << "no more than there is room for";
    EXPECT_EQ(runner.output_shapes({}).at(0), wanted(16));
    const std::vector<InputBinding> third{{{}, 2, data.data(), 4}};
    EXPECT_THROW(runner.output_shapes(third), Error);
  }
}

// Inputs without data, and those with a row for each item, have no places.
TEST(PackRunner, OutputShapesCountThePlacesOfPackedInputsOnly) {
  PackRunnerConfig c;
  c.timeout = 24h;
  c.dynamic_input_name = "ids";
  c.max_valid_num = 4;
  c.runner.session.device =
      std::make_shared<FunctionDevice>([](const void* const*, void* const*) {});
  const PackRunner runner(
      test::anchors_only(
          {{"ids", DType::s32, {2, 8}}, {"types", DType::u8, {2, 8}}, {"seed", DType::s32, {4, 2}}},
          {{"y", DType::s32, {2, 8}}}),
      c);
  const std::vector<std::byte> data(64);
  const std::vector<InputBinding> with_seed{{"ids", 0, data.data(), 20},
                                            {"seed", 0, data.data(), 8}},
      without_types{{"ids", 0, data.data(), 20}, {"types", 0, nullptr, 3}};
  EXPECT_EQ(runner.output_shapes(with_seed).at(0), (Shape{1, 5}));
  EXPECT_EQ(runner.output_shapes(without_types).at(0), (Shape{1, 5}));
}

// In this mode the mask is made of numbers of items; the places of a given mask count.
TEST(PackRunner, OutputShapesCountThePlacesOfAMaskOfNumbers) {
  PackSetup s(false, [](auto& c) {
    c.disable_data_across_rows = true;
    c.mask_name = "mask";
  });
  const std::vector<int32_t> ones(8, 1);
  const std::vector<InputBinding> mask{{"mask", 0, ones.data(), 12}};
  EXPECT_EQ(s.runner->output_shapes(mask).at(0), (Shape{1, 3}));
}

}  // namespace
}  // namespace poprt::runtime
