// Random models with data-dependent sizes: converted to ONNX and compiled, they have the sizes and
// values that ONNX says. A wrong one is reported with its seed, as text and with its inputs.
//
//   POPRT_SIZED_GRAPHS=17:1000 test_compiler --gtest_filter='SizedGraphs.*OfTheEnvironment*'
//
// checks models 17 to 1016 instead and prints the counts.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/sized_graph/sized_graph.h"

namespace poprt::test::sized {
namespace {

struct Totals {
  int graphs = 0, wrong = 0, refused_conversions = 0, refused_originals = 0, refused_results = 0;
  Counts counts;
  std::map<std::string, int> refusals;
};

void add_to(Totals& t, const SizedGraph& s, const Checked& checked, bool converts) {
  t.graphs++;
  t.wrong += !checked.faults.empty();
  (converts ? t.refused_results : t.refused_conversions) += checked.converted == Outcome::refused;
  t.refused_originals += checked.compiled == Outcome::refused;
  t.counts.roots += s.counts.roots;
  t.counts.shapes += s.counts.shapes;
  t.counts.zero += s.counts.zero;
  t.counts.below += s.counts.below;
  t.counts.at_bound += s.counts.at_bound;
}

Totals check_models(uint64_t first, uint64_t count, int most_failures) {
  Totals t;
  int failures = 0;
  for (uint64_t seed = first; seed < first + count; seed++) {
    const SizedGraph s = sized_graph(seed);
    const Checked checked = check(s);
    bool converts = true;
    for (const std::string& refusal : checked.refusals) {
      if (refusal.starts_with("conversion")) converts = false;
      t.refusals[refusal.substr(0, 150)]++;
    }
    add_to(t, s, checked, converts);
    if (checked.faults.empty()) continue;
    std::string faults;
    for (const std::string& fault : checked.faults) faults += fault + "\n";
    if (failures++ < most_failures)
      ADD_FAILURE() << "POPRT_SIZED_GRAPHS=" << seed << ":1\n" << faults << describe(s);
  }
  return t;
}

TEST(SizedGraphs, OfTheEnvironmentHaveTheSizesThatOnnxSays) {
  const char* given = std::getenv("POPRT_SIZED_GRAPHS");
  if (!given) GTEST_SKIP() << "POPRT_SIZED_GRAPHS=SEED:COUNT";
  char* end = nullptr;
  const uint64_t first = std::strtoull(given, &end, 10);
  const uint64_t count = *end == ':' ? std::strtoull(end + 1, nullptr, 10) : 1;
  const Totals t = check_models(first, count, count == 1 ? 1 : 5);
  fmt::print("{} graphs, {} wrong; refused: {} conversions, {} converted, {} originals\n", t.graphs, t.wrong,
             t.refused_conversions, t.refused_results, t.refused_originals);
  fmt::print("{} sizes, {} feed shapes; {} zero, {} below, {} at the bound\n", t.counts.roots,
             t.counts.shapes, t.counts.zero, t.counts.below, t.counts.at_bound);
  if (std::getenv("POPRT_SIZED_REFUSALS"))
    for (const auto& [text, n] : t.refusals) fmt::print("{:6} {}\n", n, text);
}

}  // namespace
}  // namespace poprt::test::sized
