// The kernel calls of the operators' samples are changed in one fact each
// (support/kernel_call_tests.h); the results and messages of the kernels are recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>

#include "core/ops/result_sums.h"
#include "core/ops/sample.h"
#include "core/ops/trial_sample.h"
#include "kernels/kernel.h"
#include "ops/common/expansion.h"
#include "support/kernel_call_tests.h"
#include "support/recorded_lines.h"

namespace poprt::ops::sampled {
namespace {

using test::all_calls;
using test::OneCall;

// Every value has separate memory in one arena.
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
  for (const program::Instruction& in : p.main) calls.push_back(test::call_of(p, in));
}

}  // namespace
}  // namespace poprt::ops::sampled

// Returns the calls of all samples.
const std::vector<poprt::test::OneCall>& poprt::test::found_calls() {
  static const std::vector<OneCall> calls = [] {
    std::vector<OneCall> found;
    const auto add = [&](const ops::sampled::Sample& s) {
      try {
        const ops::sampled::SampleGraph g = ops::sampled::make_graph(s);
        ops::infer(*g.node);
        ops::sampled::collect(*g.node, found);
      } catch (const Error&) {  // OperatorSample names the sample
      }
    };
    for (const ops::sampled::Sample& s : ops::sampled::all_samples()) add(s);
    for (const ops::sampled::Sample& s : ops::sampled::trial_samples()) add(s);
    return found;
  }();
  return calls;
}

