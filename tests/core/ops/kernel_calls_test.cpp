// Calls of kernels that no operator makes: what a program file may ask for. The calls that the
// operators' samples make are bent one fact at a time (an operand less, a shorter one, another
// type, an integer moved, a float that is none). prepare() must refuse each, or else run() must
// stay inside its operands: they end at pages that cannot be touched.
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <set>

#include "base/checked.h"
#include "core/ops/sample.h"
#include "core/ops/trial_sample.h"
#include "kernels/kernel.h"
#include "ops/common/expansion.h"
#include "support/recorded_lines.h"

namespace poprt::ops::testing {
namespace {

// One call, with its operands' shapes kept alive.
struct OneCall {
  std::string kernel;
  std::vector<kernels::Operand> operands;
  std::vector<Shape> shapes;
  std::vector<int64_t> ints;
  std::vector<float> floats;

  kernels::Call call() {
    for (size_t i = 0; i < operands.size(); i++) operands[i].shape = shapes[i];
    return {operands, ints, floats, 1};
  }
};

// Every value has memory of its own in one arena.
class CallContext final : public LowerContext {
 public:
  CallContext(const ir::Node& n, program::Builder& b) : LowerContext(n, b) {}
  BufferId in(size_t i) override { return of(node.input(i)); }
  BufferId out(size_t i) override { return of(node.output(i)); }
  BufferId temporary(DType dtype, Shape shape) override {
    const uint64_t bytes = dtype_bytes(dtype, element_count(shape));
    return builder.arena(0, bytes, dtype, std::move(shape));
  }
  BufferId state(int64_t, DType dtype, Shape shape) override {
    return temporary(dtype, std::move(shape));
  }
  BufferId view(BufferId, uint64_t, DType dtype, Shape shape) override {
    return temporary(dtype, std::move(shape));
  }

