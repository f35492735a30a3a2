// custom (calls/custom.h): runs an operator of a plug-in, either on one thread or in parts on
// several threads. In the latter case, a task of the round before the parts passes the memory to
// the operator, and a task of the round after them completes the call.
#include "kernels/common/custom.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "plugins/op_call.h"

namespace poprt::kernels {
namespace {

// The first run detects an operator that writes beyond its output, because guard bytes surround the
// outputs. Later runs write directly to their operands.
constexpr size_t kGuard = 256;
constexpr std::byte kMark{0xA5};

// Checks that the results of the operator fit the memory that the program file reserves for them.
// If infer() returns the types of the results, the memory must have their shapes and elements that
// are at least as large: halves may be stored as f32. If infer() needs the values of constants,
// nothing can be checked here, and the operator must not write more than its results.
void check_results(plugins::OpCall& call) {
  std::string wrong;
  try {
    call.infer([&](size_t i, DType dtype, bool has_shape, const Shape& shape) {
      const poprt_op_tensor& out = call.output(i);
      const Shape there(out.shape, out.shape + out.rank);
      bool fits = !has_shape || shape.size() == there.size();
      for (size_t d = 0; fits && has_shape && d < shape.size(); d++)
        fits = shape[d] < 0 || shape[d] == there[d];
      const auto stored = static_cast<DType>(out.dtype);
      if ((!fits || dtype_bits(dtype) > dtype_bits(stored)) && wrong.empty())
        wrong = fmt::format("{}: the program has {} {} for output {}, the operator returns {} {}",
                            call.title(), dtype_name(stored), shape_string(there), i,
                            dtype_name(dtype), shape_string(shape));
    });
  } catch (const Error&) {
    call.report() = {};
  }
  expect(wrong.empty(), "custom", wrong);
}

struct Step {
  Step(const plugins::Record& record, std::vector<plugins::TensorInfo> in,
       std::vector<plugins::TensorInfo> out)
      : inputs(in.size()),
        outputs(out.size()),
        call(plugins::operator_of(record), record.node, record.attributes, std::move(in),
             std::move(out)) {
    check_results(call);
    call.prepare();
    parts = call.parts();
    for (size_t i = 0; i < outputs; i++)
      trial.emplace_back(call.output(i).bytes + 2 * kGuard, kMark);
  }

  size_t inputs, outputs;
  plugins::OpCall call;
  int64_t parts = 1;
  std::vector<std::vector<std::byte>> trial;  // empty after the first run
};

void begin(Step& step, void* const* data) noexcept {
  for (size_t i = 0; i < step.inputs; i++) step.call.set_input_data(i, data[i]);
  for (size_t i = 0; i < step.outputs; i++)
    step.call.set_output_data(
        i, step.trial.empty() ? data[step.inputs + i] : step.trial[i].data() + kGuard);
}

void finish(Step& step, void* const* data) noexcept {
  if (step.trial.empty()) return;
  for (size_t i = 0; i < step.outputs; i++) {
    const std::vector<std::byte>& memory = step.trial[i];
    const auto marked = [](std::byte b) { return b == kMark; };
    const auto guard = static_cast<std::ptrdiff_t>(kGuard);
    if (!std::all_of(memory.begin(), memory.begin() + guard, marked) ||
        !std::all_of(memory.end() - guard, memory.end(), marked)) {
      step.call.report().set(
          ErrorCode::internal,
          "compute() wrote outside the memory of an output: its shape differs from "
          "the result of infer()");
    }
    if (const size_t bytes = memory.size() - 2 * kGuard)
      std::memcpy(data[step.inputs + i], memory.data() + kGuard, bytes);
  }
  step.trial.clear();
  step.trial.shrink_to_fit();
}

Step& step_of(const void* params) { return *static_cast<Step*>(const_cast<void*>(params)); }

void run(const void* params, void* const* data, int64_t, int64_t, std::byte*) noexcept {
  // Only one thread at a time runs the prepared step.
  Step& step = step_of(params);
  begin(step, data);
  step.call.compute();
  finish(step, data);
}

// There are three rounds, each with one task for each part. In the first and the last round, only
// one of the tasks does work.
void run_parts(const void* params, void* const* data, int64_t from, int64_t to,
               std::byte*) noexcept {
  Step& step = step_of(params);
  if (from == 0) begin(step, data);
  const int64_t first = std::max(from, step.parts), last = std::min(to, 2 * step.parts);
  if (first < last) step.call.compute_part(first - step.parts, last - step.parts);
  if (to == 3 * step.parts) finish(step, data);
}

plugins::TensorInfo info_of(const Operand& operand) {
  return {operand.present,
          operand.dtype,
          true,
          Shape(operand.shape.begin(), operand.shape.end()),
          nullptr,
          operand.present ? dtype_bytes(operand.dtype, element_count(operand.shape)) : 0};
}

std::shared_ptr<Step> make_step(const Call& call) {
  const auto custom = calls::decode<calls::Custom>(call);
  const auto outputs = static_cast<size_t>(custom.outputs);
  expect(outputs <= call.operands.size(), "custom", "expected an operand for each output");
  const size_t inputs = call.operands.size() - outputs;
  std::vector<plugins::TensorInfo> in, out;
  for (size_t i = 0; i < call.operands.size(); i++) {
    const bool written = i >= inputs;
    expect(!written || call.operands[i].present, "custom", "an output is missing");
    (written ? out : in).push_back(info_of(call.operands[i]));
  }
  return std::make_shared<Step>(custom_record(call), std::move(in), std::move(out));
}

std::optional<Error> take_failure(const void* params) {
  Step& step = step_of(params);
  if (!step.call.report().failed) return std::nullopt;
  const plugins::Report report = std::exchange(step.call.report(), {});
  try {
    plugins::check(report, report.code, step.call.title());
  } catch (const Error& e) {
    return e;
  }
  return std::nullopt;
}

Plan prepare(const Call& call) {
  auto step = make_step(call);
  Plan plan;
  plan.run = step->parts > 1 ? run_parts : run;
  plan.outputs = step->outputs;
  for (size_t i = 0; i < step->outputs; i++)
    plan.work += static_cast<double>(step->call.output(i).bytes);
  if (step->parts > 1) {
    plan.tasks = step->parts;
    plan.rounds = 3;
    // The byte counts do not show the cost of an operator in parts, but its author decided that
    // several threads are worthwhile.
    plan.work += 4e4 * static_cast<double>(step->parts);
  }
  plan.params = std::move(step);
  plan.take_failure = take_failure;
  return plan;
}

}  // namespace

calls::Custom custom_call(const plugins::Record& record, size_t outputs) {
  const std::string bytes = plugins::encode(record);
  calls::Custom call;
  call.outputs = static_cast<int64_t>(outputs);
  call.bytes = static_cast<int64_t>(bytes.size());
  call.record.resize((bytes.size() + 7) / 8);
  std::memcpy(call.record.data(), bytes.data(), bytes.size());
  return call;
}

plugins::Record custom_record(const Call& call) {
  const auto custom = calls::decode<calls::Custom>(call);
  return plugins::decode(
      {reinterpret_cast<const char*>(custom.record.data()), static_cast<size_t>(custom.bytes)});
}

poprt_op_cost custom_cost(const Call& call) { return make_step(call)->call.cost(); }

namespace custom_kernel {
extern const Kernel def;
const Kernel def = {"custom", prepare};
}  // namespace custom_kernel

}  // namespace poprt::kernels
