#include "cli/commands/command_test.h"

namespace poprt::cli::test {
namespace {

// Nothing here asserts a time.
class Bench : public CommandTest {
 protected:
  Bench() {
    onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[N,3]
  %y : f32[N,3] = Relu(%x)
  output %y
})");
    npy("x.npy", {2, 3}, {1, 2, 3, 4, 5, 6});
    popef("net.popef", "net.onnx", {{"input_shape", "x=2,3"}});
  }
  static Ran bench(std::vector<std::string> words) {
    words.insert(words.begin(), "bench");
    return run_command(add_bench, words);
  }
  static nlohmann::json report(std::vector<std::string> words) {
    words.push_back("--json");
    const Ran ran = bench(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? ran.json() : nlohmann::json();
  }
  // "N requests, ..." of the first line.
  static std::string message_for(std::vector<std::string> words) {
    const Ran ran = bench(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const size_t at = ran.out.find("ms, ") + 4;
    return ran.out.substr(at, ran.out.find('\n') - at);
  }
};

TEST_F(Bench, ReportsTheMeasurementMethod) {
  const std::vector<std::string> words = {"net.popef", "--iterations", "4"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return message_for(all);
  };
  EXPECT_EQ(with({}), "4 requests, 1 client");
  EXPECT_EQ(with({"--clients", "3"}), "12 requests, 3 clients");
  EXPECT_EQ(with({"--async"}), "4 requests, 1 client, 8 requests in flight each");
  EXPECT_EQ(with({"--through", "callbacks"}), "4 requests, 1 client, through callbacks");
  EXPECT_EQ(with({"--through", "queues"}), "4 requests, 1 client, through queues");
  EXPECT_EQ(with({"--through", "runner"}), "4 requests, 1 client");
}

TEST_F(Bench, Json) {
  const nlohmann::json found = report({"net.popef", "--iterations", "5", "--warmup", "0"});
  EXPECT_EQ(found["model"], "net.popef");
  EXPECT_EQ(found["through"], "runner");
  EXPECT_EQ(found["clients"], 1);
  EXPECT_EQ(found["async"], false);
  EXPECT_EQ(found["requests"], 5);
  EXPECT_GT(found["load_ms"], 0);
  EXPECT_FALSE(found.contains("cases"));
  const nlohmann::json other =
      report({"net.popef", "--iterations", "5", "--async", "--clients", "2"});
  EXPECT_EQ(other["async"], true);
  EXPECT_EQ(other["clients"], 2);
  EXPECT_EQ(other["requests"], 10);
}

// The bench runs at least one request, and ends when the time is over.
TEST_F(Bench, TimeEndsIt) {
  for (const char* through : {"runner", "callbacks", "queues"})
    EXPECT_GT(report({"net.popef", "--seconds", "0.001", "--through", through})["requests"], 0)
        << through;
  EXPECT_GT(report({"net.popef", "--seconds", "0.001", "--async"})["requests"], 0);
  for (const char* through : {"callbacks", "queues"})
    EXPECT_GT(report({"net.popef", "--seconds", "0.2", "--through", through})["requests"], 1)
        << through;
}

TEST_F(Bench, TwoStepsAreInFlight) {
  popef("steps.popef", "net.onnx", {{"input_shape", "x=2,3"}, {"batches_per_step", "5"}});
  EXPECT_EQ(message_for({"steps.popef", "--iterations", "10", "--async"}),
            "10 requests, 1 client, 10 requests in flight each");
  // A session runs whole steps only, so 6 requests become 10.
  EXPECT_EQ(report({"steps.popef", "--iterations", "6", "--through", "callbacks"})["requests"], 10);
}

TEST_F(Bench, InputsAreGiven) {
  for (const char* through : {"runner", "callbacks", "queues"}) {
    const std::vector<std::string> words = {"net.popef", "--iterations", "1",
                                            "--through", through,        "--input"};
    std::vector<std::string> good = words, bad = words;
    good.push_back("x=x.npy");
    bad.push_back("z=x.npy");
    EXPECT_EQ(bench(good).code, 0) << through;
    const Ran ran = bench(bad);
    EXPECT_EQ(ran.code, 1) << through;
    EXPECT_NE(ran.err.find("'z'"), std::string::npos) << ran.err;
    bad[5] = "--input-pb";
    EXPECT_EQ(bench(bad).code, 1) << through;
  }
}

TEST_F(Bench, SessionsHaveOneClient) {
  for (const char* through : {"callbacks", "queues"})
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--clients", "2"}, {"--async"}}) {
      std::vector<std::string> words = {"net.popef", "--through", through};
      words.insert(words.end(), more.begin(), more.end());
      const Ran ran = bench(words);
      EXPECT_EQ(ran.code, 2);
      EXPECT_NE(ran.err.find(std::string("--through ") + through + " has one client"),
                std::string::npos)
          << ran.err;
    }
}

TEST_F(Bench, EachShapeIsACase) {
  popef("shapes.popef", "net.onnx", {{"input_shape", "x=1,3/4,3"}});
  const nlohmann::json found = report({"shapes.popef", "--iterations", "2"});
  ASSERT_EQ(found["cases"].size(), 2);
  EXPECT_EQ(found["cases"][0]["name"], "x [1,3]");
  EXPECT_EQ(found["cases"][1]["name"], "x [4,3]");
  EXPECT_EQ(found["cases"][1]["requests"], 2);
  EXPECT_FALSE(found.contains("requests"));
  const Ran text = bench({"shapes.popef", "--iterations", "2"});
  EXPECT_NE(text.out.find("4 requests, 1 client\nx [1,3]: 2 requests\nlatency"), std::string::npos)
      << text.out;
  for (const char* option : {"--input", "--input-pb"}) {
    const Ran ran = bench({"shapes.popef", option, "x=x.npy"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("omit --input"), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace poprt::cli::test
