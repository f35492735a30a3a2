#include "exec/support/latencies.h"

#include <gtest/gtest.h>

namespace poprt::cli {
namespace {

TEST(Latencies, QuantilesOfAHundred) {
  std::vector<double> ms;
  for (int i = 0; i < 100; i++) ms.push_back((i * 37) % 100);  // 0 to 99 in some order
  const Latencies latencies(ms, 8);
  EXPECT_EQ(latencies.count(), 100);
  EXPECT_EQ(latencies.json(), (nlohmann::json{{"requests", 100},
                                              {"min_ms", 0.0},
                                              {"median_ms", 50.0},
                                              {"p90_ms", 90.0},
                                              {"p99_ms", 99.0},
                                              {"max_ms", 99.0},
                                              {"requests_per_second", 12.5}}));
}

TEST(Latencies, QuantilesOfAThousandAsText) {
  std::vector<double> ms;
  for (int i = 0; i < 1000; i++) ms.push_back(1000 - i);
  EXPECT_EQ(Latencies(ms, 0.5).json()["p99_ms"], 991);
  EXPECT_EQ(Latencies(ms, 0.5).text(),
            "latency ms: min 1.0000  median 501.0000  p90 901.0000  p99 991.0000  max 1000.0000\n"
            "throughput: 2000.0 requests/s\n");
}

TEST(Latencies, OneRequestIsEveryQuantile) {
  EXPECT_EQ(Latencies({0.25}, 2).text(),
            "latency ms: min 0.2500  median 0.2500  p90 0.2500  p99 0.2500  max 0.2500\n"
            "throughput: 0.5 requests/s\n");
}

}  // namespace
}  // namespace poprt::cli
