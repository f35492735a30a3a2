// Random graphs that are compiled with all default passes have the results of their nodes, which
// are evaluated one by one.
//
//   POPRT_RANDOM_GRAPHS=convolution:17:1000 test_compiler --gtest_filter='*OfTheEnvironment*'
//
// checks graphs 17 to 1016 of a profile instead.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "compiler/compiler.h"
#include "ir/text.h"
#include "ops/op.h"
#include "support/random_graph/maker.h"
#include "support/random_graph/random_graph.h"
#include "support/recorded_lines.h"
#include "support/sanitized.h"

#if POPRT_TEST_SANITIZED
#include <sanitizer/common_interface_defs.h>
#endif

namespace poprt::test {
namespace {

// The graph that a process computes, for the message if it dies.
char current[128] = "";

void print_current_graph() {
  [[maybe_unused]] const auto n = write(STDERR_FILENO, current, strlen(current));
}

#if POPRT_TEST_SANITIZED
void name_on_death() { __sanitizer_set_death_callback(print_current_graph); }
#else
void name_on_death() {
  for (const int s : {SIGSEGV, SIGFPE, SIGBUS})
    std::signal(s, [](int signal) {
      print_current_graph();
      std::signal(signal, SIG_DFL);
      std::raise(signal);
    });
}
#endif

uint64_t seed_of(std::string_view profile, uint64_t number) {
  uint64_t seed = number;
  for (const char c : profile) seed = seed * 131 + static_cast<unsigned char>(c);
  return seed;
}

RandomGraph graph_of(std::string_view profile, uint64_t number) {
  Choices choices(seed_of(profile, number));
  return random_graph(profile, choices);
}

// Checks a graph in a separate process, because it may die.
std::string check_apart(const RandomGraph& g) {
  int channel[2];
  if (pipe(channel) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string found = check_graph(g);
    [[maybe_unused]] const auto n =
        write(channel[1], found.data(), std::min<size_t>(found.size(), 4000));
    _exit(0);
  }
  close(channel[1]);
  std::string found(4000, '\0');
  found.resize(
      static_cast<size_t>(std::max<ssize_t>(0, read(channel[0], found.data(), found.size()))));
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0 ? fmt::format("the process died ({})", status) : found;
}

// The kind of failure: its message up to the first number or quote.
std::string kind_of(const std::string& found) {
  return found.substr(0, found.find_first_of("'0123456789"));
}

void report(std::string_view profile, uint64_t number, bool apart) {
  const RandomGraph g = graph_of(profile, number);
  const auto check = [&](const RandomGraph& x) { return apart ? check_apart(x) : check_graph(x); };
  const std::string kind = kind_of(check(g));
  const RandomGraph small = reduced(g, [&](const RandomGraph& x) {
    const std::string found = check(x);
    return !found.empty() && kind_of(found) == kind;
  });
  ADD_FAILURE() << "POPRT_RANDOM_GRAPHS=" << profile << ":" << number << ":1\n"
                << check(small) << "\n"
                << describe(small);
}

int most_failures() {
  const char* given = std::getenv("POPRT_RANDOM_GRAPHS_FAILURES");
  return given ? std::atoi(given) : 3;
}

void check_graphs(std::string_view profile, uint64_t first, uint64_t count) {
  name_on_death();
  int failures = 0;
  for (uint64_t i = first; i < first + count && failures < most_failures(); i++) {
    snprintf(current, sizeof current, "died at POPRT_RANDOM_GRAPHS=%s:%llu:1\n",
             std::string(profile).c_str(), static_cast<unsigned long long>(i));
    if (check_graph(graph_of(profile, i)).empty()) continue;
    failures++;
    report(profile, i, false);
  }
}

// Parts of the suite: each is a separate test, so that they run in parallel.
constexpr uint64_t kGraphs = 2600, kShares = 4;

using Share = std::tuple<std::string_view, uint64_t>;
class RandomGraphs : public testing::TestWithParam<Share> {};

TEST_P(RandomGraphs, MatchTheResultsOfTheirNodes) {
  const auto [profile, share] = GetParam();
  check_graphs(profile, share * (kGraphs / kShares), kGraphs / kShares);
}

INSTANTIATE_TEST_SUITE_P(Suite, RandomGraphs,
                         testing::Combine(testing::ValuesIn(profiles().begin(), profiles().end()),
                                          testing::Range(uint64_t{0}, kShares)),
                         [](const auto& share) {
                           return fmt::format("{}_{}", std::get<0>(share.param),
                                              std::get<1>(share.param));
                         });

// Compares the forms of `count` graphs, and computes every second graph in halves.
ComparedForms check_forms_of(std::string_view profile, uint64_t first, uint64_t count) {
  ComparedForms compared, ignored;
  name_on_death();
  for (uint64_t i = first; i < first + count; i++) {
    snprintf(current, sizeof current, "died at POPRT_RANDOM_FORMS=%s:%llu:1\n",
             std::string(profile).c_str(), static_cast<unsigned long long>(i));
    const RandomGraph g = graph_of(profile, i);
    const bool halves = i % 2 == 1;
    const std::string found = check_forms(g, halves, compared);
    if (found.empty()) continue;
    const RandomGraph small =
        reduced(g, [&](const RandomGraph& x) { return !check_forms(x, halves, ignored).empty(); });
    ADD_FAILURE() << "POPRT_RANDOM_FORMS=" << profile << ":" << i << ":1\n"
                  << check_forms(small, halves, ignored) << "\n"
                  << describe(small);
    break;
  }
  return compared;
}

class RandomForms : public testing::TestWithParam<std::string_view> {};

TEST_P(RandomForms, GiveTheSameBits) {
  const ComparedForms compared = check_forms_of(GetParam(), 0, 60);
  EXPECT_GE(compared.files, 50);
  EXPECT_GE(compared.linked, 50);
  EXPECT_GE(compared.on_several_ipus, 80);  // of four each
}

INSTANTIATE_TEST_SUITE_P(Suite, RandomForms,
                         testing::ValuesIn(profiles().begin(), profiles().end()),
                         [](const auto& profile) { return std::string(profile.param); });

TEST(RandomGraph, IsTheSameForTheSameSeed) {
  for (const std::string_view profile : profiles())
    EXPECT_EQ(describe(graph_of(profile, 3)), describe(graph_of(profile, 3))) << profile;
}

TEST(RandomGraph, IsComparedWithTheResultsOfItsNodes) {
  const auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[3]
    const %c : f32[3] = [1.0, 2.0, -0.999]
    %sum : f32[3] = Add(%x, %c)
    %whole : s32[3] = Cast(%sum) {to = 6}
    output %sum
    output %whole
  })");
  const Feeds feeds{{"x", Tensor::of<float>({3}, {4.0f, 5.5f, 1.0f})}};
  const auto difference = [&](std::initializer_list<float> sum,
                              std::initializer_list<int32_t> whole) {
    return Reference(*graph, feeds)
        .difference(
            {{"sum", Tensor::of<float>({3}, sum)}, {"whole", Tensor::of<int32_t>({3}, whole)}});
  };
  EXPECT_EQ(difference({5, 7.5f, 0.001f}, {5, 7, 0}), "");
  // An error of one unit in the last place of 1 is accepted, although it is large for a sum that
  // cancels. The first whole number depends on rounding, so it may differ by one.
  EXPECT_EQ(difference({4.999999f, 7.5f, 0.0010002f}, {4, 7, 0}), "");
  EXPECT_NE(difference({5.001f, 7.5f, 0.001f}, {5, 7, 0}), "");
  EXPECT_NE(difference({5, 7.5f, 0.0011f}, {5, 7, 0}), "");
  EXPECT_NE(difference({5, 7.5f, 0.001f}, {5, 8, 0}), "");
}

