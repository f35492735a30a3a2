// The calls of sessions to callbacks, with their order and values, recorded: flows and programs of
// models whose inputs come from the caller, the file or a feed, and whose weights the save program
// returns; with data that is available ahead of time, in memory of the callback, or missing; and
// the messages for unknown names, sizes and programs.
//
//   POPRT_WRITE_RECORDS=1 test_runtime --gtest_filter='RecordedSessions.*'   # then read the diff
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.h"
#include "device/device_manager.h"
#include "runtime/queue/queue_manager.h"
#include "runtime/session/session.h"
#include "support/copy_model.h"
#include "support/recorded_lines.h"

namespace poprt::runtime {
namespace {

using test::CopyModel;

constexpr size_t kCount = 2;

// Records its calls. It gives numbers from `next` on.
struct Watched : StreamCallback {
  Watched(std::string n, bool in, std::vector<std::string>& to)
      : name(std::move(n)), is_input(in), calls(to) {}

  void record_call(const std::string& what) { calls.push_back(name + " " + what); }
  Result fetch(void* p) noexcept override {
    if (left-- == 0) {
      record_call("has nothing");
      return Result::not_available;
    }
    transfer(p, "fetch");
    return Result::success;
  }
  Result prefetch(void* p) noexcept override {
    if (!ahead) return Result::not_available;
    transfer(p, "prefetch");
    return Result::success;
  }
  void* acquire() noexcept override {
    if (!own) return nullptr;
    record_call("acquire");
    if (is_input) std::fill_n(mine, kCount, next);
    return mine;
  }
  void complete() noexcept override {
    if (own && !is_input) record_call(fmt::format("holds {}", mine[1]));
    record_call("complete");
    next++;
  }
  void invalidate_prefetched() noexcept override { record_call("invalidate"); }
  void interrupt() noexcept override { record_call("interrupt"); }
  void resume() noexcept override { record_call("resume"); }

  void transfer(void* p, const char* what) {
    auto* const values = static_cast<float*>(p);
    if (is_input) std::fill_n(values, kCount, next);
    record_call(fmt::format("{} {}", what, values[1]));
  }

  const std::string name;
  const bool is_input;
  std::vector<std::string>& calls;
  float next = 1, mine[kCount] = {};
  int left = 1000;
  bool ahead = false, own = false;
};

struct Kind {
  std::string name;
  uint64_t iterations = 1;
  uint32_t replicas = 1;
  bool weights = false;  // x has a value that the save program returns
  bool feed = false;     // x has three values
  bool ahead = false, own = false;
  int left = 1000;
  uint32_t copy = 0, copies = 1;
};

class RecordedSessions : public ::testing::Test {
 protected:
  // load: weights to the arena; main: x to y, and the arena to c; save: the arena to c.
  std::shared_ptr<const Model> model(const Kind& kind) {
    program::Program& p = copy.b.program();
    if (p.load.empty()) {
      const auto weights = p.main[2].operands[0], middle = p.main[0].operands[1];
      const auto x = p.main[0].operands[0], y = p.main[1].operands[1], c = p.main[2].operands[1];
      p.load = {p.main[2]};
      p.load[0].operands = {weights, middle};
      p.save = {p.main[2]};
      p.save[0].operands = {middle, c};
      p.main[0].operands = {x, y};
      p.main[1].operands = {middle, c};
      p.main.pop_back();
    }
    popef::Metadata m = make_metadata("m", p);
    m.setDeviceIterations(kind.iterations);
    m.setReplicationFactor(kind.replicas);
    m.setNumIpus(kind.replicas);
    for (popef::Anchor& a : m.anchors()) {
      a.setIsPerReplica(kind.replicas > 1 && a.name() != "c");
      if (a.isPerReplica())
        a.tensorInfo().shape().insert(a.tensorInfo().shape().begin(), kind.replicas);
    }
    std::vector<InputData> data;
    if (kind.weights || kind.feed)
      data.push_back({"x", std::as_bytes(std::span(values).first(kind.feed ? 6 : 2))});
    if (kind.weights) {
      popef::Anchor back = m.anchors()[0];
      back.setType(popef::TensorType::OUTPUT);
      back.setHandle("anchor_d2h_x");
      back.setPrograms({2});
      m.anchors().push_back(back);
    }
    return make_model("m", copy.image(), {}, {}, m, data);
  }

