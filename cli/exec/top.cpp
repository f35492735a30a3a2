// poprt_exec top: what sessions of other processes do, from their telemetry.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "common/arguments.h"
#include "common/json.h"
#include "exec/commands.h"
#include "poprt/telemetry.h"

namespace poprt::cli {
namespace {

struct TopSettings {
  std::string folder;
  bool json = false;
  double interval = 1;
  int64_t count = 0;
};

std::string read(const TopSettings& s) {
  poprt_string* text = nullptr;
  check(poprt_telemetry_read(s.folder.empty() ? nullptr : s.folder.c_str(), &text));
  const std::unique_ptr<poprt_string, decltype(&poprt_string_free)> owner(text, poprt_string_free);
  return {poprt_string_data(text), poprt_string_size(text)};
}

std::string duration(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.1f} ms", ns / 1e6);
  return fmt::format("{:.1f} s", ns / 1e9);
}

struct Sample {
  double ns = 0, runs = 0, busy_ns = 0, completed = 0;
};

// What ran since the sample before, a second, and the part of the time that it took.
std::string rates(const Sample& now, const Sample& last) {
  const double elapsed = std::max(now.ns - last.ns, 1.0);
  return fmt::format("{:>12.1f} {:>5.1f}%", (now.runs - last.runs) / elapsed * 1e9,
                     (now.busy_ns - last.busy_ns) / elapsed * 100);
}

// The models or shapes of an executable that has several.
void print_branches(const nlohmann::json& segment, const Sample& of, const Sample& last_of,
                    const std::string& key, const std::map<std::string, Sample>& before,
                    std::map<std::string, Sample>& now) {
  if (!segment.contains("branches")) return;
  size_t index = 0;
  for (const auto& b : segment["branches"]) {
    const std::string own = fmt::format("{} branch {}", key, index++);
    const auto last = before.find(own);
    now[own] = {of.ns, b["runs"], b["busy_ns"]};
    fmt::print("{:>8} branch {:<41.41} {}\n", "", b["name"].get<std::string>(),
               rates(now[own], last == before.end() ? Sample{last_of.ns} : last->second));
  }
}

// Rates are those since the sample before, or since the start of the segment.
void print(const nlohmann::json& segments, std::map<std::string, Sample>& before) {
  fmt::print("{:>8} {:<24} {:>3} {:>6} {:>12} {:>12} {:>6} {:>9} {:>9} {:>10} {:>10} {:>10}\n",
             "pid", "model", "rep", "state", "requests/s", "runs/s", "busy", "in flight", "failed",
             "p50", "p99", "max");
  std::map<std::string, Sample> now;
  for (const auto& s : segments) {
    const auto& requests = s["requests"];
    const auto& latency = s["latency_ns"];
    const std::string name = s["name"],
                      key = fmt::format("{} {}", to_text(s["pid"]), to_text(s["started_ns"]));
    const Sample sample{s["sampled_ns"], s["runs"], s["busy_ns"], requests["completed"]};
    Sample last = before.count(key) ? before[key] : Sample{s["started_ns"]};
    const double elapsed = std::max(sample.ns - last.ns, 1.0);
    now[key] = sample;
    fmt::print("{:>8} {:<24.24} {:>3} {:>6} {:>12.1f} {} {:>9} {:>9} {:>10} {:>10} {:>10}\n",
               s["pid"].get<uint64_t>(), name, s["replica"].get<uint32_t>(),
               s["alive"].get<bool>() ? "alive" : "dead",
               (sample.completed - last.completed) / elapsed * 1e9, rates(sample, last),
               requests["in_flight"].get<uint64_t>(), requests["failed"].get<uint64_t>(),
               duration(latency["p50"]), duration(latency["p99"]), duration(latency["max"]));
    print_branches(s, sample, last, key, before, now);
    for (const auto& q : s["queues"])
      fmt::print("{:>8} {:<6} {:<36.36} fill {:>6} of {:<6} high water {:<6} stalls {}\n", "",
                 q["direction"].get<std::string>(), q["name"].get<std::string>(),
                 q["fill"].get<uint64_t>(), q["capacity"].get<uint64_t>(),
                 q["high_water"].get<uint64_t>(), q["stalls"].get<uint64_t>());
  }
  before = std::move(now);
  std::fflush(stdout);
}

int run(const TopSettings& s) {
  std::map<std::string, Sample> before;
  const bool screen = !s.json && isatty(STDOUT_FILENO);
  const int64_t count = s.count > 0 ? s.count : screen ? INT64_MAX : 1;
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::duration<double>(s.interval));
    const std::string text = read(s);
    if (s.json) {
      fmt::print("{}\n", text);
      std::fflush(stdout);
    } else {
      if (screen) fmt::print("\x1b[H\x1b[2J");
      print(parse_json(text), before);
    }
  }
  return 0;
}

}  // namespace

void add_top(Command& app, std::function<int()>& action) {
  auto* command = app.add_command(
      "top", "Show what sessions of other processes do (those with POPRT_TELEMETRY=1).");
  auto s = std::make_shared<TopSettings>();
  command->add_option(
      "--folder", s->folder,
      "Where they publish; default POPRT_TELEMETRY_DIR or the user's runtime folder");
  command->add_flag("--json", s->json, "As JSON");
  command->add_option("--interval", s->interval, "Seconds between two looks; default 1")
      ->check(between(0.01, 3600.0));
  command
      ->add_option("--count", s->count,
                   "How many looks; default: without end on a terminal, else one")
      ->check(at_least<int64_t>(1));
  command->callback([s, &action] { action = [s] { return run(*s); }; });
}

}  // namespace poprt::cli