namespace poprt::ops::sampled {
namespace {

TEST(KernelSamples, CallKernelsThatNoCompiledGraphCalls) {
  for (const std::string_view kernel : test::kKernelsOfSamples)
    EXPECT_TRUE(std::ranges::any_of(all_calls(), [&](const OneCall& c) {
      return c.kernel == kernel;
    })) << kernel;
}

// Sums of the results of a call, one after the other. Empty if the call is refused or would take
// long.
std::string results_of(OneCall c) {
  kernels::Plan plan;
  try {
    plan = kernels::find_kernel(c.kernel)->prepare(c.call());
  } catch (const Error&) {
    return "";
  }
  if (plan.tasks == 0 || plan.work > 1e6 || plan.rounds > 100 || plan.tasks > 10'000) return "";
  Tensor room = Tensor::zeros(DType::u8, {static_cast<int64_t>(plan.scratch_bytes)});
  const test::Memory memory(c);
  for (int64_t r = 0; r < plan.rounds; r++)
    plan.run(plan.params.get(), memory.pointers(), r * plan.tasks, (r + 1) * plan.tasks,
             static_cast<std::byte*>(room.mutable_data()));
  std::string text;
  for (size_t i = c.operands.size() - plan.outputs; i < c.operands.size(); i++) {
    const kernels::Operand& o = c.operands[i];
    if (!o.present) continue;
    const DType type = dtype_bits(o.dtype) >= 8 && o.dtype != DType::c64 && o.dtype != DType::c128
                           ? o.dtype
                           : DType::u8;
    const auto count = static_cast<int64_t>(o.bytes / dtype_bytes(type, 1));
    const Tensor t =
        Tensor::view(type, {count}, memory.pointers()[i], dtype_bytes(type, count), nullptr);
    text += (text.empty() ? "" : " | ") + text_of(sums_of(t));
  }
  return text;
}

bool near_results(std::string_view a, std::string_view b, double tolerance) {
  while (!a.empty() && !b.empty()) {
    const auto next = [](std::string_view& text) {
      const size_t end = std::min(text.find(" | "), text.size());
      const std::string part(text.substr(0, end));
      text.remove_prefix(std::min(end + 3, text.size()));
      return part;
    };
    Sums x, y;
    if (!read_sums(next(a), x) || !read_sums(next(b), y) || !near(x, y, tolerance)) return false;
  }
  return a.empty() && b.empty();
}

// Returns, by change, the results of the unchanged call and of the call with another integer or
// float.
std::map<std::string, std::string> altered_results(const OneCall& call, const std::string& at) {
  std::map<std::string, std::string> found;
  const std::string plain = results_of(call);
  if (plain.empty()) return found;
  found[at] = plain;
  const auto tried = [&](const std::string& what, const std::function<void(OneCall&)>& change) {
    OneCall c = call;
    change(c);
    // A change that leaves the results equal is not recorded.
    if (const std::string text = results_of(c); !text.empty() && !near_results(text, plain, 1e-3))
      found[at + what] = text;
  };
  for (size_t i = 0; i < call.ints.size(); i++)
    for (const int64_t v : {call.ints[i] - 1, call.ints[i] + 1, int64_t{0}, int64_t{1}, int64_t{2}})
      if (v != call.ints[i])
        tried(fmt::format(" integer {} = {}", i, v), [&](OneCall& c) { c.ints[i] = v; });
  for (size_t i = 0; i < call.floats.size(); i++)
    for (const float v : {0.0f, 0.75f})
      tried(fmt::format(" float {} = {}", i, v), [&](OneCall& c) { c.floats[i] = v; });
  return found;
}

constexpr const char* kResults = POPRT_TEST_DATA "/kernel_results.txt";

// The lines of the record by kernel; calls of a kernel are numbered.
using KernelResults = std::map<std::string, std::map<std::string, std::string>>;

// Records the results of each kernel. If a field is not read, or a stride or a mode is mistaken for
// another one, a recorded number changes.
//
//   POPRT_WRITE_RECORDS=1 test_ops --gtest_filter='KernelResults.*'
TEST(KernelResults, MatchTheRecord) {
  KernelResults found, wanted;
  std::map<std::string, int> numbers;
  for (const OneCall& call : all_calls())
    found[call.kernel].merge(altered_results(call, std::to_string(numbers[call.kernel]++)));
  if (std::getenv("POPRT_WRITE_RECORDS")) {
    std::ofstream file(kResults);
    file << "# Sums of what kernels compute: kernel_calls_test.cpp.\n";
    for (const auto& [kernel, lines] : found) {
      file << kernel << "\n";
      for (const auto& [what, sums] : lines) file << "  " << what << ": " << sums << "\n";
    }
    return;
  }
  for (const auto& [kernel, lines] : test::read_recorded(kResults))
    for (const std::string& line : lines) {
      const size_t end = line.find(": ");
      ASSERT_NE(end, line.npos) << line;
      wanted[kernel][line.substr(0, end)] = line.substr(end + 2);
    }
  for (const auto& [kernel, lines] : wanted)
    for (const auto& [what, sums] : lines) {
      const std::string now = found[kernel][what];
      EXPECT_TRUE(near_results(sums, now, 1e-3))
          << kernel << ", call " << what << "\n  was " << sums << "\n  is  " << now;
    }
  for (const auto& [kernel, lines] : found)
    for (const auto& [what, sums] : lines)
      EXPECT_TRUE(sums.empty() || wanted[kernel].contains(what))
          << kernel << ", call " << what << " is new: " << sums;
}

// Messages of prepare() for changed calls, and their numbers: nothing runs.
class ChangedCalls {
 public:
  explicit ChangedCalls(const OneCall& call) : call_(call) {}

  void count_messages(test::MessageCounts& messages) {
    const auto altered = [&](auto&& change) {
      OneCall c = call_;
      change(c);
      try {
        kernels::find_kernel(c.kernel)->prepare(c.call());
        messages.add("taken");
      } catch (const Error& e) {
        messages.add(e.message());
      }
    };
    for (size_t i = 0; i < call_.ints.size(); i++)
      for (const int64_t v : {call_.ints[i] + 1, call_.ints[i] - 1, call_.ints[i] + 8, int64_t{0},
                              int64_t{-1}, int64_t{-100}, int64_t{65}, int64_t{1} << 40})
        altered([&](OneCall& c) { c.ints[i] = v; });
    for (size_t i = 0; i < call_.floats.size(); i++)
      for (const float v : {0.0f, -1.0f, std::nanf(""), INFINITY})
        altered([&](OneCall& c) { c.floats[i] = v; });
    for (size_t i = 0; i < call_.operands.size(); i++) {
      if (!call_.operands[i].present) continue;
      altered([&](OneCall& c) { c.operands[i] = {}, c.shapes[i] = {}; });
      const auto resized = [&](const Shape& shape, DType dtype) {
        altered([&](OneCall& c) {
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

TEST(KernelRefusals, MatchTheRecord) {
  std::map<std::string, test::MessageCounts> messages;
  for (const OneCall& call : all_calls()) ChangedCalls(call).count_messages(messages[call.kernel]);
  test::RecordedLines found;
  for (const auto& [kernel, counts] : messages) counts.write(found[kernel]);
  // Omits "kernel NAME: ", because kernels share many messages.
  const auto message_of = [](const std::string& line) {
    const std::string message = test::counted_message_of(line);
    return message.starts_with("kernel ") ? test::message_after_colon(message) : message;
  };
  test::expect_digests(found, POPRT_TEST_DATA "/kernel_refusals.txt",
                       "Messages of kernels for changed calls: kernel_calls_test.cpp.", message_of);
}

}  // namespace
}  // namespace poprt::ops::sampled
