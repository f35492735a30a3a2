// Tests every bound of every option: the last value that is accepted and the first that is not.
#include "cli/commands/command_test.h"

namespace poprt::cli::test {
namespace {

struct Bounds {
  std::string option;
  std::vector<std::string> taken, refused;
  std::string error_part = "expected";
};

void expect_bounds(AddCommand add, const std::vector<std::string>& begin,
                   const std::vector<Bounds>& table) {
  for (const Bounds& b : table) {
    const auto answer = [&](const std::string& value) {
      std::vector<std::string> words = begin;
      words.push_back(b.option + "=" + value);
      return run_command(add, words, false);
    };
    for (const std::string& value : b.taken) {
      const Ran ran = answer(value);
      EXPECT_EQ(ran.code, 0) << b.option << " " << value << ": " << ran.err;
    }
    for (const std::string& value : b.refused) {
      const Ran ran = answer(value);
      EXPECT_EQ(ran.code, 2) << b.option << " " << value;
      EXPECT_NE(ran.err.find(b.error_part), std::string::npos) << ran.err;
    }
  }
}

const std::string kMost = std::to_string(std::numeric_limits<int64_t>::max());

// Expects that a command accepts `words`, and refuses them without the words at each of `needed`.
void expect_needed(AddCommand add, const std::vector<std::string>& words,
                   const std::vector<std::pair<size_t, size_t>>& needed) {
  EXPECT_EQ(run_command(add, words, false).code, 0);
  for (const auto& [at, count] : needed) {
    std::vector<std::string> fewer = words;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at),
                fewer.begin() + static_cast<std::ptrdiff_t>(at + count));
    const Ran ran = run_command(add, fewer, false);
    EXPECT_EQ(ran.code, 2) << words[at];
    EXPECT_NE(ran.err.find("found none"), std::string::npos) << ran.err;
  }
}

TEST(OptionRefusals, AutoShard) {
  const std::vector<std::string> words = {"auto_shard", "-i", "m.onnx", "--num_ipus", "2"};
  expect_needed(add_auto_shard, words, {{1, 2}, {3, 2}});
  expect_bounds(add_auto_shard, words,
                {{"--num_processes", {"1", "64"}, {"0", "65", "x"}, "from 1 to 64"},
                 {"--memory_proportion", {"0.01", "1"}, {"0.009", "1.001"}, "from 0.01 to 1"},
                 {"--runs", {"1", "1000000"}, {"0", "1000001"}, "from 1 to 1000000"}});
}

TEST(OptionRefusals, Bench) {
  expect_needed(add_bench, {"bench", "m.onnx"}, {{1, 1}});
  expect_bounds(
      add_bench, {"bench", "m.onnx"},
      {{"--threads", {"0", "1024"}, {"-1", "1025"}, "from 0 to 1024"},
       {"--clients", {"1", "1024"}, {"0", "1025"}, "from 1 to 1024"},
       {"--through", {"runner", "callbacks", "queues"}, {"walls"}},
       {"--iterations", {"1", kMost}, {"0", "-1"}, "at least 1"},
       {"--seconds", {"0.001", "1000000"}, {"0.0009", "1000001"}, "from 0.001 to 1000000"},
       {"--warmup", {"0", "2147483647"}, {"-1"}, "at least 0"}});
}

TEST(OptionRefusals, Cache) {
  expect_bounds(add_cache, {"cache", "--prune"},
                {{"--max_bytes", {"0", "18446744073709551615"}, {"-1"}, "at least 0"},
                 {"--older_than", {"0", "0.5"}, {"-0.5"}, "at least 0"}});
  for (const char* option : {"--max_bytes=1", "--older_than=1"}) {
    const Ran ran = run_command(add_cache, {"cache", option}, false);
    EXPECT_EQ(ran.code, 2) << option;
    EXPECT_NE(ran.err.find("--prune"), std::string::npos) << ran.err;
  }
  EXPECT_EQ(run_command(add_cache, {"cache", "--prune", "--list"}, false).code, 2);
  EXPECT_EQ(run_command(add_cache, {"cache", "--prune", "--json"}, false).code, 0);
  EXPECT_EQ(run_command(add_cache, {"cache", "--list", "--json"}, false).code, 0);
}

