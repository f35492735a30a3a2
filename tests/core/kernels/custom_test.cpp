// What a program file may say of a plug-in's operator.
#include "kernels/common/custom.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

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
int32_t compute_same(const poprt_op_call* call, void*, void*) {
  std::memcpy(call->outputs[0]->data, call->inputs[0]->data, call->inputs[0]->bytes);
  return POPRT_OK;
}

void register_operators() {
  static const bool done = [] {
    auto library = std::make_unique<plugins::Library>();
    library->name = library->path = "kernels";
    library->operators.push_back({sizeof(poprt_operator), "org.test", "Same", 1, 0, infer_same,
                                  nullptr, compute_same, nullptr, nullptr, nullptr});
    library->operators.push_back({sizeof(poprt_operator), "org.test", "Shy", 1, 0,
                                  infer_needs_a_constant, nullptr, compute_same, nullptr, nullptr,
                                  nullptr});
    plugins::add(std::move(library));
    return true;
  }();
  static_cast<void>(done);
}

// Prepares the operator on [2, 3] f32 with that result; what it says, or nothing. What it said
// about types is no failure of a run.
std::string prepared(const char* name, DType dtype, const Shape& shape) {
  register_operators();
  const calls::Custom custom = custom_call({"org.test", name, 1, "kernels", "1", "n", {}}, 1);
  std::vector<int64_t> ints = {custom.outputs, custom.bytes};
  ints.insert(ints.end(), custom.record.begin(), custom.record.end());
  const Shape in = {2, 3};
  const Operand operands[] = {{true, DType::f32, in, 24},
                              {true, dtype, shape, dtype_bytes(dtype, element_count(shape))}};
  try {
    const Plan plan = find_kernel("custom")->prepare({operands, ints, {}});
    const auto failure = take_custom_failure(plan.params.get());
    return failure ? failure->message() : "";
  } catch (const Error& e) {
    return e.message();
  }
}

TEST(Custom, MemoryOfResultsIsWhatTheOperatorSays) {
  EXPECT_EQ(prepared("Same", DType::f32, {2, 3}), "");
  EXPECT_EQ(prepared("Same", DType::f64, {2, 3}), "");
  EXPECT_EQ(prepared("Same", DType::f32, {2, 1}),
            "kernel custom: operator org.test.Same of node 'n': the program has f32 [2,1] for "
            "output 0, the operator makes f32 [2,3]");
  EXPECT_NE(prepared("Same", DType::f32, {6}), "");
  EXPECT_NE(prepared("Same", DType::f32, {}), "");
  EXPECT_NE(prepared("Same", DType::f16, {2, 3}), "");
}

TEST(Custom, AnOperatorThatNeedsValuesToSayItIsTrusted) {
  EXPECT_EQ(prepared("Shy", DType::f32, {2, 3}), "");
}

}  // namespace
}  // namespace poprt::kernels
