#include "model/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "base/error.h"
#include "codecs/npy.h"
#include "inspector/sample_files.h"
#include "model/run_report.h"
#include "support/few_threads.h"

namespace poprt::inspector {
namespace {

class RunTest : public ::testing::Test {
 protected:
  Document load(const std::string& name, const std::string& bytes) const {
    Progress own;
    return load_document(folder.write(name, bytes), own);
  }
  std::shared_ptr<const runtime::Model> sample() const {
    Progress own;
    return model_to_run(load("net.ir", kSampleText), nullptr, own);
  }
  std::string npy(const std::string& name, const Tensor& tensor) const {
    save_npy(folder.path / name, tensor);
    return (folder.path / name).string();
  }
  template <class F>
  static std::string message_of(F&& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return {};
  }

  SampleFolder folder{"run"};
  Progress progress;
};

// b = max(0, x w), d = b + sigmoid(b).
TEST_F(RunTest, ComputesTheGraph) {
  const std::string file = npy("x.npy", Tensor::of<float>({1, 4}, {1, -1, 0.5f, 2}));
  const RunResult r = run_model(sample(), {{"x", input_choice(file)}}, 1, progress);
  ASSERT_EQ(r.outputs.size(), 1u);
  EXPECT_EQ(r.outputs[0].name, "d");
  const float x[] = {1, -1, 0.5f, 2};
  for (int j = 0; j < 2; j++) {
    double b = 0;
    for (int i = 0; i < 4; i++) b += static_cast<double>(x[i]) * (2 * i + j + 1);
    b = std::max(b, 0.0);
    EXPECT_NEAR(r.outputs[0].tensor.to_doubles()[static_cast<size_t>(j)],
                b + 1 / (1 + std::exp(-b)), 1e-4);
  }
  ASSERT_EQ(r.inputs.size(), 1u);
  EXPECT_EQ(r.inputs[0].tensor.to_doubles()[3], 2);
}

TEST_F(RunTest, APopefFileGivesTheSameAsItsGraph) {
  const auto compiled = model_to_run(load("net.popef", sample_popef()), nullptr, progress);
  const auto a = run_model(compiled, {}, 7, progress), b = run_model(sample(), {}, 7, progress);
  const auto differences = compare_outputs(a.outputs, b.outputs, {0, 0});
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_TRUE(differences[0].agrees()) << differences[0].problem;
  EXPECT_EQ(differences[0].elements, 2u);
}

// Elements are named by their index in the output, up to the requested number.
TEST_F(RunTest, DifferingElementsBelongToTheirOutput) {
  const auto of = [](Shape shape, std::vector<float> v) {
    return Tensor::of<float>(std::move(shape), v);
  };
  const std::vector<NamedTensor> left = {{"a", of({2}, {1, 2})}, {"b", of({2, 2}, {1, 2, 3, 9})}};
  const std::vector<NamedTensor> right = {{"a", of({2}, {1, 2})}, {"b", of({2, 2}, {1, 2, 5, 4})}};
  const auto tables = difference_tables(compare_outputs(left, right, {0, 0}), left, 1);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].rows.size(), 2u);
  EXPECT_EQ(tables[1].name, "differing elements of b");
  ASSERT_EQ(tables[1].rows.size(), 1u);
  EXPECT_EQ(tables[1].rows[0], (std::vector<Cell>{coordinates_text({2, 2}, 3), 9.0, 4.0, 5.0}));
}

TEST_F(RunTest, BenchmarkReportsQuantilesOfLatency) {
  BenchResult r{.requests = 200, .seconds = 4};
  for (int i = 0; i < 200; i++) r.latency_ms.push_back(i);
  std::map<std::string, Cell> rows;
  for (const auto& row : bench_table({.clients = 3, .in_flight = 5}, r).rows)
    rows[std::get<std::string>(row[0])] = row[1];
  EXPECT_EQ(rows, (std::map<std::string, Cell>{{"clients", int64_t{3}},
                                               {"in_flight", int64_t{5}},
                                               {"requests", int64_t{200}},
                                               {"seconds", 4.0},
                                               {"requests_per_second", 50.0},
                                               {"least_ms", 0.0},
                                               {"median_ms", 100.0},
                                               {"p90_ms", 180.0},
                                               {"p99_ms", 198.0},
                                               {"most_ms", 199.0}}));
}

