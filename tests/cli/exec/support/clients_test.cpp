#include "exec/support/clients.h"

#include <atomic>

#include "cli/command_line.h"

namespace poprt::cli {
namespace {

TEST(Clients, EachWorksOnce) {
  std::vector<std::atomic<int>> calls(5);
  run_clients(5, [&](size_t i) { calls[i]++; });
  for (const auto& c : calls) EXPECT_EQ(c, 1);
  EXPECT_NO_THROW(run_clients(0, [](size_t) { throw std::runtime_error("called"); }));
}

TEST(Clients, TheFirstThatFailsIsHeardOnceAllHaveEnded) {
  std::atomic<int> ended = 0;
  EXPECT_EQ(message_of<Failure>([&] {
              run_clients(4, [&](size_t i) {
                ended++;
                if (i % 2) throw std::runtime_error("client " + std::to_string(i));
              });
            }),
            "client 1");
  EXPECT_EQ(ended, 4);
}

}  // namespace
}  // namespace poprt::cli
