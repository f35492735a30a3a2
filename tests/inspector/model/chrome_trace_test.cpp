#include "model/chrome_trace.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "inspector/sample_files.h"

namespace poprt::inspector {
namespace {

TEST(ChromeTrace, InstructionsFollowEachOther) {
  const auto made = compiled(kSampleText);
  const ProgramModel program(made.program);
  ProgramProfile profile;
  double all = 0;
  for (size_t i = 0; i < made.program.main.size(); i++) {
    profile.instructions.push_back(1000.0 * static_cast<double>(i + 1));
    all += profile.instructions.back();
  }
  const auto json = parse_json(chrome_trace(program, profile, "net"));
  double at = 0;
  size_t spans = 0, counters = 0;
  for (const auto& e : json.at("traceEvents")) {
    if (e.at("ph") == "C") counters++;
    if (e.at("ph") != "X") continue;
    EXPECT_NEAR(e.at("ts").get<double>(), at, 1e-6);
    at += e.at("dur").get<double>();
    EXPECT_EQ(e.at("cat"), e.at("args").at("kernel"));
    spans++;
  }
  EXPECT_EQ(spans, made.program.main.size());
  EXPECT_EQ(counters, program.live_bytes().size());
  EXPECT_NEAR(at, all / 1e3, 1e-6);
  EXPECT_EQ(json.at("traceEvents")[0].at("args").at("name"), "net");
}

TEST(ChromeTrace, TelemetryHasCountersAndInstants) {
  TelemetryHistory h;
  for (int i = 0; i < 5; i++) {
    runtime::TelemetrySnapshot s;
    s.name = "net";
    s.pid = 7;
    s.alive = true;
    s.completed = static_cast<uint64_t>(i) * 10;
    s.in_flight = 2;
    s.queues.push_back({"x", false, 8, 3, 4, s.completed, s.completed, 0});
    h.add(100 + i, {s});
  }
  h.mark(102.5, "here");
  const auto json = parse_json(chrome_trace(h));
  size_t fills = 0, instants = 0;
  for (const auto& e : json.at("traceEvents")) {
    if (e.at("ph") == "C" && e.at("name") == "queue x") {
      EXPECT_EQ(e.at("args").at("elements"), 3);
      EXPECT_NEAR(e.at("ts").get<double>(), 1e6 * static_cast<double>(fills++), 1);
    }
    if (e.at("ph") != "i") continue;
    instants++;
    if (e.at("name") == "here") EXPECT_NEAR(e.at("ts").get<double>(), 2.5e6, 1);
  }
  EXPECT_EQ(fills, 5u);
  EXPECT_EQ(instants, 2u) << "the process was found, and the mark";
  EXPECT_EQ(parse_json(chrome_trace(TelemetryHistory{})).at("traceEvents").size(), 0u);
}

}  // namespace
}  // namespace poprt::inspector