TEST(OptionRefusals, Compare) {
  expect_needed(add_compare, {"compare", "m.onnx"}, {{1, 1}});
  expect_bounds(add_compare, {"compare", "m.onnx"},
                {{"--rtol", {"0", "1e300"}, {"-1e-9"}, "at least 0"},
                 {"--atol", {"0", "1e300"}, {"-1e-9"}, "at least 0"},
                 {"--norm", {"0", "1e300"}, {"-1e-9"}, "at least 0"},
                 {"--bad_frac", {"0", "1e300"}, {"-1e-9"}, "at least 0"},
                 {"--data_set", {"/"}, {"/nowhere", "/proc/self/exe"}, "expected a folder"},
                 {"--threads", {"0", "1024"}, {"-1", "1025"}, "from 0 to 1024"}});
}

TEST(OptionRefusals, Debug) {
  expect_needed(add_debug, {"debug", "compare", "--src_model", "a", "--dst_model", "b"},
                {{2, 2}, {4, 2}, {1, 5}});
  expect_needed(add_debug, {"debug", "modify", "--src_model", "a"}, {{2, 2}});
  expect_needed(add_debug, {"debug", "extract", "--src_model", "a", "--output_names", "b"},
                {{2, 2}, {4, 2}});
  expect_needed(add_debug, {"debug", "print", "--src_model", "a"}, {{2, 2}});
  const std::vector<std::string> backends = {"onnxruntime", "poprt"};
  expect_bounds(add_debug, {"debug", "compare", "--model", "a", "--dst_model", "b"},
                {{"--src_backend", backends, {"torch"}, "expected onnxruntime or poprt"},
                 {"--dst_backend", backends, {"torch"}, "expected onnxruntime or poprt"},
                 {"--src_backend", {}, {"tensorflow"}, "must be converted to ONNX first"},
                 {"--dst_backend", {}, {"tensorflow"}, "must be converted to ONNX first"}});
  expect_bounds(add_debug, {"debug", "print", "--model", "a"},
                {{"--level", {"model", "graph", "node", "tensor"}, {"all"}}});
  EXPECT_EQ(
      run_command(add_debug, {"debug", "modify", "--model", "a", "--extract", "a", "b"}, false)
          .code,
      0);
  EXPECT_EQ(
      run_command(add_debug, {"debug", "modify", "--model", "a", "--extract", "a", "b", "c"}, false)
          .code,
      2);
}

TEST(OptionRefusals, Inspect) {
  expect_bounds(add_inspect, {"inspect"},
                {{"--branch", {"0", "7"}, {"-1", "x"}, "at least 0"},
                 {"--rtol", {"0", "1e300"}, {"-0.001"}, "at least 0"},
                 {"--atol", {"0", "1e300"}, {"-0.001"}, "at least 0"},
                 {"--bench", {"0.01", "86400"}, {"0.009", "86400.5"}, "from 0.01 to 86400"},
                 {"--clients", {"1", "256"}, {"0", "257"}, "from 1 to 256"},
                 {"--in-flight", {"1", "1024"}, {"0", "1025"}, "from 1 to 1024"},
                 {"--threads", {"0", "1024"}, {"-1", "1025"}, "from 0 to 1024"},
                 {"--step", {"0", "2147483647"}, {"-1"}, "at least 0"},
                 {"--profile", {"0.01", "3600"}, {"0.009", "3600.5"}, "from 0.01 to 3600"},
                 {"--seconds", {"0.1", "86400"}, {"0.09", "86400.5"}, "from 0.1 to 86400"},
                 {"--most", {"1", kMost}, {"0"}, "at least 1"},
                 {"--second", {"/proc/self/exe"}, {"/nowhere", "/"}, "expected a file"}});
  EXPECT_EQ(run_command(add_inspect, {"inspect", "--json"}, false).code, 0);
  EXPECT_EQ(run_command(add_inspect, {"inspect", "--text"}, false).code, 0);
  EXPECT_EQ(run_command(add_inspect, {"inspect", "--text", "--json"}, false).code, 2);
}

