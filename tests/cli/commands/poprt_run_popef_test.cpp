#include <fmt/ranges.h>

#include "base/log.h"
#include "cli/commands/command_test.h"
#include "exec/support/popef_report.h"

namespace poprt::cli::test {
namespace {

class PoprtRunPopef : public CommandTest {
 protected:
  PoprtRunPopef() {
    onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[2,4]
  %y : f32[2,4] = Relu(%x)
  output %y
})");
    popef("net.popef", "net.onnx");
  }
  static Ran run(std::vector<std::string> words) {
    words.insert(words.begin(), {"poprt_run_popef", "--popef", "net.popef"});
    return run_command(add_poprt_run_popef, words);
  }
  static RunnerReport report(std::vector<std::string> words) {
    words.push_back("--reportAsJson");
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? read_report(ran.out) : RunnerReport();
  }
};

TEST_F(PoprtRunPopef, EachThreadSendsItsRequests) {
  const RunnerReport found = report({"--iteration", "5", "--numThreads", "3"});
  EXPECT_EQ(found.kind, "modelRunner");
  EXPECT_EQ(found.batch, 2);
  EXPECT_EQ(found.ms.size(), 15);
  EXPECT_GT(found.seconds, 0);
  for (const double ms : found.ms) {
    EXPECT_GT(ms, 0);
    EXPECT_LE(ms, 1e3 * found.seconds);
  }
  EXPECT_EQ(report({}).ms.size(), 100);
}

TEST_F(PoprtRunPopef, TextForPeople) {
  const Ran ran = run({"--iteration", "5", "--numThreads", "3", "--replicationFactor", "1"});
  EXPECT_TRUE(ran.out.starts_with(
      "runner: modelRunner, threads: 3, iterations: 5, batch size: 2\nlatency ms: max "))
      << ran.out << ran.err;
}

TEST_F(PoprtRunPopef, RunnersOfOtherKinds) {
  EXPECT_EQ(report({"--runner", "lightRunner", "--iteration", "2"}).kind, "lightRunner");
  const RunnerReport packs =
      report({"--runner", "packRunner", "--dynamicInputName", "x", "--iteration", "40",
              "--packTimeout", "100", "--maxValidNum", "2", "--batchSize", "2"});
  EXPECT_EQ(packs.kind, "packRunner");
  EXPECT_EQ(packs.batch, 1);
  EXPECT_EQ(packs.ms.size(), 40);
  const Ran other = run({"--runner", "packRunner", "--dynamicInputName", "z"});
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("z"), std::string::npos);
  EXPECT_EQ(run({"--runner", "packRunner", "--dynamicInputName", "x", "--maskName", "z"}).code, 1);
  EXPECT_EQ(run({"--runner", "hostConcatRunner"}).code, 1);
}

TEST_F(PoprtRunPopef, OptionsOfPacksWarnOfOtherRunners) {
  static std::string warnings;
  warnings.clear();
  set_log_receiver([](int32_t, const char* message) { warnings += message; });
  const Ran ran = run({"--iteration", "1", "--batchSize", "1"});
  set_log_receiver(nullptr);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(warnings, "--batchSize has an effect only with --runner packRunner");
}

TEST_F(PoprtRunPopef, OneModelHasNoOtherGraph) {
  const Ran ran = run({"--index", "1", "--iteration", "1"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("--index: the model has no graph 1 because it is not fused"),
            std::string::npos)
      << ran.err;
}

TEST_F(PoprtRunPopef, ReplicasAreOfModelRunners) {
  for (const char* runner : {"lightRunner", "packRunner", "hostConcatRunner"}) {
    const Ran ran = run({"--runner", runner, "--replicationFactor", "2"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find(std::string("--replicationFactor: a ") + runner + " has one replica"),
              std::string::npos)
        << ran.err;
  }
}

// Weights of the file are not random, and do not affect the batch.
TEST_F(PoprtRunPopef, KeepsInputsThatHaveData) {
  onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[4,2]
  const %w : f32[2,2] = [1.0, 2.0, 3.0, 4.0]
  %y : f32[4,2] = MatMul(%x, %w)
  output %y
})");
  popef("net.popef", "net.onnx", {{"compiler_options", "constant_weights=False"}});
  EXPECT_EQ(report({"--iteration", "1"}).batch, 4);
}