// Random lengths might not fit into the rows, so generated sequences have equal lengths that fit.
TEST_F(RunTest, APackedModelRunsOnSequencesThatFillItsRows) {
  const Document d = load("packed.ir", R"(graph "packed" opset {"": 17} {
  input %ids : s32[2,8]
  input %lengths : s32[3,1]
  %a : s32[2,8] = Identity(%ids)
  %b : s32[3,1] = Identity(%lengths)
  output %a
  output %b
}
)");
  auto model = std::make_shared<runtime::Model>(*model_to_run(d, nullptr, progress));
  model->onnx_metadata = {
      {"prop.PackRunnerConfig",
       R"({"unpack_info": "lengths", "max_valid_num": 3, "segment_max_size": [6],
                               "dynamic": ["ids"]})"}};
  const auto lengths = [&](const InputChoices& choices) {
    return run_model(model, choices, 1, progress).outputs.at(1).tensor.to_int64s();
  };
  EXPECT_EQ(lengths({}), (std::vector<int64_t>{5, 5, 5}));
  EXPECT_EQ(lengths({{"lengths", input_choice("zeros")}}), (std::vector<int64_t>{0, 0, 0}));
}

// An output whose size depends on data has only its real elements, along each dimension.
TEST_F(RunTest, CropsOutputsToTheirRealSize) {
  const Document d = load("places.ir", R"(graph "places" opset {"": 17} {
  input %x : f32[3,4]
  const %last : s64[1] = [2]
  %n : s64[2,?] = NonZero(%x)
  %u : s64[2,?,1] = Unsqueeze(%n, %last)
  %c : s64[2,?,2] = Concat(%u, %u) {axis = 2}
  output %n
  output %c
}
)");
  const auto model = model_to_run(d, nullptr, progress);
  for (const std::set<std::pair<int64_t, int64_t>>& places :
       {std::set<std::pair<int64_t, int64_t>>{{0, 1}, {1, 3}, {2, 0}, {2, 2}}, {{1, 1}}, {}}) {
    Tensor x = Tensor::zeros(DType::f32, {3, 4});
    std::vector<int64_t> rows, columns, doubled;
    for (const auto& [r, c] : places) {
      x.mutable_values<float>()[static_cast<size_t>(r * 4 + c)] = 1;
      rows.push_back(r);
      columns.push_back(c);
    }
    rows.insert(rows.end(), columns.begin(), columns.end());
    for (const int64_t v : rows) doubled.insert(doubled.end(), {v, v});
    const auto count = static_cast<int64_t>(places.size());
    const RunResult r = run_model(model, {{"x", input_choice(npy("x.npy", x))}}, 1, progress);
    std::map<std::string, Tensor> found;
    for (const NamedTensor& t : r.outputs) found[t.name] = t.tensor;
    EXPECT_EQ(found.at("n").shape(), (Shape{2, count}));
    EXPECT_EQ(found.at("n").to_int64s(), rows);
    EXPECT_EQ(found.at("c").shape(), (Shape{2, count, 2}));
    EXPECT_EQ(found.at("c").to_int64s(), doubled);
  }
}

TEST(Bench, LatenciesAreOfTheirPlaceInTheOrder) {
  BenchResult r;
  EXPECT_EQ(r.latency(0.5), 0);
  r.latency_ms = {1, 2, 3, 4};
  for (const auto& [q, ms] :
       {std::pair{0.0, 1.0}, {0.24, 1.0}, {0.25, 2.0}, {0.5, 3.0}, {0.99, 4.0}, {1.0, 4.0}})
    EXPECT_EQ(r.latency(q), ms) << q;
}

TEST_F(RunTest, SeedsDecideRandomInputs) {
  const auto first = run_model(sample(), {}, 1, progress),
             again = run_model(sample(), {}, 1, progress),
             other = run_model(sample(), {}, 2, progress);
  EXPECT_TRUE(first.inputs[0].tensor.same_as(again.inputs[0].tensor));
  EXPECT_FALSE(first.inputs[0].tensor.same_as(other.inputs[0].tensor));
}

