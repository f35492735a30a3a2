/* An operator, org.example.LeakyRelu(alpha = 0.01), as in PopRT's manual. */
#include "poprt/plugin.h"

/* The result has the type of the input, even if it is unknown. */
static int32_t infer(const poprt_op_call* call, void* user_data) {
  (void)user_data;
  if (call->input_count != 1 || !call->inputs[0])
    return call->host->fail(call, POPRT_INVALID_ARGUMENT, "expected 1 input, found %zu",
                            call->input_count);
  const poprt_op_tensor* x = call->inputs[0];
  return call->host->set_output(call, 0, x->dtype, x->rank, x->shape);
}

/* The kernel computes f32. The emulator converts f16 to f32. */
static int32_t prepare(const poprt_op_call* call, void** out_state, void* user_data) {
  (void)out_state, (void)user_data;
  if (call->inputs[0]->dtype != POPRT_DTYPE_F32)
    return call->host->fail(call, POPRT_UNIMPLEMENTED, "computes f32 only");
  return POPRT_OK;
}

static int32_t compute(const poprt_op_call* call, void* state, void* user_data) {
  (void)state, (void)user_data;
  float alpha = 0.01f;
  call->host->get_float(call, "alpha", &alpha);
  const float* x = (const float*)call->inputs[0]->data;
  float* y = (float*)call->outputs[0]->data;
  const uint64_t count = call->outputs[0]->bytes / sizeof *y;
  for (uint64_t i = 0; i < count; i++) y[i] = x[i] < 0 ? alpha * x[i] : x[i];
  return POPRT_OK;
}

/* A chip with 1472 tiles computes two elements per cycle and tile, each with one multiplication. */
static int32_t cost(const poprt_op_call* call, poprt_op_cost* out_cost, void* user_data) {
  (void)user_data;
  const double elements = (double)(call->outputs[0]->bytes / sizeof(float));
  out_cost->cycles = 20 + elements / (2 * 1472);
  out_cost->flops = elements;
  return POPRT_OK;
}

static int32_t init(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
  const poprt_operator leaky_relu = {.struct_size = sizeof leaky_relu,
                                     .domain = "org.example",
                                     .name = "LeakyRelu",
                                     .version = 1,
                                     .flags = POPRT_OPERATOR_ELEMENTWISE,
                                     .infer = infer,
                                     .prepare = prepare,
                                     .compute = compute,
                                     .cost = cost};
  return host->add_operator(registry, &leaky_relu);
}

POPRT_PLUGIN("leaky_relu", "1.0", init)
