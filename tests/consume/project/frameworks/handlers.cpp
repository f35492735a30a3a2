// A session with a handler for each tensor, whose programs run in a thread until stop().
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <iostream>
#include <memory>
#include <model_runtime/Device.hpp>
#include <model_runtime/DeviceManager.hpp>
#include <model_runtime/Session.hpp>
#include <model_runtime/SessionUtils.hpp>
#include <mutex>
#include <popef/ModelBuilder.hpp>
#include <popef/Types.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

// Values that one thread gives to another.
class Channel {
 public:
  void put(std::vector<char> value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    values_.push_back(std::move(value));
    changed_.notify_all();
  }
  bool take(std::vector<char>& value) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || !values_.empty(); });
    if (values_.empty()) return false;
    value = std::move(values_.front());
    values_.erase(values_.begin());
    return true;
  }
  void end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<char>> values_;
  bool ended_ = false;
};

class Source : public model_runtime::StreamCallback {
 public:
  explicit Source(Channel& from) : from_(from) {}
  bool fetch(void* data, std::size_t bytes) noexcept override {
    std::vector<char> value;
    if (!from_.take(value) || value.size() != bytes) return false;
    std::memcpy(data, value.data(), bytes);
    return true;
  }
  void interrupt() noexcept override { from_.end(); }

 private:
  Channel& from_;
};

class Sink : public model_runtime::StreamCallback {
 public:
  explicit Sink(Channel& to) : to_(to) {}
  bool fetch(void* data, std::size_t bytes) noexcept override {
    const char* first = static_cast<const char*>(data);
    to_.put({first, first + bytes});
    return true;
  }

 private:
  Channel& to_;
};

model_runtime::AnchorCallbackPredicate filterMainOrEmpty(const popef::ProgramFlow& flow) {
  static constexpr auto accept = model_runtime::AnchorCallbackPolicy::BIND_USER_CB;
  static constexpr auto reject = model_runtime::AnchorCallbackPolicy::BIND_EMPTY_CB;
  using namespace model_runtime::predicate_factory::anchor_callbacks;
  return orBind(accept, reject, predProgramFlowMain(flow, accept, reject),
                predProgramNotAssigned(accept, reject));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto reader = std::make_shared<popef::Reader>();
  reader->parseFile(argv[1]);
  const auto model = popef::ModelBuilder(reader).createModel();
  const popef::Metadata::ProgramsMap& programs = model->metadata.programsMap();
  static_assert(
      std::is_same_v<popef::Metadata::ProgramsMap, std::unordered_map<std::uint32_t, std::string>>);
  for (const std::uint32_t index : model->metadata.programFlow().main())
    if (programs.count(index) == 0) return 3;

  model_runtime::DeviceManager manager;
  model_runtime::SessionConfig config;
  config.predicate = filterMainOrEmpty(model->metadata.programFlow());
  config.wait_config = model_runtime::DeviceWaitConfig(std::chrono::seconds(30));
  config.device = manager.createIpuModelDevice(model);
  model_runtime::Session session(model, config);

  Channel in, out;
  for (const popef::Anchor& a : session.getUserInputAnchors())
    session.setUserInputHandler(a.name(), std::make_shared<Source>(in));
  for (const popef::Anchor& a : session.getUserOutputAnchors())
    session.setUserOutputHandler(a.name(), std::make_shared<Sink>(out));
  session.verifyConnected();
  session.runLoadPrograms();
  std::atomic<bool> stop{false};
  std::thread main([&] {
    while (!stop) session.runMainPrograms();
  });
  const std::vector<float> x = {-3, -2, -1, 0, 1, 2};
  const auto* bytes = reinterpret_cast<const char*>(x.data());
  in.put({bytes, bytes + x.size() * sizeof(float)});
  std::vector<char> y;
  if (!out.take(y)) return 4;
  stop = true;
  session.stop();
  main.join();

  std::cout << "y:";
  for (std::size_t i = 0; i < y.size() / sizeof(float); i++) {
    float value;
    std::memcpy(&value, y.data() + i * sizeof value, sizeof value);
    std::cout << ' ' << value;
  }
  std::cout << '\n';
}