TEST_F(RunTest, ErrorsListTheInputsOfTheModel) {
  EXPECT_EQ(message_of([&] { run_model(sample(), {{"y", {}}}, 1, progress); }),
            "the model has no input 'y'; it has: x");
  const std::string file = npy("x.npy", Tensor::of<float>({1, 3}, {1, 2, 3}));
  const std::string message =
      message_of([&] { run_model(sample(), {{"x", input_choice(file)}}, 1, progress); });
  EXPECT_NE(message.find("input 'x' is f32[1×4]"), std::string::npos) << message;
  EXPECT_NE(message.find("contains f32[1×3]"), std::string::npos) << message;
  const std::string missing = message_of(
      [&] { run_model(sample(), {{"x", input_choice("/nowhere/x.npy")}}, 1, progress); });
  EXPECT_NE(missing.find("/nowhere/x.npy"), std::string::npos) << missing;
}

TEST_F(RunTest, CompileErrorNamesTheNode) {
  const Document d = load("bad.ir", R"(graph "bad" opset {"": 17} {
  input %x : f32[2]
  %y : f32[2] = NoSuchOperator(%x) "strange"
  output %y
}
)");
  const std::string message = message_of([&] { model_to_run(d, nullptr, progress); });
  EXPECT_NE(message.find("NoSuchOperator"), std::string::npos) << message;
}

TEST_F(RunTest, ABenchmarkCountsRequestsOfAllClients) {
  BenchSettings settings;
  settings.clients = 2;
  settings.in_flight = 3;
  settings.seconds = 0.2;
  const BenchResult r = bench_model(sample(), {}, 1, settings, progress);
  EXPECT_GT(r.requests, 10u);
  EXPECT_EQ(r.latency_ms.size(), r.requests);
  EXPECT_LE(r.latency(0), r.latency(0.5));
  EXPECT_LE(r.latency(0.5), r.latency(1));
  double total = 0;
  for (const double t : r.throughput)
    total += t * r.seconds / static_cast<double>(r.throughput.size());
  EXPECT_NEAR(total, static_cast<double>(r.requests), 1e-3 * static_cast<double>(r.requests));
  const Table t = bench_table(settings, r);
  EXPECT_NE(table_text(t).find("requests_per_second"), std::string::npos);
}

