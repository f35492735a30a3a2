// The description of a node that a plug-in's operator receives, and the effect of its answers.
#include "plugins/op_call.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "base/error.h"

namespace poprt::plugins {
namespace {

// The functions of the operator, which each test sets.
struct Functions {
  std::function<int32_t(const poprt_op_call*)> infer, compute;
  std::function<int32_t(const poprt_op_call*, void**)> prepare;
  std::function<int32_t(poprt_op_cost*)> cost;
  std::function<int32_t(int64_t*)> parts;
  std::function<int32_t(const poprt_op_call*, void*, int64_t, int64_t)> part;
  std::function<void(void*)> release;
};

poprt_operator operator_with(Functions& f) {
  poprt_operator op{};
  op.struct_size = sizeof op;
  op.domain = "org.example";
  op.name = "Op";
  op.version = 1;
  op.user_data = &f;
  const auto of = [](void* data) -> Functions& { return *static_cast<Functions*>(data); };
  static const auto functions = of;
  op.compute = [](const poprt_op_call* call, void*, void* data) {
    return functions(data).compute(call);
  };
  if (f.infer)
    op.infer = [](const poprt_op_call* call, void* data) { return functions(data).infer(call); };
  if (f.prepare)
    op.prepare = [](const poprt_op_call* call, void** state, void* data) {
      return functions(data).prepare(call, state);
    };
  if (f.cost)
    op.cost = [](const poprt_op_call*, poprt_op_cost* cost, void* data) {
      return functions(data).cost(cost);
    };
  if (f.parts)
    op.parts = [](const poprt_op_call*, void*, int64_t* parts, void* data) {
      return functions(data).parts(parts);
    };
  if (f.part)
    op.compute_part = [](const poprt_op_call* call, void* state, int64_t begin, int64_t end,
                         void* data) { return functions(data).part(call, state, begin, end); };
  if (f.release) op.release = [](void* state, void* data) { functions(data).release(state); };
  return op;
}

std::string message_for(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  return "done";
}

Attributes attributes() {
  return {{"int", int64_t{-5}},
          {"float", 0.25f},
          {"text", std::string("a\0b", 3)},
          {"tensor", Tensor::of<float>({2, 1}, {1.5f, -2.0f})},
          {"ints", std::vector<int64_t>{1, -2, 3, 4}},
          {"floats", std::vector<float>{0.5f, 4}},
          {"texts", std::vector<std::string>{"", "two"}}};
}

TEST(OpCall, DescribesTheNode) {
  Functions f;
  const int32_t values[2] = {7, 8};
  f.infer = [&](const poprt_op_call* call) {
    EXPECT_EQ(call->struct_size, sizeof(poprt_op_call));
    EXPECT_STREQ(call->node, "n");
    EXPECT_EQ(call->input_count, 3u);
    EXPECT_EQ(call->output_count, 1u);
    EXPECT_EQ(call->inputs[1], nullptr) << "omitted";
    const poprt_op_tensor& x = *call->inputs[0];
    EXPECT_EQ(x.struct_size, sizeof x);
    EXPECT_EQ(x.dtype, POPRT_DTYPE_S32);
    EXPECT_EQ(x.rank, 2);
    EXPECT_EQ(x.shape[0], 1);
    EXPECT_EQ(x.shape[1], 2);
    EXPECT_EQ(x.data, values);
    EXPECT_EQ(x.bytes, 8u);
    EXPECT_EQ(call->inputs[2]->rank, -1);
    EXPECT_EQ(call->outputs[0]->rank, 1);
    EXPECT_EQ(call->outputs[0]->shape[0], 9);
    return POPRT_OK;
  };
  const poprt_operator op = operator_with(f);
  OpCall call({&op, nullptr}, "n", {},
              {{.dtype = DType::s32, .shape = {1, 2}, .data = values, .bytes = 8},
               {.present = false},
               {.has_shape = false}},
              {{.dtype = DType::f32, .shape = {9}}});
  EXPECT_EQ(message_for([&] { call.infer({}); }), "done");
  EXPECT_EQ(call.title(), "operator org.example.Op of node 'n'");
  OpCall nameless({&op, nullptr}, "", {}, {}, {});
  EXPECT_EQ(nameless.title(), "operator org.example.Op");
}

TEST(OpCall, EachOfSeveralOperandsHasItsOwnShape) {
  Functions f;
  f.infer = [&](const poprt_op_call* call) {
    std::vector<int64_t> found;
    for (size_t i = 0; i < call->input_count; i++)
      for (int32_t k = 0; k < call->inputs[i]->rank; k++)
        found.push_back(call->inputs[i]->shape[k]);
    for (size_t i = 0; i < call->output_count; i++)
      for (int32_t k = 0; k < call->outputs[i]->rank; k++)
        found.push_back(call->outputs[i]->shape[k]);
    EXPECT_EQ(found, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    return POPRT_OK;
  };
  const poprt_operator op = operator_with(f);
  OpCall call({&op, nullptr}, "n", {}, {{.shape = {1}}, {.shape = {2, 3}}, {.shape = {4, 5, 6}}},
              {{.shape = {7}}, {.shape = {8}}, {.shape = {9, 10}}});
  EXPECT_EQ(message_for([&] { call.infer({}); }), "done");
}

TEST(OpCall, AttributesAreReadByTheirKind) {
  Functions f;
  f.compute = [&](const poprt_op_call* call) {
    const poprt_op_host& host = *call->host;
    EXPECT_EQ(host.struct_size, sizeof host);
    int64_t i = 0;
    float x = 0;
    const char* text = nullptr;
    size_t size = 0;
    const int64_t* ints = nullptr;
    const float* floats = nullptr;
    const poprt_op_tensor* tensor = nullptr;
    EXPECT_EQ(host.get_int(call, "int", &i), POPRT_OK);
    EXPECT_EQ(i, -5);
    EXPECT_EQ(host.get_float(call, "float", &x), POPRT_OK);
    EXPECT_EQ(x, 0.25f);
    EXPECT_EQ(host.get_string(call, "text", &text, &size), POPRT_OK);
    EXPECT_EQ(std::string(text, size), std::string("a\0b", 3));
    EXPECT_EQ(host.get_string(call, "text", &text, nullptr), POPRT_OK);
    EXPECT_EQ(host.get_ints(call, "ints", &ints, &size), POPRT_OK);
    EXPECT_EQ(std::vector<int64_t>(ints, ints + size), (std::vector<int64_t>{1, -2, 3, 4}));
    EXPECT_EQ(host.get_floats(call, "floats", &floats, &size), POPRT_OK);
    EXPECT_EQ(std::vector<float>(floats, floats + size), (std::vector<float>{0.5f, 4}));
    EXPECT_EQ(host.get_tensor(call, "tensor", &tensor), POPRT_OK);
    EXPECT_EQ(tensor->struct_size, sizeof *tensor);
    EXPECT_EQ(tensor->dtype, POPRT_DTYPE_F32);
    EXPECT_EQ(tensor->rank, 2);
    EXPECT_EQ(tensor->shape[0], 2);
    EXPECT_EQ(tensor->bytes, 8u);
    EXPECT_EQ(static_cast<const float*>(tensor->data)[1], -2);
    EXPECT_EQ(host.get_int(call, "none", &i), POPRT_NOT_FOUND);
    EXPECT_EQ(host.get_int(call, nullptr, &i), POPRT_NOT_FOUND);
    EXPECT_EQ(i, -5) << "the default of the caller";
    return POPRT_OK;
  };
  const poprt_operator op = operator_with(f);
  OpCall call({&op, nullptr}, "n", attributes(), {}, {});
  call.compute();
  EXPECT_FALSE(call.report().failed) << call.report().message;
}

TEST(OpCall, AnAttributeOfAnotherKindFailsTheCall) {
  const std::pair<const char*, const char*> kinds[] = {
      {"int", "an integer"}, {"float", "a float"}, {"text", "text"},  {"tensor", "a tensor"},
      {"ints", "integers"},  {"floats", "floats"}, {"texts", "texts"}};
  for (const auto& [name, kind] : kinds) {
    Functions f;
    const bool is_int = std::string_view(name) == "int";
    f.infer = [&](const poprt_op_call* call) {
      int64_t i = 0;
      const poprt_op_tensor* tensor = nullptr;
      EXPECT_EQ(is_int ? call->host->get_tensor(call, name, &tensor)
                       : call->host->get_int(call, name, &i),
                POPRT_INVALID_ARGUMENT);
      return POPRT_OK;
    };
    const poprt_operator op = operator_with(f);
    OpCall call({&op, nullptr}, "n", attributes(), {}, {});
    EXPECT_EQ(message_for([&] { call.infer({}); }),
              fmt::format("invalid_argument: infer of operator org.example.Op of node 'n': "
                          "attribute '{}' is {}, the operator expects {}",
                          name, kind, is_int ? "a tensor" : "an integer"));
  }
}

// The answer of set_output() in infer().
std::string inferred(size_t output, int32_t dtype, int32_t rank, const int64_t* shape) {
  Functions f;
  f.infer = [&](const poprt_op_call* call) {
    return call->host->set_output(call, output, dtype, rank, shape);
  };
  const poprt_operator op = operator_with(f);
  OpCall call({&op, nullptr}, "", {}, {}, {TensorInfo{}, TensorInfo{}});
  std::string text;
  const std::string end = message_for([&] {
    call.infer([&](size_t i, DType type, bool has_shape, const Shape& dims) {
      text = fmt::format("{} {} {} {}", i, dtype_name(type), has_shape, shape_string(dims));
    });
  });
  return end == "done" ? text : end;
}

TEST(OpCall, InferGivesTypesOfOutputs) {
  const int64_t shape[] = {2, -1, 0, -2};
  EXPECT_EQ(inferred(0, POPRT_DTYPE_F32, 3, shape), "0 f32 true [2,?,0]");
  EXPECT_EQ(inferred(1, POPRT_DTYPE_U8, 0, nullptr), "1 u8 true []");
  EXPECT_EQ(inferred(1, POPRT_DTYPE_U8, -1, nullptr), "1 u8 false []");
  EXPECT_EQ(inferred(1, 0, -1, nullptr), fmt::format("1 {} false []", dtype_name(DType{})));
  const std::string no = "invalid_argument: infer of operator org.example.Op: ";
  EXPECT_EQ(inferred(3, POPRT_DTYPE_F32, 1, shape),
            no + "the node has 2 outputs, infer() returned number 3");
  EXPECT_EQ(inferred(2, POPRT_DTYPE_F32, 1, shape),
            no + "the node has 2 outputs, infer() returned number 2");
  for (const int32_t dtype : std::vector<int32_t>{-1, kDTypeCount, POPRT_DTYPE_STRING})
    EXPECT_EQ(inferred(0, dtype, 1, shape),
              no + fmt::format("infer() gives output 0 the element type {}", dtype));
  EXPECT_EQ(inferred(0, POPRT_DTYPE_F32, -2, shape), no + "infer() gives output 0 the rank -2");
  EXPECT_EQ(inferred(0, POPRT_DTYPE_F32, 65, shape), no + "infer() gives output 0 the rank 65");
  EXPECT_EQ(inferred(0, POPRT_DTYPE_F32, 1, nullptr), no + "infer() gives output 0 the rank 1");
  EXPECT_EQ(inferred(1, POPRT_DTYPE_F32, 4, shape),
            no + "infer() gives output 1 a dimension of -2");
  const std::vector<int64_t> many(64, 1);
  EXPECT_TRUE(inferred(0, POPRT_DTYPE_F32, 64, many.data()).starts_with("0 f32 true [1,"));
}

TEST(OpCall, OnlyInferSetsOutputs) {
  Functions f;
  int32_t code = POPRT_OK;
  f.infer = [&](const poprt_op_call*) { return code; };
  f.prepare = [](const poprt_op_call* call, void**) {
    return call->host->set_output(call, 0, POPRT_DTYPE_F32, 0, nullptr);
  };
  const poprt_operator op = operator_with(f);
  for (const int32_t answer : {POPRT_OK, POPRT_INVALID_ARGUMENT}) {
    code = answer;
    OpCall call({&op, nullptr}, "", {}, {}, {TensorInfo{}});
    const std::string end =
        message_for([&] { call.infer([](size_t, DType, bool, const Shape&) {}); });
    EXPECT_EQ(end == "done", answer == POPRT_OK) << end;
    EXPECT_EQ(message_for([&] { call.prepare(); }),
              "failed_precondition: prepare of operator org.example.Op: set_output() is for "
              "infer() alone");
  }
}

TEST(OpCall, MissingFunctionsHaveNoEffect) {
  Functions f;
  const poprt_operator op = operator_with(f);
  OpCall call({&op, nullptr}, "", {}, {}, {});
  EXPECT_EQ(message_for([&] { call.infer({}); }), "done");
  EXPECT_EQ(message_for([&] { call.prepare(); }), "done");
  EXPECT_EQ(call.parts(), 1);
  const poprt_op_cost cost = call.cost();
  EXPECT_EQ(cost.struct_size, sizeof cost);
  EXPECT_EQ(cost.cycles, 0);
}

TEST(OpCall, CostsMatchTheOperator) {
  Functions f;
  int32_t code = 0;
  f.cost = [&](poprt_op_cost* cost) {
    EXPECT_EQ(cost->struct_size, sizeof *cost);
    EXPECT_EQ(cost->flops, 0);
    cost->cycles = 5, cost->flops = 6, cost->tile_bytes = 7;
    return code;
  };
  const poprt_operator op = operator_with(f);
  OpCall call({&op, nullptr}, "n", {}, {}, {});
  EXPECT_EQ(call.cost().cycles, 5);
  EXPECT_EQ(call.cost().flops, 6);
  EXPECT_EQ(call.cost().tile_bytes, 7);
  code = POPRT_UNAVAILABLE;
  EXPECT_EQ(message_for([&] { call.cost(); }),
            "unavailable: cost of operator org.example.Op of node 'n': returned 14 without a "
            "message");
  code = 0;
  EXPECT_EQ(message_for([&] { call.cost(); }), "done") << "a failure is over";
}

TEST(OpCall, AStateIsReleasedOnce) {
  Functions f;
  int state = 0, released = 0;
  bool given = true;
  f.prepare = [&](const poprt_op_call*, void** out) {
    if (given) *out = &state;
    return POPRT_OK;
  };
  f.release = [&](void* s) {
    EXPECT_EQ(s, &state);
    released++;
    throw std::runtime_error("ignored");
  };
  const poprt_operator op = operator_with(f);
  for (given = true;; given = false) {
    {
      OpCall call({&op, nullptr}, "", {}, {}, {});
      call.prepare();
    }
    if (!given) break;
  }
  EXPECT_EQ(released, 1);
}

TEST(OpCall, PartsAreCounted) {
  Functions f;
  int64_t number = 1;
  f.parts = [&](int64_t* out) {
    EXPECT_EQ(*out, 1);
    *out = number;
    return POPRT_OK;
  };
  const poprt_operator op = operator_with(f);
  OpCall call({&op, nullptr}, "", {}, {}, {});
  for (const int64_t good : {1, 2, 1 << 20}) {
    number = good;
    EXPECT_EQ(call.parts(), good);
  }
  for (const int64_t bad : {-1, 0, (1 << 20) + 1}) {
    number = bad;
    EXPECT_EQ(
        message_for([&] { call.parts(); }),
        fmt::format("invalid_argument: operator org.example.Op: parts() returned {}, expected "
                    "1 to 1048576",
                    bad));
  }
}

TEST(OpCall, FailuresOfRunsAreReported) {
  Functions f;
  std::function<int32_t(const poprt_op_call*)> body;
  f.compute = [&](const poprt_op_call* call) { return body(call); };
  const poprt_operator op = operator_with(f);
  const auto report = [&](std::function<int32_t(const poprt_op_call*)> function) {
    body = std::move(function);
    OpCall call({&op, nullptr}, "", {}, {}, {});
    call.compute();
    const Report& r = call.report();
    return r.failed ? fmt::format("{}: {}", r.code, r.message) : "done";
  };
  EXPECT_EQ(report([](const auto*) { return POPRT_OK; }), "done");
  EXPECT_EQ(report([](const auto*) { return POPRT_ABORTED; }),
            "10: returned an error without a message");
  EXPECT_EQ(report([](const auto* call) {
              return call->host->fail(call, POPRT_OUT_OF_RANGE, "element %d", 3);
            }),
            "11: element 3");
  EXPECT_EQ(report([](const auto* call) {
              call->host->fail(call, POPRT_OUT_OF_RANGE, "element %d", 3);
              return POPRT_OK;
            }),
            "11: element 3");
  EXPECT_EQ(report([](const auto*) -> int32_t { throw std::runtime_error("no"); }),
            "13: threw an exception: no");
}

TEST(OpCall, MemoryOfOperandsIsSetForEachRun) {
  Functions f;
  f.compute = [](const poprt_op_call* call) {
    *static_cast<int32_t*>(call->outputs[1]->data) =
        2 * *static_cast<const int32_t*>(call->inputs[1]->data);
    return POPRT_OK;
  };
  const poprt_operator op = operator_with(f);
  OpCall call({&op, nullptr}, "", {}, {TensorInfo{}, TensorInfo{}}, {TensorInfo{}, TensorInfo{}});
  for (const int32_t x : {3, 4}) {
    int32_t y = 0;
    call.set_input_data(1, &x);
    call.set_output_data(1, &y);
    EXPECT_EQ(call.output(1).data, &y);
    call.compute();
    EXPECT_EQ(y, 2 * x);
  }
}

// Parts run on several threads; the node keeps one failure, and each part its own report.
TEST(OpCall, TheFirstFailureOfPartsIsKept) {
  Functions f;
  f.parts = [](int64_t* out) {
    *out = 4;
    return POPRT_OK;
  };
  f.part = [](const poprt_op_call* call, void*, int64_t begin, int64_t end) {
    EXPECT_EQ(end, begin + 1);
    if (begin == 0) return POPRT_OK + 0;
    if (begin == 3) return POPRT_ABORTED + 0;
    return call->host->fail(call, POPRT_OUT_OF_RANGE, "part %d", static_cast<int>(begin));
  };
  const poprt_operator op = operator_with(f);
  OpCall call({&op, nullptr}, "", {}, {}, {});
  call.compute_part(0, 1);
  EXPECT_FALSE(call.report().failed);
  call.compute_part(2, 3);
  call.compute_part(1, 2);
  call.compute_part(3, 4);
  EXPECT_EQ(call.report().code, POPRT_OUT_OF_RANGE);
  EXPECT_EQ(call.report().message, "part 2");
  call.report() = {};
  call.compute_part(3, 4);
  EXPECT_EQ(call.report().message, "returned an error without a message");
  EXPECT_EQ(call.report().code, POPRT_ABORTED);
}

}  // namespace
}  // namespace poprt::plugins
