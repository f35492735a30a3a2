#include "runtime/runner/model_fusion_runner.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>

#include "base/error.h"
#include "program/builder.h"
#include "support/function_device.h"

namespace poprt::runtime {
namespace {

// Two graphs of copies, and "selected", a copy of the index in each of them.
std::shared_ptr<const Model> fused(DType index = DType::u32, const char* index_name = "index") {
  program::Builder b;
  const auto copy = [&](program::BufferId from, program::BufferId to) {
    const program::BufferId operands[] = {from, to};
    b.emit("copy", operands, {}, {}, "copy");
  };
  const auto width = dtype_bytes(index, 1);
  const auto i = b.add_input({index_name, index, {1}});
  for (const char* graph : {"graph0/", "graph1/"}) {
    const auto x = b.add_input({std::string(graph) + "x", DType::f32, {4}});
    const auto y = b.add_output({std::string(graph) + "y", DType::f32, {4}});
    const auto s = b.add_output({std::string(graph) + "selected", index, {1}});
    copy(b.input(x, 0, 16, DType::f32, {4}), b.output(y, 0, 16, DType::f32, {4}));
    copy(b.input(i, 0, width, index, {1}), b.output(s, 0, width, index, {1}));
  }
  return make_model("fused", {std::make_shared<program::Program>(b.program()), {}, {}});
}

struct Graph {
  explicit Graph(int k) : prefix("graph" + std::to_string(k) + "/") {}
  std::string prefix, x_name = prefix + "x", y_name = prefix + "y", s_name = prefix + "selected";
  float x[4] = {1, 2, 3, 4}, y[4] = {};
  uint32_t selected = 99;
  std::vector<InputBinding> in{{x_name, 0, x, 16}};
  std::vector<OutputBinding> out{{y_name, 0, y, 16}, {s_name, 0, &selected, 4}};
};

TEST(ModelFusionRunner, FillsTheIndexFromTheNames) {
  ModelFusionRunner runner(fused());
  EXPECT_EQ(runner.graphs(), 2u);
  ASSERT_EQ(runner.execute_inputs().size(), 2u);  // without the index
  for (const int k : {1, 0, 1, 1}) {
    Graph g(k), other(1 - k);
    runner.execute(g.in, g.out);
    EXPECT_EQ(g.selected, static_cast<uint32_t>(k));
    EXPECT_EQ(std::memcmp(g.x, g.y, 16), 0);
    Graph async(k);
    const RequestPtr r = runner.execute_async(async.in, async.out);
    r->wait();
    r->check();
    EXPECT_EQ(async.selected, static_cast<uint32_t>(k));
    EXPECT_EQ(other.y[0], 0);
  }
  runner.stop();
}

TEST(ModelFusionRunner, TakesAnIndexOfOneByte) {
  ModelFusionRunner runner(fused(DType::u8));
  Graph g(1);
  uint8_t selected = 99;
  g.out[1] = {g.s_name, 0, &selected, 1};
  runner.execute(g.in, g.out);
  EXPECT_EQ(selected, 1);
}

TEST(ModelFusionRunner, ChecksARequestAgainstItsGraph) {
  ModelFusionRunner runner(fused());
  const auto fails = [&](std::vector<InputBinding> in, std::vector<OutputBinding> out,
                         std::string_view part) {
    try {
      runner.execute(in, out);
      ADD_FAILURE() << part;
    } catch (const Error& e) {
      EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos) << e.what();
    }
  };
  Graph a(0), b(1);
  fails(a.in, b.out, "belong to different graphs");
  fails(a.in, {a.out[0]}, "output 'graph0/selected' of graph 0 is missing");
  fails({}, a.out, "input 'graph0/x' of graph 0 is missing");
  fails({}, {}, "names no anchor");
  fails({{"graph0/x", 0, a.x, 12}}, a.out, "expected 16 bytes");
  const uint32_t wrong = 1, none = 2;
  fails({{"index", 0, &wrong, 4}, a.in[0]}, a.out,
        "'index' is 1, but the other anchors are graph 0");
  fails({{"index", 0, &none, 4}, a.in[0]}, a.out, "'index' is 2: there are 2 graphs");
  fails({{"index", 0, &none, 2}, a.in[0]}, a.out, "'index': expected 4 bytes");
  fails({{"graph2/x", 0, a.x, 16}}, a.out, "there is no input 'graph2/x'");
}

TEST(ModelFusionRunner, AcceptsAnIndexThatAgreesWithTheNames) {
  ModelFusionRunner runner(fused());
  Graph g(1);
  const uint32_t one = 1;
  g.in.push_back({"index", 0, &one, 4});
  runner.execute(g.in, g.out);
  EXPECT_EQ(g.selected, 1u);
  EXPECT_EQ(runner.graph_requests(), (std::vector<uint64_t>{0, 1}));
}

TEST(ModelFusionRunner, ReturnsOutputsOfTheSelectedGraph) {
  ModelFusionRunner runner(fused());
  const float x[4] = {4, 3, 2, 1};
  const OutputMemory out = runner.execute(InputMemoryView{{"graph1/x", {x, 16}}});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(std::memcmp(out.at("graph1/y").data(), x, 16), 0);
}

TEST(ModelFusionRunner, RequestsForBothGraphsAtOnceAreAnsweredOrCancelled) {
  ModelFusionRunner runner(fused());
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<RequestPtr> requests;
  for (int i = 0; i < 60; i++) {
    graphs.push_back(std::make_unique<Graph>(i % 2));
    graphs.back()->x[0] = static_cast<float>(i);
    requests.push_back(runner.execute_async(graphs.back()->in, graphs.back()->out));
  }
  for (size_t i = 0; i < requests.size(); i += 3)
    if (requests[i]->cancel()) graphs[i].reset();  // its memory is unused now
  for (size_t i = 0; i < requests.size(); i++) {
    requests[i]->wait();
    if (!graphs[i]) {
      EXPECT_EQ(requests[i]->code(), ErrorCode::cancelled);
      continue;
    }
    requests[i]->check();
    EXPECT_EQ(graphs[i]->y[0], static_cast<float>(i));
    EXPECT_EQ(graphs[i]->selected, i % 2);
  }
}

TEST(ModelFusionRunner, CountsOnlyRequestsThatTheQueueAccepts) {
  RunnerConfig config;
  config.queue_depth = 1;
  ModelFusionRunner runner(fused(), config);
  std::vector<uint64_t> accepted(2);
  std::deque<Graph> all;
  std::vector<RequestPtr> requests;
  for (int refused = 0; refused < 20;) {
    const size_t k = all.size() % 2;
    Graph& g = all.emplace_back(static_cast<int>(k));
    try {
      requests.push_back(runner.execute_async(g.in, g.out, {}, {.when_full = WhenFull::fail}));
      accepted[k]++;
    } catch (const Error& e) {
      ASSERT_EQ(e.code(), ErrorCode::unavailable);
      refused++;
    }
  }
  for (const RequestPtr& r : requests) r->wait();
  runner.stop();
  Graph late(0);
  EXPECT_THROW(runner.execute(late.in, late.out), Error);
  EXPECT_EQ(runner.graph_requests(), accepted);
}

TEST(ModelFusionRunner, WithoutValidationARequestMayNameLess) {
  RunnerConfig config;
  config.validate_io_params = false;
  config.timeout = std::chrono::nanoseconds(0);
  ModelFusionRunner runner(fused(), config);
  Graph g(1);
  runner.execute(g.in, std::vector<OutputBinding>{g.out[1]});
  EXPECT_EQ(g.selected, 1u);
}

TEST(ModelFusionRunner, RefusesOtherModels) {
  EXPECT_THROW(ModelFusionRunner(fused(DType::u32, "selector")), Error);
  EXPECT_THROW(ModelFusionRunner(fused(DType::f32)), Error);
  RunnerConfig config;
  config.batching_dim = 0;
  EXPECT_THROW(ModelFusionRunner(fused(), config), Error);
}

// Returns the number of graphs that anchors with these names form, or the reason why they do not.
std::string graphs_of(std::vector<program::Anchor> inputs, std::vector<program::Anchor> outputs) {
  RunnerConfig config;
  config.session.device =
      std::make_shared<poprt::test::FunctionDevice>([](const void* const*, void* const*) {});
  try {
    const ModelFusionRunner runner(poprt::test::anchors_only(std::move(inputs), std::move(outputs)),
                                   config);
    return fmt::format("{} graphs, {} inputs", runner.graphs(), runner.execute_inputs().size());
  } catch (const Error& e) {
    return e.message();
  }
}

TEST(ModelFusionRunner, AnchorsAreNamedByTheirGraph) {
  const program::Anchor index{"index", DType::u32, {1}};
  const auto named = [&](const std::string& name) {
    return graphs_of({index, {name, DType::f32, {1}}}, {{"graph0/y", DType::f32, {1}}});
  };
  EXPECT_EQ(named("graph0/x"), "1 graphs, 1 inputs");
  EXPECT_EQ(named("graph1/x"), "2 graphs, 1 inputs");
  EXPECT_EQ(named("graph12/x/y"), "13 graphs, 1 inputs");
  EXPECT_EQ(named("graph1023/x"), "1024 graphs, 1 inputs");
  for (const char* bad : {"graph1024/x", "graph/x", "graph1", "graph1x/y", "graphs1/x", "Graph1/x",
                          "x", "graph-1/x", "graph4294967296/x", "index2"})
    EXPECT_EQ(named(bad), fmt::format("not a fused model: anchor '{}' is not called "
                                      "graph<K>/<name>",
                                      bad));
  EXPECT_EQ(graphs_of({index}, {{"y", DType::f32, {1}}}),
            "not a fused model: anchor 'y' is not called graph<K>/<name>");
  EXPECT_EQ(graphs_of({index}, {{"graph2/y", DType::f32, {1}}}), "3 graphs, 0 inputs");
}

TEST(ModelFusionRunner, TheIndexIsOneNumber) {
  const auto with = [](DType dtype, const Shape& shape) {
    return graphs_of({{"index", dtype, shape}}, {{"graph0/y", DType::f32, {1}}});
  };
  for (const DType dtype : {DType::u32, DType::u8})
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1}})
      EXPECT_EQ(with(dtype, shape), "1 graphs, 0 inputs");
  EXPECT_EQ(with(DType::u32, {2}), "input 'index' is u32 [2], expected one u32 or u8");
  EXPECT_EQ(with(DType::s32, {1}), "input 'index' is s32 [1], expected one u32 or u8");
  EXPECT_EQ(graphs_of({{"graph0/x", DType::f32, {1}}}, {{"graph0/y", DType::f32, {1}}}),
            "not a fused model: there is no input 'index'");
}

}  // namespace
}  // namespace poprt::runtime