TEST_F(RunTest, ABenchmarkIsCancelled) {
  BenchSettings settings;
  settings.seconds = 3600;
  const auto model = sample();
  std::atomic<bool> ended{false};
  ErrorCode code = ErrorCode::ok;
  std::thread worker([&] {
    try {
      bench_model(model, {}, 1, settings, progress);
    } catch (const Error& e) {
      code = e.code();
    }
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  progress.cancel = true;
  worker.join();
  EXPECT_EQ(code, ErrorCode::cancelled);
}

TEST_F(RunTest, SettingsOutOfRangeAreRefused) {
  BenchSettings settings;
  settings.clients = 0;
  EXPECT_EQ(message_of([&] { bench_model(sample(), {}, 1, settings, progress); }),
            "clients: expected 1 to 256, found 0");
}

TEST_F(RunTest, TablesHaveValuesAndTheLargestElements) {
  const RunResult r = run_model(sample(), {{"x", {InputKind::zeros, {}, {}}}}, 1, progress);
  const auto tables = run_tables(r, 1);
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[2].name, "top of d");
  ASSERT_EQ(tables[2].rows.size(), 1u);
  EXPECT_DOUBLE_EQ(std::get<double>(tables[2].rows[0][2]), 0.5);  // sigmoid(0)
}

TEST(Task, HasEndedWhereThereCanBeNoThread) {
  const poprt::test::FewThreads none(0);
  Task<int> task([](Progress&) { return 1; });
  EXPECT_TRUE(task.started());
  EXPECT_FALSE(task.running());
  EXPECT_EQ(task.take(), std::nullopt);
  EXPECT_NE(task.error().find("cannot start a thread"), std::string::npos) << task.error();
}

// Outputs with one element for each class are shown with probabilities and names.
TEST_F(RunTest, TablesNameTheClasses) {
  RunResult r;
  EXPECT_EQ(r.load_ms + r.run_ms, 0);
  r.load_ms = 1.5;
  r.run_ms = 2.5;
  r.inputs = {{"x", Tensor::of<float>({1, 2}, {1, NAN})}};
  r.outputs = {{"y", Tensor::of<float>({1, 3}, {1, 3, 2})}, {"z", Tensor::of<float>({2}, {4, 5})}};
  const auto tables = run_tables(r, 2, {"a", "b", "c"});
  ASSERT_EQ(tables.size(), 4u);
  EXPECT_EQ(table_tsv(tables[0]), "property\tvalue\nload_ms\t1.5\nrun_ms\t2.5\n");
  r.warm_ms = 0.5;
  r.warm_runs = 20;
  EXPECT_EQ(table_tsv(run_tables(r, 2, {})[0]),
            "property\tvalue\nload_ms\t1.5\nrun_ms\t2.5\nwarm_median_ms\t0.5\nwarm_runs\t20\n");
  EXPECT_EQ(table_tsv(tables[1]),
            "role\tname\ttype\tleast\tmost\tmean\tnans\tinfinities\n"
            "input\tx\tf32 1×2\t1\t1\t1\t1\t0\n"
            "output\ty\tf32 1×3\t1\t3\t2\t0\t0\n"
            "output\tz\tf32 2\t4\t5\t4.5\t0\t0\n");
  EXPECT_EQ(tables[2].columns,
            (std::vector<std::string>{"rank", "index", "value", "softmax", "class"}));
  ASSERT_EQ(tables[2].rows.size(), 2u);
  const double sum = 1 + std::exp(-1.0) + std::exp(-2.0);
  EXPECT_NEAR(std::get<double>(tables[2].rows[0][3]), 1 / sum, 1e-9);
  EXPECT_NEAR(std::get<double>(tables[2].rows[1][3]), std::exp(-1.0) / sum, 1e-9);
  EXPECT_EQ(std::get<std::string>(tables[2].rows[0][4]), "b");
  EXPECT_EQ(std::get<std::string>(tables[2].rows[1][4]), "c");
  EXPECT_EQ(table_tsv(tables[3]), "rank\tindex\tvalue\n1\t1\t5\n2\t0\t4\n") << "other ones";
  EXPECT_EQ(run_tables(r, 2).at(2).columns.size(), 3u) << "no classes";
}

TEST_F(RunTest, ErrorNamesADocumentThatCannotRun) {
  const Document d = load("r.telemetry", std::string(kRecordingHead) + "\n");
  ASSERT_EQ(d.error, "");
  EXPECT_EQ(message_of([&] { model_to_run(d, nullptr, progress); }),
            "r.telemetry is a recording and cannot be run");
}

// Requests follow each other, so their sum is not longer than the whole measurement.
TEST_F(RunTest, LatenciesAreOfRequestsAndSlicesOfTheTime) {
  BenchSettings settings;
  EXPECT_EQ(settings.clients, 1);
  EXPECT_EQ(settings.in_flight, 1);
  settings.seconds = 0.1;
  settings.threads = 1;
  const BenchResult r = bench_model(sample(), {}, 1, settings, progress);
  double sum = 0;
  for (const double ms : r.latency_ms) sum += ms;
  EXPECT_LE(sum, r.seconds * 1e3);
  EXPECT_EQ(r.throughput.size(),
            std::clamp<size_t>(r.requests / 8, 1, size_t{BenchResult::kMostSlices}));
  double total = 0;
  for (const double t : r.throughput)
    total += t * r.seconds / static_cast<double>(r.throughput.size());
  EXPECT_NEAR(total, static_cast<double>(r.requests), 1e-7 * static_cast<double>(r.requests));
  EXPECT_EQ(BenchResult{}.per_second(), 0);
  settings.in_flight = 0;
  EXPECT_NE(message_of([&] {
              bench_model(sample(), {}, 1, settings, progress);
            }).find("requests in flight: expected 1 to "),
            std::string::npos);
}

}  // namespace
}  // namespace poprt::inspector
