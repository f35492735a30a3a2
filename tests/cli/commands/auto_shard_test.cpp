#include <chrono>

#include "cli/commands/command_test.h"

namespace poprt::cli::test {
namespace {

// Products with 64x8, 8x40 and 40x16 weights.
constexpr const char* kChain = R"(graph "g" opset {"": 17} {
  input %x : f32[1,64]
  const %a : f32[64,8] = fill 0.5
  const %b : f32[8,40] = fill 0.25
  const %c : f32[40,16] = fill 0.125
  %u : f32[1,8] = MatMul(%x, %a) "first"
  %v : f32[1,40] = MatMul(%u, %b) "second"
  %y : f32[1,16] = MatMul(%v, %c) "third"
  output %y
}
)";

class AutoShard : public CommandTest {
 protected:
  static Ran shard(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"auto_shard", "-i", "m.onnx", "--num_ipus", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(add_auto_shard, words);
  }
  AutoShard() { onnx("m.onnx", kChain); }
};

TEST_F(AutoShard, BytesMatchThePipelineOfTheShardedModel) {
  const Ran ran = shard({"--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const nlohmann::json found = ran.json();
  EXPECT_EQ(found["ipus"][0]["cut"], nlohmann::json::array({"second"}));
  EXPECT_EQ(found["ipus"][1]["cut"], nlohmann::json::array());
  EXPECT_EQ(found["tried"], 1);
  EXPECT_EQ(found["input_model"], "m.onnx");
  EXPECT_EQ(found["output_model"], "m.auto_sharded.onnx");
  popef("two.popef", "m.auto_sharded.onnx",
        {{"compiler_options",
          "num_ipus=2\nvirtual_graph_mode=manual\nenable_pipelining=True\nbatches_per_step=2"}});
  const nlohmann::json parts =
      run_command(add_inspect, {"inspect", "two.popef", "--view", "parts", "--json"})
          .json()["parts"];
  ASSERT_EQ(parts.size(), 2);
  std::vector<uint64_t> bytes(2);
  for (const nlohmann::json& row : parts)
    bytes.at(row["ipu"]) +=
        row["weight_bytes"].get<uint64_t>() + row["arena_bytes"].get<uint64_t>();
  for (size_t ipu = 0; ipu < 2; ipu++) {
    EXPECT_EQ(found["ipus"][ipu]["ipu"], ipu);
    EXPECT_EQ(found["ipus"][ipu]["bytes"], bytes[ipu]);
    EXPECT_GT(bytes[ipu], 2000);
  }
}

TEST_F(AutoShard, TextReportEqualsJson) {
  const nlohmann::json ipus = shard({"--json"}).json()["ipus"];
  const auto megabytes = [&](size_t i) {
    return fmt::format("{:.1f}", ipus[i]["bytes"].get<double>() / 1e6);
  };
  const Ran ran = shard({"--output_model", "other.onnx"});
  EXPECT_TRUE(ran.out.starts_with("IPU 0: " + megabytes(0) + " MB, cut at second\nIPU 1: " +
                                  megabytes(1) + " MB, the rest\nLatency: "))
      << ran.out;
  EXPECT_TRUE(ran.out.ends_with("/s\nsharded model: other.onnx\n")) << ran.out;
  EXPECT_TRUE(std::filesystem::exists("other.onnx"));
}

TEST_F(AutoShard, WritesTheModelNextToItsSource) {
  std::filesystem::create_directory("sub");
  onnx("sub/net.v2.onnx", kChain);
  const Ran ran = run_command(
      add_auto_shard, {"auto_shard", "-i", "sub/net.v2.onnx", "--num_ipus", "2", "--runs", "1"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(std::filesystem::exists("sub/net.v2.auto_sharded.onnx"));
}

TEST_F(AutoShard, OptimalPerfTriesOtherCuts) {
  const Ran ran = shard({"--optimal_perf", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_GE(ran.json()["tried"], 2);  // there are two
  EXPECT_LE(ran.json()["tried"], 3);
}

// The times are not predictable, but the requests that they describe took less time than this test.
TEST_F(AutoShard, ReportsTimesOfThisRun) {
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = shard({"--json"});
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_LT(200 / ran.json()["throughput"].get<double>(), took);
  EXPECT_GT(ran.json()["latency_ms"], 0);
  EXPECT_LT(10 * ran.json()["latency_ms"].get<double>(), 1e3 * took);
}

TEST_F(AutoShard, AnEstimateIsOfAPipelineInBatches) {
  const Ran ran = shard({"--target", "c600"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("of a pipeline with 2 batches in a step:\nLatency: "), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find(" batches/s\n"), std::string::npos) << ran.out;
}

// A node without a name, and two with the same one, are cut all the same.
TEST_F(AutoShard, GivesUniqueNamesToNodes) {
  std::string text = kChain;
  for (const char* name : {" \"first\"", " \"second\"", " \"third\""})
    text.replace(text.find(name), std::strlen(name), "");
  onnx("m.onnx", text);
  const Ran ran = shard({"--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.json()["ipus"][0]["cut"].size(), 1);
  EXPECT_NE(ran.json()["ipus"][0]["cut"][0], "");
}

TEST_F(AutoShard, UsageIsChecked) {
  const auto message_for = [](const std::vector<std::string>& words) {
    const Ran ran = run_command(add_auto_shard, words);
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  EXPECT_NE(message_for({"auto_shard", "-i", "m.onnx", "--num_ipus", "1"})
                .find("--num_ipus: expected more than 1, found 1"),
            std::string::npos);
  EXPECT_NE(message_for({"auto_shard", "-i", "m.onnx", "--num_ipus", "4"})
                .find("the model has 3 places for cuts, found 4"),
            std::string::npos);
  EXPECT_NE(
      message_for({"auto_shard", "-i", "m.onnx", "--num_ipus", "2", "--output_model", "./m.onnx"})
          .find("--output_model: cannot write './m.onnx': it is the same file as 'm.onnx', which "
                "the command reads; give another path"),
      std::string::npos);
}

}  // namespace
}  // namespace poprt::cli::test