 private:
  BufferId of(const ir::Value* v) {
    return v && v->type.is_static() ? temporary(v->dtype(), v->shape()) : kNone;
  }
};

void collect(const ir::Node& node, std::vector<OneCall>& calls) {
  const OpDef& op = op_of(node);
  if (expands(op)) {
    const auto graph = isolate(node);
    for (size_t i = node.outputs().size(); i-- > 0;)
      if (!node.output(i)->type.is_static()) graph->remove_output(i);
    expand_node(*graph->nodes().front());
    for (const ir::Node* n : graph->nodes()) collect(*n, calls);
    return;
  }
  if (!op.lower) return;
  program::Builder builder;
  CallContext context(node, builder);
  lower(op, context);
  const program::Program& p = builder.program();
  for (const program::Instruction& in : p.main) {
    OneCall c{p.kernels[in.kernel], {}, {}, in.ints, in.floats};
    for (const uint32_t id : in.operands) {
      const bool there = id != program::kNoBuffer;
      c.shapes.push_back(there ? p.buffers[id].shape : Shape());
      c.operands.push_back(
          there ? kernels::Operand{true, p.buffers[id].dtype, {}, p.buffers[id].bytes}
                : kernels::Operand());
    }
    calls.push_back(std::move(c));
  }
}

// The calls of all samples, one for each kernel and count of operands and integers.
const std::vector<OneCall>& all_calls() {
  static const std::vector<OneCall> calls = [] {
    std::vector<OneCall> found, kept;
    const auto add = [&](const Sample& s) {
      try {
        const SampleGraph g = make_graph(s);
        infer(*g.node);
        collect(*g.node, found);
      } catch (const Error&) {  // this list is made before main(); OperatorSample names the sample
      }
    };
    for (const Sample& s : all_samples()) add(s);
    for (const Sample& s : trial_samples()) add(s);
    std::set<std::tuple<std::string, size_t, size_t, size_t>> known;
    std::map<std::string, int> count;
    for (OneCall& c : found)
      if (kernels::find_kernel(c.kernel) &&
          known.emplace(c.kernel, c.operands.size(), c.ints.size(), c.floats.size()).second &&
          count[c.kernel]++ < 12)
        kept.push_back(std::move(c));
    return kept;
  }();
  return calls;
}

// Memory in front of a page that cannot be touched. Operands are aligned as an arena does, so up to
// 63 bytes lie between their end and the page; those hold a pattern that must not change.
class Fence {
 public:
  static constexpr size_t kRoom = size_t{4} << 20, kPage = 4096;
  Fence() {
    base_ = static_cast<std::byte*>(mmap(nullptr, kRoom + 2 * kPage, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    EXPECT_EQ(mprotect(base_ + kPage, kRoom, PROT_READ | PROT_WRITE), 0);
  }
  ~Fence() { munmap(base_, kRoom + 2 * kPage); }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

  void* place(uint64_t bytes) {
    bytes_ = bytes;
    std::memset(end() - padded(), 0, padded());
    std::memset(end() - padded() + bytes, 0x5a, padded() - bytes);
    std::memset(end() - padded() - 64, 0x5a, 64);
    return end() - padded();
  }
  bool whole() const {
    const std::byte* at = end() - padded();
    for (size_t i = bytes_; i < padded(); i++)
      if (at[i] != std::byte{0x5a}) return false;
    for (int i = 1; i <= 64; i++)
      if (at[-i] != std::byte{0x5a}) return false;
    return true;
  }

 private:
  std::byte* end() const { return base_ + kPage + kRoom; }
  size_t padded() const { return (bytes_ + 63) / 64 * 64; }
  std::byte* base_ = nullptr;
  uint64_t bytes_ = 0;
};

sigjmp_buf caught;
void on_fault(int signal) { siglongjmp(caught, signal); }

// Runs and says what went wrong, or nothing.
std::string run_fenced(const kernels::Plan& plan, const OneCall& c) {
  static Fence fences[24], scratch;
  if (c.operands.size() > 24 || plan.scratch_bytes > Fence::kRoom - 64) return {};
  std::vector<void*> data;
  for (size_t i = 0; i < c.operands.size(); i++) {
    if (c.operands[i].bytes > Fence::kRoom - 64) return {};
    data.push_back(c.operands[i].present ? fences[i].place(c.operands[i].bytes) : nullptr);
  }
  auto* room = static_cast<std::byte*>(scratch.place(plan.scratch_bytes));
  struct sigaction act = {}, old_segv, old_fpe, old_bus;
  act.sa_handler = on_fault;
  act.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &act, &old_segv);
  sigaction(SIGFPE, &act, &old_fpe);
  sigaction(SIGBUS, &act, &old_bus);
  std::string problem;
  if (const int signal = sigsetjmp(caught, 1))
    problem = signal == SIGFPE ? "divides by zero" : "leaves its operands";
  else
    plan.run(plan.params.get(), data.data(), 0, plan.tasks * plan.rounds, room);
  sigaction(SIGSEGV, &old_segv, nullptr);
  sigaction(SIGFPE, &old_fpe, nullptr);
  sigaction(SIGBUS, &old_bus, nullptr);
  for (size_t i = 0; i < c.operands.size() && problem.empty(); i++)
    if (data[i] && !fences[i].whole()) problem = fmt::format("writes beside operand {}", i);
  if (problem.empty() && !scratch.whole()) problem = "writes beside its scratch memory";
  return problem;
}

std::string described(const OneCall& c) {
  std::string s = c.kernel + "(";
  for (size_t i = 0; i < c.operands.size(); i++)
    s += fmt::format("{}{}", i ? ", " : "",
                     c.operands[i].present
                         ? fmt::format("{}{} {} bytes", dtype_name(c.operands[i].dtype),
                                       shape_string(c.shapes[i]), c.operands[i].bytes)
                         : "-");
  s += ") ints";
  for (const int64_t i : c.ints) s += fmt::format(" {}", i);
  s += " floats";
  for (const float f : c.floats) s += fmt::format(" {}", f);
  return s;
}

enum class Answer { refused, ran, wrong };

Answer ask(OneCall c, std::string_view what) {
  try {
    const kernels::Plan plan = kernels::find_kernel(c.kernel)->prepare(c.call());
    if (!plan.run || plan.tasks < 0 || plan.rounds < 1 || plan.outputs > c.operands.size()) {
      ADD_FAILURE() << what << ": a plan that makes no sense: " << described(c);
      return Answer::wrong;
    }
    // What would take long is not run: its check is that of a shorter call.
    if (plan.tasks == 0 || plan.work > 1e8 || plan.rounds > 100'000 || plan.tasks > 100'000)
      return Answer::ran;
    const std::string problem = run_fenced(plan, c);
    EXPECT_EQ(problem, "") << what << ": " << described(c);
    return problem.empty() ? Answer::ran : Answer::wrong;
  } catch (const Error& e) {
    EXPECT_NE(e.code(), ErrorCode::internal) << what << ": " << e.message();
    return Answer::refused;
  } catch (const std::exception& e) {
    ADD_FAILURE() << what << ": " << e.what() << ": " << described(c);
    return Answer::wrong;
  }
}

class KernelCall : public ::testing::TestWithParam<size_t> {
 protected:
  const OneCall& original() const { return all_calls()[GetParam()]; }
  Answer bent(const std::string& what, const std::function<void(OneCall&)>& change) const {
    OneCall c = original();
    change(c);
    return ask(std::move(c), what);
  }
};

TEST_P(KernelCall, AsItIsRunsInsideItsOperands) {
  EXPECT_EQ(ask(original(), "as it is"), Answer::ran) << described(original());
}

TEST_P(KernelCall, WithoutOperandsIsRefused) {
  EXPECT_EQ(bent("no operands",
                 [](OneCall& c) {
                   c.operands.clear();
                   c.shapes.clear();
                 }),
            Answer::refused);
  EXPECT_EQ(bent("one operand less",
                 [](OneCall& c) {
                   c.operands.pop_back();
                   c.shapes.pop_back();
                 }),
            Answer::refused)
      << described(original());
}

TEST_P(KernelCall, WithAnOperandMissingShortOrOfAnotherType) {
  for (size_t i = 0; i < original().operands.size(); i++) {
    if (!original().operands[i].present) continue;
    const std::string name = "operand " + std::to_string(i);
    bent(name + " absent", [&](OneCall& c) {
      c.operands[i] = {};
      c.shapes[i] = {};
    });
    const auto resized = [&](Shape shape, DType dtype) {
      bent(name + " " + std::string(dtype_name(dtype)) + shape_string(shape), [&](OneCall& c) {
        c.shapes[i] = shape;
        c.operands[i].dtype = dtype;
        c.operands[i].bytes = dtype_bytes(dtype, element_count(shape));
      });
    };
    const Shape& shape = original().shapes[i];
    const DType dtype = original().operands[i].dtype;
    for (const DType t :
         {DType::u8, DType::s64, DType::f32, DType::f16, DType::f64, DType::boolean})
      if (t != dtype) resized(shape, t);
    for (size_t axis = 0; axis < shape.size(); axis++) {
      for (const int64_t d : {shape[axis] - 1, int64_t{0}, shape[axis] + 1}) {
        Shape other = shape;
        other[axis] = d;
        if (d >= 0) resized(other, dtype);
      }
    }
    resized({}, dtype);
    resized({0}, dtype);
    resized({1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, dtype);
  }
}

TEST_P(KernelCall, WithAnotherInteger) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < original().ints.size(); i++) {
    const int64_t v = original().ints[i];
    for (const int64_t other :
         {v + 1, v - 1, static_cast<int64_t>(static_cast<uint64_t>(v) * 2), v + 7, int64_t{0},
          int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{3}, int64_t{255}, int64_t{-2},
          int64_t{1} << 31, int64_t{1} << 40, kMost, -kMost - 1})
      if (other != v)
        bent(fmt::format("integer {} is {}", i, other), [&](OneCall& c) { c.ints[i] = other; });
  }
  if (original().ints.empty()) return;
  bent("no integers", [](OneCall& c) { c.ints.clear(); });
  bent("one integer less", [](OneCall& c) { c.ints.pop_back(); });
  bent("one integer more", [](OneCall& c) { c.ints.push_back(1); });
}

TEST_P(KernelCall, WithAnotherFloat) {
  for (size_t i = 0; i < original().floats.size(); i++)
    for (const float other : {0.0f, -1.0f, std::nanf(""), INFINITY, -INFINITY, 1e30f})
      bent(fmt::format("float {} is {}", i, other), [&](OneCall& c) { c.floats[i] = other; });
  if (original().floats.empty()) return;
  bent("no floats", [](OneCall& c) { c.floats.clear(); });
  bent("one float less", [](OneCall& c) { c.floats.pop_back(); });
}

// What preparing says of bent calls, and how often: nothing runs.
class Asked {
 public:
  explicit Asked(const OneCall& call) : call_(call) {}