// The processes are this program again, which runs the script in the given file: stand_in().
class Processes : public PoprtRunPopef {
 protected:
  static Ran run_file(const std::string& text, const std::vector<std::string>& more) {
    write("said", text);
    std::vector<std::string> words = {"poprt_run_popef", "--popef", "said"};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(add_poprt_run_popef, words);
  }
};

TEST_F(Processes, ReceiveTheOptionsOfTheCommand) {
  EXPECT_EQ(run_file("words", {"--numProcesses", "2"}).err,
            "poprt_exec poprt_run_popef: process 0: --reportAsJson --popef said --runner "
            "modelRunner --iteration 100 --numThreads 1 --index 0 --maxValidNum 0 --packTimeout "
            "1000 --batchSize 0 --replicationFactor 1\n");
  EXPECT_EQ(run_file("words", {"--numProcesses", "2", "--runner",           "packRunner",
                               "--iteration",    "3", "--numThreads",       "4",
                               "--index",        "5", "--maxValidNum",      "6",
                               "--packTimeout",  "7", "--dynamicInputName", "d",
                               "--maskName",     "m", "--batchSize",        "8"})
                .err,
            "poprt_exec poprt_run_popef: process 0: --reportAsJson --popef said --runner "
            "packRunner --iteration 3 --numThreads 4 --index 5 --maxValidNum 6 --packTimeout 7 "
            "--dynamicInputName d --maskName m --batchSize 8 --replicationFactor 1\n");
  EXPECT_TRUE(run_file("words", {"--numProcesses", "2", "--replicationFactor", "9", "--plugins",
                                 "a.so,b.so"})
                  .err.ends_with(" --plugins a.so --plugins b.so --replicationFactor 9\n"));
}

TEST_F(Processes, ReportTogether) {
  const Ran ran = run_file("report", {"--numProcesses", "3", "--iteration", "2"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "warning: one\nwarning: two\n");  // of one process only
  EXPECT_EQ(ran.out,
            "runner: modelRunner, threads: 1, iterations: 2, batch size: 5\n"
            "processes: 3, replicas in each: 1\n"
            "latency ms: max 2.0000 min 1.0000 average 1.5000 P99 2.0000\n"
            "total: 250.00 ms, throughput: 120.0 samples/s\n");
}

TEST_F(Processes, ReportsAFailedProcess) {
  EXPECT_EQ(run_file("nothing", {"--numProcesses", "2"}).err,
            "poprt_exec poprt_run_popef: process 0: ended with code 3\n");
}

// Without POPRT_SHARED_DEVICES, the processes share the devices of a temporary folder.
TEST_F(Processes, ShareDevices) {
  const auto shared = [] {
    const std::string err = run_file("shared", {"--numProcesses", "2"}).err;
    return err.substr(err.find("process 0: ") + 11);
  };
  unsetenv("POPRT_SHARED_DEVICES");
  EXPECT_TRUE(shared().starts_with("/")) << shared();
  setenv("POPRT_SHARED_DEVICES", "mine", 1);
  EXPECT_EQ(shared(), "mine\n");
  unsetenv("POPRT_SHARED_DEVICES");
}

int stand_in(const std::vector<std::string>& words) {
  const std::string request = file_text(words.at(2));
  if (request == "words")
    fmt::print("warning\n{}\n", fmt::join(words, " "));
  else if (request == "shared")
    fmt::print("{}\n", std::getenv("POPRT_SHARED_DEVICES"));
  else if (request == "report")
    fmt::print("warning: one\n\nwarning: two\n{}\n", report_line({"modelRunner", 5, 0.25, {1, 2}}));
  return request == "report" ? 0 : 3;
}

}  // namespace
}  // namespace poprt::cli::test

int main(int argc, char** argv) {
  if (argc > 4 && argv[1] == std::string_view("poprt_run_popef"))
    return poprt::cli::test::stand_in({argv + 2, argv + argc});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
