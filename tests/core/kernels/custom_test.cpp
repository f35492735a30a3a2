// The calls of plug-in operators that a program file may contain, and their runs.
#include "kernels/common/custom.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "plugins/registration.h"

namespace poprt::kernels {
namespace {

int32_t infer_same(const poprt_op_call* call, void*) {
  const poprt_op_tensor& x = *call->inputs[0];
  return call->host->set_output(call, 0, x.dtype, x.rank, x.shape);
}
int32_t infer_needs_a_constant(const poprt_op_call* call, void*) {
  return call->host->fail(call, POPRT_INVALID_ARGUMENT, "input 0 must be a constant");
}
// Infers a result of any number of rows and any rank.
int32_t infer_rows(const poprt_op_call* call, void*) {
  const int64_t shape[] = {-1, 3};
  return call->host->set_output(call, 0, call->inputs[0]->dtype, 2, shape);
}
int32_t infer_type_only(const poprt_op_call* call, void*) {
  return call->host->set_output(call, 0, call->inputs[0]->dtype, -1, nullptr);
}
int32_t compute_same(const poprt_op_call* call, void*, void*) {
  std::memcpy(call->outputs[0]->data, call->inputs[0]->data, call->inputs[0]->bytes);
  return POPRT_OK;
}
// Writes a byte after the output or before it.
int32_t compute_at(const poprt_op_call* call, int64_t at) {
  std::memcpy(call->outputs[0]->data, call->inputs[0]->data, call->inputs[0]->bytes);
  static_cast<char*>(call->outputs[0]->data)[at] = 1;
  return POPRT_OK;
}
int32_t compute_behind(const poprt_op_call* call, void*, void*) {
  return compute_at(call, static_cast<int64_t>(call->outputs[0]->bytes));
}
int32_t compute_in_front(const poprt_op_call* call, void*, void*) { return compute_at(call, -1); }
// Divides the work into parts of two elements.
int32_t three_parts(const poprt_op_call*, void*, int64_t* parts, void*) {
  *parts = 3;
  return POPRT_OK;
}
int32_t compute_part(const poprt_op_call* call, void*, int64_t begin, int64_t end, void*) {
  const auto* x = static_cast<const float*>(call->inputs[0]->data);
  auto* y = static_cast<float*>(call->outputs[0]->data);
  for (int64_t i = 2 * begin; i < 2 * end; i++) y[i] = x[i] + 1;
  return POPRT_OK;
}
int32_t fail_in_a_part(const poprt_op_call* call, void*, int64_t begin, int64_t, void*) {
  return begin == 1 ? call->host->fail(call, POPRT_INTERNAL, "the second part") : POPRT_OK;
}

void register_operators() {
  static const bool done = [] {
    auto library = std::make_unique<plugins::Library>();
    library->name = library->path = "kernels";
    const auto add = [&](const char* name, auto infer, auto compute, auto parts, auto part) {
      poprt_operator op{};
      op.struct_size = sizeof op;
      op.domain = "org.test";
      op.name = name;
      op.version = 1;
      op.infer = infer;
      op.compute = compute;
      op.parts = parts;
      op.compute_part = part;
      library->operators.push_back(op);
    };
    add("Same", infer_same, compute_same, nullptr, nullptr);
    add("Shy", infer_needs_a_constant, compute_same, nullptr, nullptr);
    add("Rows", infer_rows, compute_same, nullptr, nullptr);
    add("Typed", infer_type_only, compute_same, nullptr, nullptr);
    add("Behind", infer_same, compute_behind, nullptr, nullptr);
    add("InFront", infer_same, compute_in_front, nullptr, nullptr);
    add("Parts", infer_same, compute_same, three_parts, compute_part);
    add("BadPart", infer_same, compute_same, three_parts, fail_in_a_part);
    plugins::add(std::move(library));
    return true;
  }();
  static_cast<void>(done);
}

// The operator on [2, 3] f32 with a result of that type.
Plan plan_of(const char* name, DType dtype, const Shape& shape) {
  register_operators();
  const calls::Custom custom = custom_call({"org.test", name, 1, "kernels", "1", "n", {}}, 1);
  const calls::Encoded encoded = calls::encode(custom);
  const Shape in = {2, 3};
  const Operand operands[] = {{true, DType::f32, in, 24},
                              {true, dtype, shape, dtype_bytes(dtype, element_count(shape))}};
  return find_kernel("custom")->prepare({operands, encoded.ints, encoded.floats});
}

std::string failure_of(const Plan& plan) {
  const auto failure = plan.take_failure(plan.params.get());
  return failure ? failure->message() : "";
}

// The message for the call, or an empty text. A warning about types is no failure of a run.
std::string prepared(const char* name, DType dtype, const Shape& shape) {
  try {
    return failure_of(plan_of(name, dtype, shape));
  } catch (const Error& e) {
    return e.message();
  }
}

TEST(Custom, RefusesResultsThatDifferFromTheOperatorsTypes) {
  EXPECT_EQ(prepared("Same", DType::f32, {2, 3}), "");
  EXPECT_EQ(prepared("Same", DType::f64, {2, 3}), "");
  EXPECT_EQ(prepared("Same", DType::f32, {2, 1}),
            "kernel custom: operator org.test.Same of node 'n': the program has f32 [2,1] for "
            "output 0, the operator returns f32 [2,3]");
  EXPECT_NE(prepared("Same", DType::f32, {6}), "");
  EXPECT_NE(prepared("Same", DType::f32, {}), "");
  EXPECT_NE(prepared("Same", DType::f16, {2, 3}), "");
}

TEST(Custom, UnknownSizesAreTakenFromTheProgram) {
  EXPECT_EQ(prepared("Rows", DType::f32, {2, 3}), "");
  EXPECT_EQ(prepared("Rows", DType::f32, {9, 3}), "");
  EXPECT_NE(prepared("Rows", DType::f32, {2, 4}), "");
  EXPECT_NE(prepared("Rows", DType::f32, {2, 3, 1}), "");
  EXPECT_EQ(prepared("Typed", DType::f32, {7}), "");
  EXPECT_EQ(prepared("Typed", DType::f32, {}), "");
  EXPECT_NE(prepared("Typed", DType::f16, {2, 3}), "");
}

TEST(Custom, TypesThatDependOnValuesAreTrusted) {
  EXPECT_EQ(prepared("Shy", DType::f32, {2, 3}), "");
}

TEST(Custom, ACallHasItsOutputs) {
  register_operators();
  const auto message_for = [](int64_t outputs, std::vector<Operand> operands) -> std::string {
    calls::Custom custom = custom_call({"org.test", "Same", 1, "kernels", "1", "n", {}}, 1);
    custom.outputs = outputs;
    const calls::Encoded encoded = calls::encode(custom);
    try {
      find_kernel("custom")->prepare({operands, encoded.ints, encoded.floats});
    } catch (const Error& e) {
      return e.message();
    }
    return "";
  };
  const Shape shape = {2, 3};
  const Operand there{true, DType::f32, shape, 24};
  EXPECT_EQ(message_for(1, {there, there}), "");
  EXPECT_EQ(message_for(1, {there, Operand{}}), "kernel custom: an output is missing");
  EXPECT_EQ(message_for(3, {there, there}), "kernel custom: expected an operand for each output");
}

// Runs the plan twice, one task at a time from the last of each round to the first, and returns the
// sum of both results.
std::vector<float> run_twice(const Plan& plan) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  std::vector<float> sum(6);
  for (int k = 0; k < 2; k++) {
    std::vector<float> y(6, -1);
    void* data[] = {const_cast<float*>(x.data()), y.data()};
    for (int64_t round = 0; round < plan.rounds; round++)
      for (int64_t t = plan.tasks; t-- > 0;) {
        const int64_t task = round * plan.tasks + t;
        plan.run(plan.params.get(), data, task, task + 1, nullptr);
      }
    for (size_t i = 0; i < 6; i++) sum[i] += y[i];
  }
  return sum;
}

TEST(Custom, RunsAsAWholeOrInParts) {
  const Plan same = plan_of("Same", DType::f32, {2, 3});
  EXPECT_EQ(same.tasks, 1);
  EXPECT_EQ(same.rounds, 1);
  EXPECT_EQ(same.outputs, 1u);
  EXPECT_EQ(same.work, 24);
  EXPECT_EQ(run_twice(same), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(failure_of(same), "");
  const Plan parts = plan_of("Parts", DType::f32, {2, 3});
  EXPECT_EQ(parts.tasks, 3);
  EXPECT_EQ(parts.rounds, 3);
  EXPECT_EQ(parts.outputs, 1u);
  EXPECT_EQ(parts.work, 24 + 3 * 4e4);
  EXPECT_EQ(run_twice(parts), (std::vector<float>{4, 6, 8, 10, 12, 14}));
  EXPECT_EQ(failure_of(parts), "");
}

TEST(Custom, PartsMayBeRunTogether) {
  for (const int64_t step : {2, 5, 9}) {
    const Plan plan = plan_of("Parts", DType::f32, {2, 3});
    const std::vector<float> x = {1, 2, 3, 4, 5, 6};
    std::vector<float> y(6, -1);
    void* data[] = {const_cast<float*>(x.data()), y.data()};
    for (int64_t t = 0; t < 9; t += step)
      plan.run(plan.params.get(), data, t, std::min<int64_t>(9, t + step), nullptr);
    EXPECT_EQ(y, (std::vector<float>{2, 3, 4, 5, 6, 7})) << step;
  }
}

TEST(Custom, ReportsAWriteOutsideAnOutputOnce) {
  for (const char* name : {"Behind", "InFront"}) {
    const Plan plan = plan_of(name, DType::f32, {2, 3});
    struct {
      float before[4] = {}, y[6] = {}, after[4] = {};
    } memory;
    std::vector<float> x = {1, 2, 3, 4, 5, 6};
    void* data[] = {x.data(), memory.y};
    plan.run(plan.params.get(), data, 0, 1, nullptr);
    EXPECT_EQ(memory.before[3] + memory.after[0], 0) << "the first run has memory of its own";
    EXPECT_EQ(std::vector(memory.y, memory.y + 6), x);
    EXPECT_EQ(failure_of(plan),
              std::string("operator org.test.") + name +
                  " of node 'n': compute() wrote outside the memory of an output: its shape "
                  "differs from the result of infer()");
    EXPECT_EQ(failure_of(plan), "") << "it was taken";
  }
}

TEST(Custom, ReportsAFailureInAPart) {
  const Plan plan = plan_of("BadPart", DType::f32, {2, 3});
  run_twice(plan);
  EXPECT_EQ(failure_of(plan), "operator org.test.BadPart of node 'n': the second part");
}

}  // namespace
}  // namespace poprt::kernels