  void ask(test::SaidCounts& said) {
    const auto bent = [&](auto&& change) {
      OneCall c = call_;
      change(c);
      try {
        kernels::find_kernel(c.kernel)->prepare(c.call());
        said.add("taken");
      } catch (const Error& e) {
        said.add(e.message());
      }
    };
    for (size_t i = 0; i < call_.ints.size(); i++)
      for (const int64_t v : {call_.ints[i] + 1, call_.ints[i] - 1, call_.ints[i] + 8, int64_t{0},
                              int64_t{-1}, int64_t{-100}, int64_t{65}, int64_t{1} << 40})
        bent([&](OneCall& c) { c.ints[i] = v; });
    for (size_t i = 0; i < call_.floats.size(); i++)
      for (const float v : {0.0f, -1.0f, std::nanf(""), INFINITY})
        bent([&](OneCall& c) { c.floats[i] = v; });
    for (size_t i = 0; i < call_.operands.size(); i++) {
      if (!call_.operands[i].present) continue;
      bent([&](OneCall& c) { c.operands[i] = {}, c.shapes[i] = {}; });
      const auto resized = [&](const Shape& shape, DType dtype) {
        bent([&](OneCall& c) {
          c.shapes[i] = shape;
          c.operands[i].dtype = dtype;
          c.operands[i].bytes = dtype_bytes(dtype, element_count(shape));
        });
      };
      const Shape& shape = call_.shapes[i];
      for (const DType t : {DType::u8, DType::s64, DType::f32, DType::f16, DType::boolean})
        resized(shape, t);
      for (size_t axis = 0; axis < shape.size(); axis++)
        for (const int64_t d : {shape[axis] - 1, shape[axis] + 1, int64_t{0}}) {
          Shape other = shape;
          other[axis] = d;
          if (d >= 0) resized(other, call_.operands[i].dtype);
        }
      resized({}, call_.operands[i].dtype);
      Shape more = shape;
      more.insert(more.begin(), 1);
      resized(more, call_.operands[i].dtype);
    }
  }

 private:
  const OneCall& call_;
};

TEST(KernelRefusals, AreThoseThatAreRecorded) {
  std::map<std::string, test::SaidCounts> said;
  for (const OneCall& call : all_calls()) Asked(call).ask(said[call.kernel]);
  test::RecordedLines found;
  for (const auto& [kernel, counts] : said) counts.write(found[kernel]);
  test::expect_recorded(found, POPRT_TEST_DATA "/kernel_refusals.txt",
                        "What kernels say of calls that are bent: kernel_calls_test.cpp.");
}

INSTANTIATE_TEST_SUITE_P(Samples, KernelCall, ::testing::Range(size_t{0}, all_calls().size()),
                         [](const ::testing::TestParamInfo<size_t>& info) {
                           return fmt::format("{}_{}", all_calls()[info.param].kernel, info.param);
                         });

}  // namespace
}  // namespace poprt::ops::testing
