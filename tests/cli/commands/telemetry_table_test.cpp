#include "exec/support/telemetry_table.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

namespace poprt::cli {
namespace {

using Json = nlohmann::json;

// A session that started when the clock was at one second.
Json session(double seconds, double runs, double busy_ns, double completed) {
  return {{"pid", 321},
          {"name", "net"},
          {"replica", 2},
          {"alive", true},
          {"started_ns", 1'000'000'000},
          {"sampled_ns", 1'000'000'000 + seconds * 1e9},
          {"runs", runs},
          {"busy_ns", busy_ns},
          {"requests", {{"completed", completed}, {"in_flight", 7}, {"failed", 5}}},
          {"latency_ns", {{"p50", 999}, {"p99", 1000}, {"max", 1'000'000}}},
          {"queues", Json::array()}};
}

// Words of each row, without the heading.
std::vector<std::vector<std::string>> rows(const std::string& text) {
  std::vector<std::vector<std::string>> found;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "     pid model                    rep  state   requests/s       runs/s   busy in "
            "flight    failed        p50        p99        max");
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    found.emplace_back(std::istream_iterator<std::string>(words),
                       std::istream_iterator<std::string>());
  }
  return found;
}

using Words = std::vector<std::string>;

Json all(const std::vector<Json>& sessions) { return Json(sessions); }

TEST(TelemetryTable, RatesAreSinceTheStartAndThenSinceTheLookBefore) {
  TelemetryTable table;
  EXPECT_EQ(rows(table.text(all({session(2, 100, 5e8, 60)})))[0],
            (Words{"321", "net", "2", "alive", "30.0", "50.0", "25.0%", "7", "5", "999", "ns",
                   "1.0", "us", "1.0", "ms"}));
  const Words next = rows(table.text(all({session(2.5, 130, 7e8, 70)})))[0];
  EXPECT_EQ(Words(next.begin() + 4, next.begin() + 7), (Words{"20.0", "60.0", "40.0%"}));
  const Words still = rows(table.text(all({session(3.5, 130, 7e8, 70)})))[0];
  EXPECT_EQ(Words(still.begin() + 4, still.begin() + 7), (Words{"0.0", "0.0", "0.0%"}));
}

TEST(TelemetryTable, AGeneratorHasSlotsTokensAndCaches) {
  const auto generator = [](double seconds, double prompt_tokens, double decode_tokens) {
    Json s = session(seconds, 100, 5e8, 60);
    s["generator"] = {{"slots", 4},
                      {"busy", 3},
                      {"waiting", 2},
                      {"ended", 5},
                      {"prompt_tokens", prompt_tokens},
                      {"decode_tokens", decode_tokens},
                      {"places", 256},
                      {"used_places", 64},
                      {"cache_bytes", 3 << 19}};
    return s;
  };
  TelemetryTable table;
  const auto first = rows(table.text(all({generator(2, 600, 100)})));
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[1], (Words{"slots", "3", "of", "4", "busy,", "2", "waiting,", "5", "ended;",
                             "tokens/s:", "prompts", "300.0,", "decoding", "50.0"}));
  EXPECT_EQ(first[2], (Words{"cache", "64", "of", "256", "places", "(25.0%),", "1.5", "MiB"}));
  const auto next = rows(table.text(all({generator(2.5, 600, 150)})));
  EXPECT_EQ(Words(next[1].end() - 3, next[1].end()), (Words{"0.0,", "decoding", "100.0"}));
}

TEST(TelemetryTable, TwoReadingsAtOneTimeDoNotDivideByZero) {
  TelemetryTable table;
  const Words row = rows(table.text(all({session(0, 0, 0, 0)})))[0];
  EXPECT_EQ(Words(row.begin() + 4, row.begin() + 7), (Words{"0.0", "0.0", "0.0%"}));
  const Words busy =
      rows(TelemetryTable().text(all({session(0, 5, 0, 3)})))[0];  // rates as if 1 ns had passed
  EXPECT_EQ(Words(busy.begin() + 4, busy.begin() + 6), (Words{"3000000000.0", "5000000000.0"}));
}

// Another process may have the id of one that ended, but not the same start.
TEST(TelemetryTable, DistinguishesSessionsByProcessAndStart) {
  TelemetryTable table;
  Json other = session(1, 10, 0, 0), third = session(1, 40, 0, 0);
  other["pid"] = 322;
  third["started_ns"] = 1'500'000'000;
  third["alive"] = false;
  table.text(all({session(1, 100, 0, 0), other}));
  const auto found = rows(table.text(all({session(2, 150, 0, 0), other, third})));
  EXPECT_EQ(found[0][5], "50.0");
  EXPECT_EQ(found[1][5], "0.0");
  EXPECT_EQ(found[2][5], "80.0");
  EXPECT_EQ(found[0][3], "alive");
  EXPECT_EQ(found[2][3], "dead");
  // A session that has ended is forgotten.
  table.text(Json::array());
  EXPECT_EQ(rows(table.text(all({session(4, 150, 0, 0)})))[0][5], "37.5");
}

TEST(TelemetryTable, FitsNarrowWidthsAndReportsAnEmptyTable) {
  TelemetryTable table;
  EXPECT_NE(table.text(Json::array()).find("no process publishes telemetry"), std::string::npos);
  for (const size_t width : {40, 60, 80, 130}) {
    std::istringstream lines(table.text(all({session(2, 150, 5e8, 70)}), width));
    size_t count = 0;
    for (std::string line; std::getline(lines, line); count++)
      EXPECT_LE(line.size(), width) << line;
    EXPECT_GE(count, 2U);
  }
  EXPECT_NE(table.text(all({session(3, 200, 6e8, 90)}), 80).find("alive"), std::string::npos);
}

TEST(TelemetryTable, TimesHaveUnits) {
  const std::pair<double, Words> times[] = {{0, {"0", "ns"}},
                                            {999, {"999", "ns"}},
                                            {1e3, {"1.0", "us"}},
                                            {999'900, {"999.9", "us"}},
                                            {1e6, {"1.0", "ms"}},
                                            {2.5e8, {"250.0", "ms"}},
                                            {999'900'000, {"999.9", "ms"}},
                                            {1e9, {"1.0", "s"}},
                                            {61e9, {"61.0", "s"}}};
  for (const auto& [ns, words] : times) {
    Json s = session(1, 1, 1, 1);
    for (const char* at : {"p50", "p99", "max"}) {
      s["latency_ns"] = {{"p50", 1}, {"p99", 2}, {"max", 3}};
      s["latency_ns"][at] = ns;
      const Words row = rows(TelemetryTable().text(all({s})))[0];
      const auto place = row.begin() + (at == std::string("p50") ? 9 : at[0] == 'p' ? 11 : 13);
      EXPECT_EQ(Words(place, place + 2), words) << at;
    }
  }
}

TEST(TelemetryTable, VariantsHaveSeparateRates) {
  TelemetryTable table;
  const auto with = [](Json s, double first, double second) {
    s["branches"] = {{{"name", "one"}, {"runs", first}, {"busy_ns", 1e8 * first}},
                     {{"name", "two"}, {"runs", second}, {"busy_ns", 0}}};
    return s;
  };
  auto found = rows(table.text(all({with(session(2, 9, 0, 0), 4, 6)})));
  ASSERT_EQ(found.size(), 3);
  EXPECT_EQ(found[1], (Words{"variant", "one", "2.0", "20.0%"}));
  EXPECT_EQ(found[2], (Words{"variant", "two", "3.0", "0.0%"}));
  found = rows(table.text(all({with(session(4, 9, 0, 0), 5, 16)})));
  EXPECT_EQ(found[1], (Words{"variant", "one", "0.5", "5.0%"}));
  EXPECT_EQ(found[2], (Words{"variant", "two", "5.0", "0.0%"}));
}

TEST(TelemetryTable, QueuesFollowTheirSession) {
  Json s = session(1, 1, 1, 1);
  s["queues"] = {{{"direction", "input"},
                  {"name", "image"},
                  {"fill", 1},
                  {"capacity", 2},
                  {"high_water", 3},
                  {"stalls", 4}}};
  const auto found = rows(TelemetryTable().text(all({s})));
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[1],
            (Words{"input", "image", "fill", "1", "of", "2", "high", "water", "3", "stalls", "4"}));
}

TEST(TelemetryTable, NamesStayOnTheirLine) {
  Json s = session(1, 1, 1, 1);
  s["name"] = "a\nb";
  s["branches"] = {{{"name", "c\x1b[2J"}, {"runs", 1}, {"busy_ns", 1}}};
  s["queues"] = {{{"direction", "in\n"},
                  {"name", "q\r"},
                  {"fill", 1},
                  {"capacity", 2},
                  {"high_water", 3},
                  {"stalls", 4}}};
  const auto found = rows(TelemetryTable().text(all({s})));
  ASSERT_EQ(found.size(), 3);
  EXPECT_EQ(found[0][1], "a\\x0ab");
  EXPECT_EQ(found[1][1], "c\\x1b[2J");
  EXPECT_EQ(found[2][1], "q\\x0d");
}

}  // namespace
}  // namespace poprt::cli