TEST(OptionRefusals, Opt) {
  expect_needed(add_opt, {"opt", "m.ir"}, {{1, 1}});
  expect_bounds(add_opt, {"opt", "m.ir"},
                {{"--rewrite_limit", {"0", kMost}, {"-1"}, "at least 0"},
                 {"--stage", {"none", "convert", "compile"}, {"half"}}});
}

// Commands that print a list accept one form at a time.
TEST(OptionRefusals, Lists) {
  const std::vector<std::pair<AddCommand, std::string>> lists = {
      {add_ops, "ops"}, {add_options, "options"}, {add_passes, "passes"}};
  for (const auto& [add, name] : lists) {
    for (const char* form : {"--json", "--markdown"})
      EXPECT_EQ(run_command(add, {name, form}, false).code, 0) << name;
    EXPECT_EQ(run_command(add, {name, "--json", "--markdown"}, false).code, 2) << name;
  }
  EXPECT_EQ(run_command(add_ops, {"ops", "--opsets"}, false).code, 0);
  EXPECT_EQ(run_command(add_ops, {"ops", "--opsets", "--json"}, false).code, 2);
  EXPECT_EQ(run_command(add_ops, {"ops", "--opsets", "--markdown"}, false).code, 2);
}

TEST(OptionRefusals, PoprtRunPopef) {
  const std::vector<std::string> words = {"poprt_run_popef", "--popef", "m.popef"};
  expect_needed(add_poprt_run_popef, words, {{1, 2}});
  expect_bounds(add_poprt_run_popef, words,
                {{"--runner",
                  {"modelRunner", "lightRunner", "hostConcatRunner", "packRunner"},
                  {"fastRunner"}},
                 {"--iteration", {"1", kMost}, {"0"}, "at least 1"},
                 {"--numThreads", {"1", "1024"}, {"0", "1025"}, "from 1 to 1024"},
                 {"--index", {"0", kMost}, {"-1"}, "at least 0"},
                 {"--maxValidNum", {"0", kMost}, {"-1"}, "at least 0"},
                 {"--packTimeout", {"1", kMost}, {"0"}, "at least 1"},
                 {"--batchSize", {"0", kMost}, {"-1"}, "at least 0"},
                 {"--replicationFactor", {"1", "1024"}, {"0", "1025"}, "from 1 to 1024"},
                 {"--numProcesses", {"1", "256"}, {"0", "257"}, "from 1 to 256"}});
}

TEST(OptionRefusals, RecompileAndFlops) {
  expect_needed(add_recompile, {"recompile", "m.popef"}, {{1, 1}});
  expect_needed(add_flops, {"flops", "m.onnx"}, {{1, 1}});
}

TEST(OptionRefusals, Run) {
  expect_needed(add_run, {"run", "m.onnx"}, {{1, 1}});
  expect_bounds(add_run, {"run", "m.onnx"},
                {{"--threads", {"0", "1024"}, {"-1", "1025"}, "from 0 to 1024"},
                 {"--iterations", {"1", "1000000000"}, {"0", "1000000001"}, "from 1 to 1000000000"},
                 {"--numerics", {"fast", "faithful"}, {"slow"}},
                 {"--overflow", {"nan", "saturate"}, {"wrap"}}});
}

TEST(OptionRefusals, Top) {
  expect_bounds(add_top, {"top"},
                {{"--interval", {"0.01", "3600"}, {"0.009", "3600.5"}, "from 0.01 to 3600"},
                 {"--count", {"1", kMost}, {"0"}, "at least 1"}});
}

}  // namespace
}  // namespace poprt::cli::test