  std::string message_of_call(const std::function<void()>& f) {
    std::string text = "done";
    try {
      f();
    } catch (const Error& e) {
      text = fmt::format("{}: {}", error_code_name(e.code()), e.what());
    }
    for (const std::string& call : calls) text += "; " + call;
    calls.clear();
    return text;
  }

  void add(const std::string& heading, const std::string& line) {
    found[heading].insert(fmt::format("{:03} {}", found[heading].size(), line));
  }

  void run(const Kind& kind) {
    SessionConfig config;
    config.copy = kind.copy;
    config.copies = kind.copies;
    if (kind.replicas * kind.copies > 1)
      config.device = device::DeviceManager(8).create_ipu_model_device(
          static_cast<int>(kind.replicas * kind.copies));
    calls.clear();
    Session session(model(kind), config);
    const auto note = [&](const std::string& what, const std::function<void()>& f) {
      add(kind.name, what + ": " + message_of_call(f));
    };
    std::string users;
    for (const auto* a : session.user_input_anchors()) users += " " + a->name;
    users += " ->";
    for (const auto* a : session.user_output_anchors()) users += " " + a->name;
    add(kind.name, "users" + users);
    note("verify", [&] { session.verify_connected(); });
    note("main without callbacks", [&] { session.run_main_programs(); });
    note("load without callbacks", [&] { session.run_load_programs(); });
    std::vector<std::shared_ptr<Watched>> all;
    for (const char* name : {"x", "y", "c"}) {
      all.push_back(std::make_shared<Watched>(name, name[0] == 'x', calls));
      all.back()->ahead = kind.ahead;
      all.back()->own = kind.own;
      all.back()->left = kind.left;
      const bool given = name[0] == 'x' && !kind.weights && !kind.feed;
      if (given) note("connect", [&] { session.set_user_input_handler(name, all.back()); });
      if (name[0] != 'x')
        note("connect", [&] { session.set_user_output_handler(name, all.back()); });
    }
    if (kind.weights) {
      const auto back = std::make_shared<Watched>("returned x", false, calls);
      note("connect", [&] { session.set_user_output_handler("x", back); });
    }
    note("verify", [&] { session.verify_connected(); });
    for (const char* flow : {"load", "main", "main", "save", "main"})
      note(flow, [&] {
        flow[0] == 'l'   ? session.run_load_programs()
        : flow[0] == 'm' ? session.run_main_programs()
                         : session.run_save_programs();
      });
    for (const std::vector<uint32_t>& programs :
         {std::vector<uint32_t>{0, 1, 2}, {1, 1}, {2, 0}, {}, {1, 7}, {UINT32_MAX}})
      note(fmt::format("programs of {}", programs.size()), [&] { session.run_programs(programs); });
    const float more[] = {70, 80};
    for (const char* name : {"x", "w", ""})
      for (const uint64_t bytes : {8, 4, 12, 0})
        note(fmt::format("weights '{}' of {}", name, bytes),
             [&] { session.update_weights(name, {more, bytes}); });
    note("main", [&] { session.run_main_programs(); });
    note("save", [&] { session.run_save_programs(); });
    note("other callback", [&] {
      session.set_user_output_handler("y", std::make_shared<Watched>("other y", false, calls));
    });
    note("main", [&] { session.run_main_programs(); });
    const void* inputs[] = {kind.weights || kind.feed ? nullptr : more};
    float y[16] = {}, c[16] = {};
    void* outputs[] = {y, c};
    for (int i = 0; i < 2; i++) {
      note("by pointers", [&] { session.run_main_programs(inputs, outputs); });
      add(kind.name, fmt::format("gives {} {}", y[1], c[1] == copy.constants[1]));
    }
    note("stop", [&] { session.stop(); });
    note("stopped main", [&] { session.run_main_programs(); });
    note("stopped by pointers", [&] { session.run_main_programs(inputs, outputs); });
    note("reload", [&] { session.reload(); });
    note("main", [&] { session.run_main_programs(); });
    note("unload", [&] { session.unload_from_device(); });
    note("unloaded main", [&] { session.run_main_programs(); });
    note("unloaded profile", [&] { (void)session.profile(); });
    add(kind.name, fmt::format("loaded {}, {} stages, {} bytes of frame", session.is_loaded(),
                               session.stages(), session.frame_bytes()));
  }

