// The result of a node as tests/data records it: types, kernels or a message, which must be equal,
// and sums of the values, which may differ by rounding.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/ops/result_sums.h"
#include "support/recorded_lines.h"

namespace poprt::ops::sampled {

struct Result {
  std::string types;
  std::vector<Sums> sums;
};

inline double tolerance_of(std::string_view types) {
  for (const char* narrow : {"f16", "bf16", "f8"})
    if (types.find(narrow) != types.npos) return 2e-2;
  return 2e-4;
}

inline bool near(const Result& a, const Result& b) {
  if (a.types != b.types || a.sums.size() != b.sums.size()) return false;
  const double tolerance = tolerance_of(a.types);
  for (size_t i = 0; i < a.sums.size(); i++)
    if (!near(a.sums[i], b.sums[i], tolerance)) return false;
  return true;
}

inline std::string text_of(const Result& r) {
  std::string text = r.types;
  for (const Sums& s : r.sums) text += " | " + text_of(s);
  return text;
}

// Results by operator, and by choice or change.
using Results = std::map<std::string, std::map<std::string, Result>>;

// The results of one operator, as a file stores them: a digest of everything that must be equal,
// and the sums of each output that has values, which may differ by rounding.
struct ResultSummary {
  struct Output {
    std::string of;  // the choice or change, and the number of the output
    Sums sums;
    double tolerance = 0;
  };
  size_t count = 0;
  std::string digest;
  std::vector<Output> outputs;
};

inline ResultSummary summary_of(const std::map<std::string, Result>& results) {
  ResultSummary s;
  test::Digest digest;
  for (const auto& [what, r] : results) {
    s.count++;
    digest.add(what).add(": ").add(r.types);
    for (size_t i = 0; i < r.sums.size(); i++) {
      digest.add(fmt::format(" | {}", r.sums[i].special));
      s.outputs.push_back(
          {fmt::format("{}, output {}", what, i), r.sums[i], tolerance_of(r.types)});
    }
    digest.add("\n");
  }
  s.digest = digest.text();
  return s;
}

inline test::RecordedLines lines_of(const Results& all) {
  test::RecordedLines lines;
  for (const auto& [op, results] : all)
    for (const auto& [what, r] : results) lines[op].insert(what + ": " + text_of(r));
  return lines;
}

// A file has for each operator the number of its results, their digest and two sums of each output
// that has values, and then the messages of all refusals.
inline void write_results(const Results& all, const std::string& path, const std::string& about) {
  std::ofstream file(path);
  file << "# " << about << " POPRT_RECORD_LINES=FOLDER writes the results.\n";
  for (const auto& [op, results] : all) {
    if (results.empty()) continue;
    const ResultSummary s = summary_of(results);
    file << op << "\n  " << s.count << " results, " << s.digest << "\n  values";
    for (const auto& output : s.outputs)
      file << fmt::format(" {:.5g} {:.5g}", output.sums.weighted, output.sums.absolute);
    file << "\n";
  }
  file << "messages\n";
  const test::RecordedLines messages = test::digests_of(lines_of(all));
  if (messages.contains("messages"))
    for (const std::string& message : messages.at("messages")) file << "  " << message << "\n";
}

inline void expect_results_of(const std::string& op, const std::map<std::string, Result>& results,
                              const std::set<std::string>& wanted) {
  const ResultSummary s = summary_of(results);
  EXPECT_TRUE(wanted.contains(fmt::format("{} results, {}", s.count, s.digest)))
      << op << ": types, kernels, messages or the number of results differ";
  const auto line =
      std::ranges::find_if(wanted, [](const auto& l) { return l.starts_with("values"); });
  ASSERT_NE(line, wanted.end()) << op << " is not recorded";
  std::istringstream numbers(line->substr(6));
  const std::vector<double> values{std::istream_iterator<double>(numbers), {}};
  ASSERT_EQ(values.size(), 2 * s.outputs.size()) << op;
  for (size_t i = 0; i < s.outputs.size(); i++) {
    const auto& [of, now, tolerance] = s.outputs[i];
    const Sums was{values[2 * i], values[2 * i + 1], now.special};
    // Sums are stored with five digits.
    EXPECT_TRUE(near(was, now, tolerance + 1e-5))
        << op << " " << of << "\n  was " << text_of(was) << "\n  is  " << text_of(now);
  }
}

inline void expect_results(const Results& found, const std::string& path,
                           const std::string& about) {
  test::write_lines_of(lines_of(found), path, about);
  if (std::getenv("POPRT_WRITE_RECORDS")) return write_results(found, path, about);
  test::RecordedLines wanted = test::read_recorded(path);
  ASSERT_FALSE(wanted.empty()) << path;
  EXPECT_EQ(wanted["messages"], test::digests_of(lines_of(found))["messages"]) << path;
  wanted.erase("messages");
  for (const auto& [op, results] : found)
    if (!results.empty()) expect_results_of(op, results, wanted[op]);
  for (const auto& [op, lines] : wanted)
    EXPECT_TRUE(lines.empty() || found.contains(op)) << op << " of " << path << " has no results";
}

}  // namespace poprt::ops::sampled
