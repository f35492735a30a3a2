// Random models with data-dependent sizes: converted to ONNX and compiled, they have the sizes and
// values that ONNX defines. A wrong one is reported with its seed, as text and with its inputs.
//
//   POPRT_SIZED_GRAPHS=17:1000 test_compiler --gtest_filter='SizedGraphs.*'
//
// checks models 17 to 1016 instead. tests/README.md describes how to run many more of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/log.h"
#include "support/sized_graph/sized_graph.h"

namespace poprt::test::sized {
namespace {

constexpr uint64_t kModels = 4000, kShares = 4;
// At most these parts of a share may be refused, in percent.
constexpr int kRefusedConversions = 10, kRefusedPrograms = 25;
// At least these parts of the sizes are zero, below their bound and equal to it.
constexpr int kLeastSizes = 15;

struct Totals {
  int models = 0, wrong = 0, refused_conversions = 0, refused_results = 0, refused_originals = 0;
  Counts counts;
  std::set<std::string> precisions, nameless;  // refusals that name no node
  std::set<int64_t> opsets;
};

void add_to(Totals& t, const SizedGraph& s, const Checked& checked) {
  t.models++;
  t.wrong += !checked.faults.empty();
  for (const std::string& refusal : checked.refusals) {
    t.refused_conversions += refusal.starts_with("conversion");
    t.refused_results += refusal.starts_with("converted");
    t.refused_originals += refusal.starts_with("original");
    if (refusal.find(" node ") == std::string::npos) t.nameless.insert(refusal);
  }
  t.counts.zero += s.counts.zero;
  t.counts.below += s.counts.below;
  t.counts.at_bound += s.counts.at_bound;
  t.precisions.insert(s.config.describe().substr(0, s.config.describe().find(',')));
  t.opsets.insert(s.config.opset);
}

// Discards warnings, which do not concern sizes and values.
struct QuietLog {
  QuietLog() {
    set_log_receiver([](int32_t, const char*) {});
  }
  ~QuietLog() { set_log_receiver(nullptr); }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
};

Totals check_models(uint64_t first, uint64_t count) {
  constexpr int kShown = 3;
  const QuietLog quiet;
  Totals t;
  for (uint64_t seed = first; seed < first + count; seed++) {
    const SizedGraph s = sized_graph(seed);
    EXPECT_GE(s.graph->node_count(), 8u) << seed;
    EXPECT_GE(s.counts.roots, 2) << seed;
    EXPECT_GE(s.counts.shapes, 1) << seed;
    const Checked checked = check(s);
    add_to(t, s, checked);
    if (checked.faults.empty() || t.wrong > kShown) continue;
    std::string faults;
    for (const std::string& fault : checked.faults) faults += fault + "\n";
    ADD_FAILURE() << "POPRT_SIZED_GRAPHS=" << seed << ":1\n" << faults << describe(reduced(s));
  }
  EXPECT_EQ(t.wrong, 0) << "of " << t.models << " models";
  EXPECT_TRUE(t.nameless.empty()) << *t.nameless.begin();
  return t;
}

class SizedGraphs : public testing::TestWithParam<uint64_t> {};

TEST_P(SizedGraphs, HaveTheSizesAndValuesThatOnnxDefines) {
  const uint64_t count = kModels / kShares;
  const Totals t = check_models(1 + GetParam() * count, count);
  EXPECT_LE(100 * t.refused_conversions, kRefusedConversions * t.models);
  EXPECT_LE(100 * t.refused_results, kRefusedPrograms * t.models);
  EXPECT_LE(100 * t.refused_originals, kRefusedPrograms * t.models);
  const int sizes = t.counts.zero + t.counts.below + t.counts.at_bound;
  for (const int part : {t.counts.zero, t.counts.below, t.counts.at_bound})
    EXPECT_GE(100 * part, kLeastSizes * sizes);
  EXPECT_EQ(t.precisions.size(), 5u);
  EXPECT_GE(t.opsets.size(), 6u);
}

INSTANTIATE_TEST_SUITE_P(Suite, SizedGraphs, testing::Range(uint64_t{0}, kShares));

TEST(SizedGraphs, OfTheEnvironmentHaveTheSizesAndValuesThatOnnxDefines) {
  const char* given = std::getenv("POPRT_SIZED_GRAPHS");
  if (!given) GTEST_SKIP() << "POPRT_SIZED_GRAPHS=SEED:COUNT";
  char* end = nullptr;
  const uint64_t first = std::strtoull(given, &end, 10);
  check_models(first, *end == ':' ? std::strtoull(end + 1, nullptr, 10) : 1);
}

TEST(SizedGraphs, AreTheSameForTheSameSeed) {
  for (uint64_t seed = 1; seed < 20; seed++)
    EXPECT_EQ(describe(sized_graph(seed)), describe(sized_graph(seed)));
}

}  // namespace
}  // namespace poprt::test::sized