  CopyModel copy{kCount};
  const std::vector<float> values = {10, 20, 30, 40, 50, 60};
  std::vector<std::string> calls;
  test::RecordedLines found;
};

TEST_F(RecordedSessions, CallCallbacksAsRecorded) {
  for (const Kind& kind :
       {Kind{.name = "plain"}, Kind{.name = "three iterations", .iterations = 3},
        Kind{.name = "two replicas", .iterations = 2, .replicas = 2},
        Kind{.name = "ahead", .iterations = 3, .ahead = true},
        Kind{.name = "ahead, two replicas", .iterations = 2, .replicas = 2, .ahead = true},
        Kind{.name = "in place", .iterations = 2, .own = true},
        Kind{.name = "in place and ahead", .iterations = 2, .ahead = true, .own = true},
        Kind{.name = "missing at once", .iterations = 2, .left = 0},
        Kind{.name = "missing later", .iterations = 3, .left = 4},
        Kind{.name = "missing, ahead", .iterations = 3, .ahead = true, .left = 2},
        Kind{.name = "weights", .weights = true},
        Kind{.name = "weights, two replicas", .replicas = 2, .weights = true},
        Kind{.name = "a feed", .iterations = 2, .feed = true},
        Kind{.name = "a feed, two replicas", .iterations = 2, .replicas = 2, .feed = true},
        Kind{.name = "a feed, second copy", .iterations = 2, .feed = true, .copy = 1, .copies = 2}})
    run(kind);
  test::expect_digests(found, POPRT_TEST_DATA "/runtime_sessions.txt",
                       "Calls of sessions to callbacks: recorded_sessions_test.cpp.");
}

TEST_F(RecordedSessions, ErrorsOfUnknownNamesMatchTheRecord) {
  Session session(model({.name = "m"}));
  const std::string heading = "names";
  const auto watched = std::make_shared<Watched>("other", true, calls);
  for (const char* name : {"x", "y", "c", "w", ""}) {
    add(heading, fmt::format("input '{}': {}", name, message_of_call([&] {
                               add(heading, session.input_anchor(name).name);
                             })));
    add(heading, fmt::format("output '{}': {}", name, message_of_call([&] {
                               add(heading, session.output_anchor(name).name);
                             })));
    add(heading, fmt::format("handler of input '{}': {}", name, message_of_call([&] {
                               session.set_user_input_handler(name, watched);
                             })));
    add(heading, fmt::format("handler of output '{}': {}", name, message_of_call([&] {
                               session.set_user_output_handler(name, watched);
                             })));
  }
  for (const size_t n : {size_t{0}, size_t{1}, size_t{1} << 20, (size_t{1} << 20) + 1})
    add(heading, fmt::format("queues of {}: {}", n, message_of_call([&] {
                               const QueueManager& q = session.create_queue_manager(n);
                               add(heading,
                                   fmt::format("{} and {}", q.inputs().size(), q.outputs().size()));
                             })));
  test::expect_recorded(found, POPRT_TEST_DATA "/runtime_session_names.txt",
                        "Answers of sessions to names: recorded_sessions_test.cpp.");
}

}  // namespace
}  // namespace poprt::runtime
