#include "exec/support/telemetry_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/arguments.h"
#include "common/json.h"

namespace poprt::cli {
namespace {

std::string duration(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.1f} ms", ns / 1e6);
  return fmt::format("{:.1f} s", ns / 1e9);
}

std::string cut_lines(const std::string& text, size_t width) {
  std::string cut;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    cut += text.substr(at, std::min(end - at, width)) + "\n";
    at = end + 1;
  }
  return cut;
}

}  // namespace

// Runs per second since the previous sample, and the fraction of the time that they took.
std::string TelemetryTable::rates(const Sample& now, const Sample& last) {
  const double elapsed = std::max(now.ns - last.ns, 1.0);
  return fmt::format("{:>12.1f} {:>5.1f}%", (now.runs - last.runs) / elapsed * 1e9,
                     (now.busy_ns - last.busy_ns) / elapsed * 100);
}

// The rows of a generator of texts. The rates are tokens per second of real time.
std::string TelemetryTable::generator(const nlohmann::json& segment, const Sample& now,
                                      const Sample& last) {
  if (!segment.contains("generator")) return "";
  const auto& g = segment["generator"];
  const double elapsed = std::max(now.ns - last.ns, 1.0) / 1e9;
  const auto places = g["places"].get<uint64_t>(), used = g["used_places"].get<uint64_t>();
  return fmt::format(
      "{:>8} slots {} of {} busy, {} waiting, {} ended; tokens/s: prompts {:.1f}, decoding {:.1f}\n"
      "{:>8} cache {} of {} places ({:.1f}%), {:.1f} MiB\n",
      "", g["busy"].get<uint64_t>(), g["slots"].get<uint64_t>(), g["waiting"].get<uint64_t>(),
      g["ended"].get<uint64_t>(), (now.prompt_tokens - last.prompt_tokens) / elapsed,
      (now.decode_tokens - last.decode_tokens) / elapsed, "", used, places,
      places ? 100.0 * static_cast<double>(used) / static_cast<double>(places) : 0.0,
      g["cache_bytes"].get<double>() / (1 << 20));
}

// The rows of an executable with several models or shapes, one for each.
std::string TelemetryTable::variants(const nlohmann::json& segment, const Sample& of,
                                     const Sample& last_of, const std::string& key,
                                     std::map<std::string, Sample>& now) const {
  std::string text;
  if (!segment.contains("branches")) return text;
  size_t index = 0;
  for (const auto& b : segment["branches"]) {
    const std::string own = fmt::format("{} variant {}", key, index++);
    const auto last = before_.find(own);
    now[own] = {of.ns, b["runs"], b["busy_ns"]};
    text += fmt::format("{:>8} variant {:<41.41} {}\n", "", printable(b["name"].get<std::string>()),
                        rates(now[own], last == before_.end() ? Sample{last_of.ns} : last->second));
  }
  return text;
}

std::string TelemetryTable::text(const nlohmann::json& segments, size_t width) {
  if (segments.empty()) {
    before_.clear();
    return "no process publishes telemetry; set POPRT_TELEMETRY=1 in the process to watch\n";
  }
  constexpr size_t kAllColumns = 131, kOtherColumns = 52;
  const bool narrow = width < kAllColumns;
  const size_t names = std::max<size_t>(narrow ? width - std::min(width, kOtherColumns) : 24, 8);
  std::string text =
      narrow
          ? fmt::format("{:>8} {:<{}.{}} {:>6} {:>12} {:>6} {:>10}\n", "pid", "model", names, names,
                        "state", "requests/s", "busy", "p99")
          : fmt::format(
                "{:>8} {:<24} {:>3} {:>6} {:>12} {:>12} {:>6} {:>9} {:>9} {:>10} {:>10} {:>10}\n",
                "pid", "model", "rep", "state", "requests/s", "runs/s", "busy", "in flight",
                "failed", "p50", "p99", "max");
  std::map<std::string, Sample> now;
  for (const auto& s : segments) {
    const auto& requests = s["requests"];
    const auto& latency = s["latency_ns"];
    const std::string name = printable(s["name"].get<std::string>()),
                      key = fmt::format("{} {}", to_text(s["pid"]), to_text(s["started_ns"]));
    Sample sample{s["sampled_ns"], s["runs"], s["busy_ns"], requests["completed"]};
    if (s.contains("generator")) {
      sample.prompt_tokens = s["generator"]["prompt_tokens"];
      sample.decode_tokens = s["generator"]["decode_tokens"];
    }
    const auto found = before_.find(key);
    const Sample last = found == before_.end() ? Sample{s["started_ns"]} : found->second;
    const double elapsed = std::max(sample.ns - last.ns, 1.0);
    now[key] = sample;
    if (narrow) {
      text += fmt::format(
          "{:>8} {:<{}.{}} {:>6} {:>12.1f} {:>5.1f}% {:>10}\n", s["pid"].get<uint64_t>(), name,
          names, names, s["alive"].get<bool>() ? "alive" : "dead",
          (sample.completed - last.completed) / elapsed * 1e9,
          (sample.busy_ns - last.busy_ns) / elapsed * 100, duration(latency["p99"]));
    } else {
      text +=
          fmt::format("{:>8} {:<24.24} {:>3} {:>6} {:>12.1f} {} {:>9} {:>9} {:>10} {:>10} {:>10}\n",
                      s["pid"].get<uint64_t>(), name, s["replica"].get<uint32_t>(),
                      s["alive"].get<bool>() ? "alive" : "dead",
                      (sample.completed - last.completed) / elapsed * 1e9, rates(sample, last),
                      requests["in_flight"].get<uint64_t>(), requests["failed"].get<uint64_t>(),
                      duration(latency["p50"]), duration(latency["p99"]), duration(latency["max"]));
    }
    text += generator(s, sample, last);
    text += variants(s, sample, last, key, now);
    for (const auto& q : s["queues"])
      text += fmt::format("{:>8} {:<6} {:<36.36} fill {:>6} of {:<6} high water {:<6} stalls {}\n",
                          "", printable(q["direction"].get<std::string>()),
                          printable(q["name"].get<std::string>()), q["fill"].get<uint64_t>(),
                          q["capacity"].get<uint64_t>(), q["high_water"].get<uint64_t>(),
                          q["stalls"].get<uint64_t>());
  }
  before_ = std::move(now);
  return narrow ? cut_lines(text, width) : text;
}

}  // namespace poprt::cli
