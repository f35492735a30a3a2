#include "exec/support/session_bench.h"

#include "cli/command_line.h"
#include "exec/support/npy.h"

namespace poprt::cli {
namespace {

struct Benched {
  std::vector<size_t> checked;
  SessionTimes times;
  double around = 0;  // seconds of the whole call
};

Executable compiled_sample(const std::string& model) {
  CompileSettings settings;
  return load_model(sample_model(model), settings);
}

Benched bench(SessionBench b, size_t most, const Executable& executable = compiled_sample("relu")) {
  b.executable = executable.get();
  Benched found;
  const auto begin = std::chrono::steady_clock::now();
  found.times = bench_session(b, [&](size_t done) {
    found.checked.push_back(done);
    return done < most;
  });
  found.around = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return found;
}

TEST(SessionBench, RunsAreTimedUntilThereAreEnough) {
  for (const bool queues : {false, true})
    for (const int warmup : {0, 2}) {
      SessionBench b;
      b.queues = queues;
      b.warmup = warmup;
      b.threads = 1;
      b.in_flight = 3;
      const Benched found = bench(b, 7);
      EXPECT_EQ(found.times.ms.size(), 7U) << queues;
      EXPECT_EQ(found.checked, (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7})) << queues;
      double sum = 0;
      for (const double ms : found.times.ms) {
        EXPECT_GT(ms, 0);
        sum += ms;
      }
      EXPECT_GT(found.times.seconds, 0);
      EXPECT_LE(found.times.seconds, found.around);
      // Runs follow each other, or as many are in flight as a queue holds.
      EXPECT_LE(sum / 1000, found.times.seconds * (queues ? 3.1 : 1.001));
    }
}

TEST(SessionBench, ARunOfSeveralTransfersCountsForEach) {
  SessionBench b;
  b.transfers = 3;
  const Benched found = bench(b, 6);
  EXPECT_EQ(found.times.ms.size(), 6U);
  EXPECT_EQ(found.checked, (std::vector<size_t>{0, 3, 6}));
  EXPECT_EQ(found.times.ms[0], found.times.ms[2]);
}

TEST(SessionBench, ATransferOfSeveralOutputsIsOne) {
  for (const bool queues : {false, true}) {
    SessionBench b;
    b.queues = queues;
    b.in_flight = 2;
    EXPECT_EQ(bench(b, 5, compiled_sample("bits")).times.ms.size(), 5U) << queues;
  }
}

TEST(SessionBench, InputsThatDoNotFitAreRefused) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "x.npy").string();
  write_npy(path, array_of(Tensor::of<float>({2}, {1, 2})));
  for (const bool queues : {false, true}) {
    SessionBench b;
    b.queues = queues;
    b.inputs = {"x=" + path};
    EXPECT_EQ(message_of<Failure>([&] { (void)bench(b, 1); }),
              "input 'x' is f32[2,3], but '" + path + "' contains f32[2]");
    b.inputs.clear();
    b.inputs_pb = {"z=" + path};
    EXPECT_EQ(message_of<Failure>([&] { (void)bench(b, 1); }),
              "the model has no input 'z'; it has: x");
  }
}

// A fused executable has no third model.
TEST(SessionBench, ARunThatFailsEndsTheBench) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "index.npy").string();
  write_npy(path, array_of(Tensor::of<uint32_t>({1}, {9})));
  const Executable relu = compiled_sample("relu"), gather = compiled_sample("gather");
  const poprt_executable* parts[] = {relu.get(), gather.get()};
  poprt_executable* made = nullptr;
  check(poprt_executable_fuse(parts, 2, &made));
  const Executable fused(made);
  for (const bool queues : {false, true}) {
    SessionBench b;
    b.queues = queues;
    b.in_flight = 2;
    b.inputs = {"index=" + path};
    EXPECT_EQ(message_of<Failure>([&] { (void)bench(b, 5, fused); }),
              "input 'index' is 9: the executable has 2 models, 0 to 1");
  }
}

}  // namespace
}  // namespace poprt::cli