TEST(RandomGraph, IsReducedToTheFailingNode) {
  RandomGraph g = graph_of("elementwise", 0);
  Value* x = g.graph->add_input("given", ir::ValueType::of(DType::f32, {2}));
  g.feeds["given"] = Tensor::of<float>({2}, {1, 2});
  Node* bad = g.graph->add_node("Exp", "", {x});
  ops::infer(*bad);
  bad->name = "bad";
  g.graph->add_output(bad->output());
  const RandomGraph small = reduced(g, [](const RandomGraph& r) {
    const auto nodes = r.graph->nodes();
    return std::any_of(nodes.begin(), nodes.end(), [](const Node* n) { return n->name == "bad"; });
  });
  EXPECT_EQ(small.graph->node_count(), 1u);
  EXPECT_EQ(small.feeds.size(), 1u);
}

// A larger plan, or a step that is no longer fused or left out, gives the same results and is
// noticed here.
TEST(RandomGraph, CompilesToAProgramOfItsRecordedSize) {
  RecordedLines found;
  for (const std::string_view profile : profiles())
    for (uint64_t i = 0; i < 100; i++) {
      const RandomGraph g = graph_of(profile, i);
      std::string line;
      try {
        compiler::convert(*g.graph, {});
        const program::Program p = compiler::compile(*g.graph, {}).program;
        line = fmt::format(
            "arena {}, state {}, weights {}, {} buffers, load {}, save {}:", p.arena_bytes,
            p.state_bytes, p.weights_bytes, p.buffers.size(), p.load.size(), p.save.size());
        for (const program::Instruction& in : p.main) line += " " + p.kernels[in.kernel];
      } catch (const Error& e) {
        line = e.message();
      }
      found[std::string(profile)].insert(fmt::format("{:02} {}", i, line));
    }
  expect_digests(found, POPRT_TEST_DATA "/program_sizes.txt",
                 "What random graphs compile to: random_graphs_test.cpp.");
}

// Parses PROFILE:FIRST:COUNT.
std::tuple<std::string, uint64_t, uint64_t> graphs_of(const std::string& text) {
  const size_t a = text.find(':'), b = text.find(':', a + 1);
  return {text.substr(0, a), std::stoull(text.substr(a + 1, b - a - 1)),
          std::stoull(text.substr(b + 1))};
}

TEST(RandomFormsOfTheEnvironment, GiveTheSameBits) {
  const char* wanted = std::getenv("POPRT_RANDOM_FORMS");
  if (!wanted) GTEST_SKIP() << "POPRT_RANDOM_FORMS=PROFILE:FIRST:COUNT is not set";
  const auto [profile, first, count] = graphs_of(wanted);
  check_forms_of(profile, first, count);
}

// Checks the graphs that the user requests; not part of the suite.
TEST(RandomGraphsOfTheEnvironment, MatchTheResultsOfTheirNodes) {
  const char* wanted = std::getenv("POPRT_RANDOM_GRAPHS");
  if (!wanted) GTEST_SKIP() << "POPRT_RANDOM_GRAPHS=PROFILE:FIRST:COUNT is not set";
  const auto [profile, first, count] = graphs_of(wanted);
  if (count == 1)
    report(profile, first, true);
  else
    check_graphs(profile, first, count);
  if (std::getenv("POPRT_RANDOM_GRAPHS_COUNTS") == nullptr) return;
  for (const auto& [op, n] : Maker::added()) std::fprintf(stderr, "%6d %s\n", n, op.c_str());
  for (const auto& [op, why] : Maker::rejected())
    std::fprintf(stderr, "rejected %6d %s: %s\n", why.first, op.c_str(), why.second.c_str());
}

}  // namespace
}  // namespace poprt::test
