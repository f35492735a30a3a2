#include "exec/support/clients.h"

#include <fmt/format.h>

#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "common/abi.h"

namespace poprt::cli {

void run_clients(size_t count, const std::function<void(size_t)>& work) {
  std::vector<std::string> errors(count);
  std::string missing;
  {
    std::vector<std::jthread> threads;
    try {
      for (size_t i = 0; i < count; i++)
        threads.emplace_back([&, i] {
          try {
            work(i);
          } catch (const std::exception& e) {
            errors[i] = e.what();
          }
        });
    } catch (const std::system_error& e) {
      missing = fmt::format("cannot start {} client threads, only {}: {}", count, threads.size(),
                            e.what());
    }
  }
  if (!missing.empty()) throw Failure(missing);
  for (const std::string& e : errors)
    if (!e.empty()) throw Failure(e);
}

}  // namespace poprt::cli
