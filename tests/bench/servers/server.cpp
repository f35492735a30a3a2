// The server in C++ of `servers`. Each client is a thread that keeps requests in flight. Requests
// with limits are waited for in the order of their limits.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <poprt/poprt.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace poprt::runtime;
using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr int kClients = 4, kInFlight = 4;
constexpr microseconds kLimit{100};

struct Counts {
  long ok = 0, late = 0, cancelled = 0, wrong = 0;
};

struct Job {
  explicit Job(size_t bytes) : y(bytes) {}
  std::vector<char> y;
  std::unique_ptr<Request> request;
};

class Server {
 public:
  explicit Server(const std::string& path) : runner_(path, config()) {
    const auto in = runner_.getExecuteInputs().at(0), out = runner_.getExecuteOutputs().at(0);
    y_name_ = out.name;
    y_bytes_ = static_cast<size_t>(out.sizeInBytes);
    x_.resize(static_cast<size_t>(in.sizeInBytes) / sizeof(float));
    for (size_t i = 0; i < x_.size(); i++) x_[i] = static_cast<float>(i % 17) / 16;
    inputs_[in.name] = {x_.data(), x_.size() * sizeof(float)};
    expected_.resize(y_bytes_);
    runner_.execute(inputs_, outputs(expected_));
  }

  Counts serve(long requests, long late_every, long cancel_every) {
    std::vector<Counts> each(kClients);
    std::vector<std::thread> threads;
    for (Counts& c : each)
      threads.emplace_back([&] { client(c, requests, late_every, cancel_every); });
    Counts all;
    for (size_t i = 0; i < each.size(); i++) {
      threads[i].join();
      all.ok += each[i].ok;
      all.late += each[i].late;
      all.cancelled += each[i].cancelled;
      all.wrong += each[i].wrong;
    }
    return all;
  }

  void wait(long count, double first_ms, double last_ms) {
    struct Waiting {
      Job job;
      Clock::time_point deadline;
    };
    std::vector<Waiting> all;
    all.reserve(static_cast<size_t>(count));
    const auto begin = Clock::now();
    for (long i = 0; i < count; i++) {
      const double ms =
          first_ms + (last_ms - first_ms) * static_cast<double>(i) / static_cast<double>(count);
      const microseconds limit(static_cast<int64_t>(ms * 1000));
      all.push_back({Job(y_bytes_), Clock::now() + limit});
      submit(all.back().job, limit);
    }
    const auto submitted = Clock::now() - begin;
    Counts c;
    Clock::duration worst{0};
    Clock::time_point ran{};
    long over = 0, early = 0;
    for (Waiting& w : all) {
      const long before = c.late;
      take(w.job, 1, c);
      if (c.late == before) {
        ran = Clock::now();  // the later ones were reported in time, and are checked now
        continue;
      }
      const auto late = Clock::now() - std::max(w.deadline, ran);
      worst = std::max(worst, late);
      over += late > std::chrono::milliseconds(5);
      early += late < Clock::duration(0);
    }
    std::printf("submit_us=%ld ok=%ld late=%ld cancelled=%ld worst_us=%ld over_5ms=%ld early=%ld\n",
                us(submitted), c.ok, c.late, c.cancelled, us(worst), over, early);
  }

  static long us(Clock::duration d) {
    return static_cast<long>(std::chrono::duration_cast<microseconds>(d).count());
  }

 private:
  static RuntimeConfig config() {
    RuntimeConfig c;
    c.threads = 1;
    return c;
  }
  OutputMemoryView outputs(std::vector<char>& y) const {
    OutputMemoryView view;
    view[y_name_] = {y.data(), y.size()};
    return view;
  }
  void submit(Job& job, microseconds limit) {
    job.request = std::make_unique<Request>(
        runner_.submit(inputs_, outputs(job.y), limit, POPRT_WHEN_FULL_LINE));
  }
  void take(Job& job, long number, Counts& c) {
    try {
      job.request->wait();
      c.ok++;
      if (number % 64 == 0) c.wrong += job.y != expected_;
    } catch (const poprt::Error& e) {
      if (e.code() == poprt::ErrorCode::deadline_exceeded) {
        c.late++;
      } else if (e.code() == poprt::ErrorCode::cancelled) {
        c.cancelled++;
      } else {
        throw;
      }
    }
  }
  void client(Counts& c, long requests, long late_every, long cancel_every) {
    std::vector<Job> ring;
    for (int i = 0; i < kInFlight; i++) ring.emplace_back(y_bytes_);
    for (long i = 0; i < requests + kInFlight; i++) {
      Job& j = ring[static_cast<size_t>(i) % kInFlight];
      if (i >= kInFlight) take(j, i - kInFlight, c);
      if (i >= requests) continue;
      submit(j, late_every && i % late_every == 1 ? kLimit : microseconds(0));
      if (cancel_every && i % cancel_every == 2) j.request->cancel();
    }
  }

  Runner runner_;
  std::string y_name_;
  size_t y_bytes_ = 0;
  std::vector<float> x_;
  std::vector<char> expected_;
  InputMemoryView inputs_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 6) return 2;
  Server server(argv[1]);
  if (argv[2] == std::string("wait")) {
    server.wait(std::atol(argv[3]), std::atof(argv[4]), std::atof(argv[5]));
    return 0;
  }
  const long requests = std::atol(argv[3]);
  server.serve(requests / 4, 0, 0);
  const auto cpu = std::clock();
  const auto wall = Clock::now();
  const Counts c = server.serve(requests, std::atol(argv[4]), std::atol(argv[5]));
  std::printf("cpu_us=%ld wall_us=%ld ok=%ld late=%ld cancelled=%ld wrong=%ld\n",
              static_cast<long>(std::clock() - cpu), Server::us(Clock::now() - wall), c.ok, c.late,
              c.cancelled, c.wrong);
  return 0;
} catch (const poprt::Error& e) {
  std::cerr << "server: " << e.what() << "\n";
  return 1;
}
