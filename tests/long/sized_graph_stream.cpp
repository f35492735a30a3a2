// Random models with data-dependent sizes, for tests/long/sized_graphs.py:
//
//   sized_graph_stream FIRST COUNT    writes the models of these seeds to stdout
//   sized_graph_stream --check FIRST COUNT [PASS]    converts, compiles and runs them instead,
//                                     with another pass, and prints errors and refusals
//
// A record is three blocks, each after its length (4 bytes, little endian): JSON with the inputs
// and results, the model, and the converted model (empty if the conversion was refused).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/log.h"
#include "support/sized_graph/sized_graph.h"

namespace {

using namespace poprt;
using namespace poprt::test::sized;
using nlohmann::json;

void write_block(const std::string& bytes) {
  const auto size = static_cast<uint32_t>(bytes.size());
  fwrite(&size, sizeof size, 1, stdout);
  fwrite(bytes.data(), 1, bytes.size(), stdout);
}

json described(const Val& v) {
  json j = {{"type", std::string(dtype_name(v.dtype))}, {"shape", v.shape}, {"values", v.v}};
  if (!v.exact()) j["errors"] = v.e;
  return j;
}

// Returns the operators of the graph whose results have sizes that depend on data.
std::string operators(const SizedGraph& s) {
  std::set<std::string> all;
  for (const Node* n : s.graph->nodes())
    if (n->is("NonZero") || n->is("Compress") || n->is("Unique") || n->is("NonMaxSuppression") ||
        n->is("Loop") || n->is("Scan") || n->is("If") || n->op_type.find("Sequence") < 20)
      all.insert(n->op_type);
  std::string text;
  for (const std::string& op : all) text += ", " + op;
  return text;
}

void write_model(uint64_t seed) {
  const SizedGraph s = sized_graph(seed);
  json about = {{"seed", seed}, {"config", s.config.describe() + operators(s)}};
  for (size_t f = 0; f < kFeeds; f++) {
    json run = {{"feeds", json::object()}, {"results", json::object()}};
    for (const auto& [name, v] : s.feeds[f]) run["feeds"][name] = described(v);
    for (const Value* v : s.graph->outputs())
      run["results"][v->name()] = described(s.values[f].at(v->name()));
    about["runs"].push_back(run);
  }
  const std::string model = model_of(s);
  std::string result;
  try {
    result = converted(model, s.config);
  } catch (const Error& e) {
    about["refusal"] = e.message();
  }
  write_block(about.dump());
  write_block(model);
  write_block(result);
}

// Returns a refusal without names and numbers, so that refusals can be counted by kind.
std::string kind_of(const std::string& refusal) {
  std::string kind;
  bool quoted = false;
  for (const char c : refusal) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && (c < '0' || c > '9')) kind += c;
  }
  return kind;
}

struct Refusals {
  int count = 0;
  uint64_t seed = 0;
  std::string text;
};

int check_models(uint64_t first, uint64_t count, const char* pass) {
  int wrong = 0;
  std::map<std::string, Refusals> refusals;
  Counts all;
  for (uint64_t seed = first; seed < first + count; seed++) {
    SizedGraph s = sized_graph(seed);
    if (pass) s.config.passes = {pass};
    all.roots += s.counts.roots;
    all.shapes += s.counts.shapes;
    all.zero += s.counts.zero;
    all.below += s.counts.below;
    all.at_bound += s.counts.at_bound;
    const Checked checked = check(s);
    for (const std::string& refusal : checked.refusals)
      refusals.try_emplace(kind_of(refusal), Refusals{0, seed, refusal}).first->second.count++;
    if (count == 1)
      for (const std::string& refusal : checked.refusals) printf("refused: %s\n", refusal.c_str());
    if (count == 1)
      printf("%s", (checked.faults.empty() ? describe(s) : describe(reduced(s))).c_str());
    if (checked.faults.empty()) continue;
    wrong++;
    printf("seed %llu, %s%s\n", static_cast<unsigned long long>(seed), s.config.describe().c_str(),
           operators(s).c_str());
    for (const std::string& fault : checked.faults) printf("  %s\n", fault.c_str());
  }
  int refused[3] = {};
  for (const auto& [kind, r] : refusals) {
    printf("%6d refused (seed %llu): %s\n", r.count, static_cast<unsigned long long>(r.seed),
           r.text.c_str());
    refused[kind.starts_with("converted") ? 1 : kind.starts_with("original") ? 2 : 0] += r.count;
  }
  printf("%llu models, %d wrong; refused: %d conversions, %d converted, %d originals\n",
         static_cast<unsigned long long>(count), wrong, refused[0], refused[1], refused[2]);
  printf("sizes %d, feed shapes %d; zero %d, below %d, at the bound %d\n", all.roots, all.shapes,
         all.zero, all.below, all.at_bound);
  return wrong != 0;
}

}  // namespace

int main(int argc, char** argv) {
  set_log_level("error");
  const bool checks = argc > 1 && strcmp(argv[1], "--check") == 0;
  if (argc < 3 + checks || argc > 3 + 2 * checks) {
    fprintf(stderr, "usage: sized_graph_stream [--check] FIRST COUNT [PASS]\n");
    return 2;
  }
  const uint64_t first = strtoull(argv[1 + checks], nullptr, 10);
  const uint64_t count = strtoull(argv[2 + checks], nullptr, 10);
  try {
    if (checks) return check_models(first, count, argv[4]);
    for (uint64_t seed = first; seed < first + count; seed++) write_model(seed);
  } catch (const Error& e) {
    fprintf(stderr, "%s\n", e.message().c_str());
    return 1;
  }
  return 0;
}
