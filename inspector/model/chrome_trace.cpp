#include "model/chrome_trace.h"

#include <algorithm>

#include "base/json.h"

namespace poprt::inspector {
namespace {

nlohmann::json process_name(size_t pid, const std::string& name) {
  return {{"name", "process_name"}, {"ph", "M"}, {"pid", pid}, {"args", {{"name", name}}}};
}

std::string document_of(nlohmann::json events) {
  return json_text(
             nlohmann::json({{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}})) +
         "\n";
}

nlohmann::json counter(size_t pid, const std::string& name, double us, nlohmann::json values) {
  return {{"name", name}, {"ph", "C"}, {"pid", pid}, {"ts", us}, {"args", std::move(values)}};
}

void add_series(const TelemetrySeries& s, size_t pid, double begin, nlohmann::json& events) {
  events.push_back(process_name(pid, s.title()));
  const auto us = [&](double time) { return (time - begin) * 1e6; };
  for (const TelemetrySample& t : s.samples) {
    const double at = us(t.time);
    events.push_back(
        counter(pid, "requests per second", at, {{"requests", t.requests_per_second}}));
    events.push_back(counter(pid, "in flight", at, {{"requests", t.in_flight}}));
    events.push_back(counter(pid, "busy", at, {{"part", t.busy}}));
    if (t.p50_ns >= 0)
      events.push_back(
          counter(pid, "latency, us", at,
                  {{"p50", t.p50_ns / 1e3}, {"p90", t.p90_ns / 1e3}, {"p99", t.p99_ns / 1e3}}));
    for (size_t q = 0; q < std::min(s.queues.size(), t.queues.size()); q++)
      events.push_back(
          counter(pid, "queue " + s.queues[q].name, at, {{"elements", t.queues[q].fill}}));
  }
  for (const TelemetryEvent& e : s.events)
    events.push_back(
        {{"name", e.text}, {"ph", "i"}, {"s", "p"}, {"pid", pid}, {"tid", 0}, {"ts", us(e.time)}});
}

}  // namespace

std::string chrome_trace(const ProgramModel& program, const ProgramProfile& profile,
                         const std::string& name) {
  nlohmann::json events = nlohmann::json::array();
  events.push_back(process_name(1, name));
  double at = 0;  // ns
  for (const InstructionRow& row : program.instructions()) {
    if (row.flow != "main" || row.index >= profile.instructions.size()) continue;
    const double ns = profile.instructions[row.index];
    if (row.index < program.live_bytes().size())
      events.push_back(
          counter(1, "arena in use", at / 1e3, {{"bytes", program.live_bytes()[row.index]}}));
    if (ns <= 0) continue;
    events.push_back({{"name", row.name.empty() ? row.kernel : row.name},
                      {"cat", row.kernel},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", at / 1e3},
                      {"dur", ns / 1e3},
                      {"args",
                       {{"kernel", row.kernel},
                        {"instruction", row.index},
                        {"weight_bytes", row.weight_bytes}}}});
    at += ns;
  }
  return document_of(std::move(events));
}

std::string chrome_trace(const TelemetryHistory& history) {
  nlohmann::json events = nlohmann::json::array();
  const double begin = history.first_time();
  for (size_t i = 0; i < history.series().size(); i++)
    add_series(history.series()[i], i + 1, begin, events);
  for (const TelemetryEvent& mark : history.marks())
    events.push_back({{"name", mark.text},
                      {"ph", "i"},
                      {"s", "g"},
                      {"pid", 0},
                      {"tid", 0},
                      {"ts", (mark.time - begin) * 1e6}});
  return document_of(std::move(events));
}

}  // namespace poprt::inspector
