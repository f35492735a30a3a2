#include "exec/support/popef_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/json.h"

namespace poprt::cli {

uint64_t item_bytes(uint64_t bytes, const std::vector<int64_t>& shape, double part) {
  if (shape.size() < 2 || shape[0] != 1 || shape[1] == 0) return bytes;
  const uint64_t place = bytes / static_cast<uint64_t>(shape[1]);
  const auto places = static_cast<uint64_t>(part * static_cast<double>(shape[1]));
  return place * std::max<uint64_t>(1, places);
}

double RunnerReport::throughput() const {
  return static_cast<double>(ms.size()) * static_cast<double>(batch) / seconds;
}

std::string report_line(const RunnerReport& r) {
  return to_text(nlohmann::ordered_json{
      {"runner", r.kind}, {"batch", r.batch}, {"seconds", r.seconds}, {"latency_ms", r.ms}});
}

RunnerReport read_report(const std::string& line) {
  const nlohmann::ordered_json json = parse_ordered_json(line);
  return {json.at("runner"), json.at("batch"), json.at("seconds"),
          json.at("latency_ms").get<std::vector<double>>()};
}

std::string summary(const std::vector<RunnerReport>& reports, const RunnerLoad& load) {
  std::vector<double> ms;
  double seconds = 0, throughput = 0;
  for (const RunnerReport& r : reports) {
    ms.insert(ms.end(), r.ms.begin(), r.ms.end());
    seconds = std::max(seconds, r.seconds);
    throughput += r.throughput();
  }
  std::ranges::sort(ms);
  const auto count = static_cast<double>(ms.size());
  std::string text = fmt::format("runner: {}, threads: {}, iterations: {}, batch size: {}\n",
                                 reports[0].kind, load.threads, load.iterations, reports[0].batch);
  if (load.processes > 1 || load.replicas > 1)
    text += fmt::format("processes: {}, replicas in each: {}\n", load.processes, load.replicas);
  text += fmt::format("latency ms: max {:.4f} min {:.4f} average {:.4f} P99 {:.4f}\n", ms.back(),
                      ms.front(), std::accumulate(ms.begin(), ms.end(), 0.0) / count,
                      ms[static_cast<size_t>(std::ceil(0.99 * count)) - 1]);
  return text + fmt::format("total: {:.2f} ms, throughput: {:.1f} samples/s\n", seconds * 1000,
                            throughput);
}

}  // namespace poprt::cli
