// Elementwise, softmax, normalisation and attention kernels on one thread: minimum and median time
// of one call, and the rate that follows from them.
//   elementwise_bench [rounds]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "base/tensor.h"
#include "kernels/kernel.h"
#include "ops/common/elementwise_program.h"

namespace poprt {
namespace {

using Clock = std::chrono::steady_clock;
int rounds = 200;

Tensor filled(Shape shape) {
  Tensor t = Tensor::zeros(DType::f32, std::move(shape));
  uint32_t state = 1;
  for (float& v : t.mutable_values<float>()) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return t;
}

// One call processes `amount` of `unit`, in multiples of 1e9, for example GB.
void measure(const char* name, const char* kernel, std::vector<Tensor> operands,
             std::vector<int64_t> ints, std::vector<float> floats, double amount,
             const char* unit) {
  std::vector<kernels::Operand> views;
  std::vector<void*> data;
  for (Tensor& t : operands) {
    views.push_back({t.defined(), t.dtype(), t.shape(), t.bytes()});
    data.push_back(t.defined() ? t.mutable_data() : nullptr);
  }
  const kernels::Plan plan = kernels::find_kernel(kernel)->prepare({views, ints, floats});
  Tensor scratch = Tensor::zeros(DType::u8, {static_cast<int64_t>(plan.scratch_bytes)});
  std::vector<double> times;
  for (int r = 0; r < rounds; r++) {
    const auto start = Clock::now();
    plan.run(plan.params.get(), data.data(), 0, plan.tasks * plan.rounds,
             static_cast<std::byte*>(scratch.mutable_data()));
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::ranges::sort(times);
  const double best = times.front(), median = times[times.size() / 2];
  std::printf("%-34s min %9.2f us  median %9.2f us  %8.2f %s\n", name, best, median,
              amount / best * 1e-3, unit);
}

void attention(const char* name, int64_t heads, int64_t size, int64_t length, bool causal) {
  const int64_t width = heads * size;
  const Tensor qkv = filled({1, length, 3 * width});
  measure(
      name, "attention",
      {qkv, qkv, qkv, causal ? Tensor() : filled({1, 1, 1, length}), filled({1, length, width})},
      {heads, size, 0, width, 2 * width, causal}, {0.125f, -1e9f},
      4.0 * static_cast<double>(length * length * width), "Gflop/s");
}

void unary(const char* name, ops::ElementwiseOp op, Shape shape) {
  ops::ElementwiseProgram p;
  p.add_output(p.step(op, p.add_input()), DType::f32);
  const double count = static_cast<double>(element_count(shape));
  measure(name, "elementwise", {filled(shape), filled(shape)},
          kernels::calls::encode(p.call()).ints, p.constants, count, "Gelement/s");
}

void run() {
  using ops::ElementwiseOp;
  measure("softmax [1536,128]", "softmax", {filled({1536, 128}), filled({1536, 128})},
          {1536, 128, 1, 0}, {}, 1536 * 128, "Gelement/s");
  measure(
      "layer_norm [128,768]", "layer_norm",
      {filled({128, 768}), filled({768}), filled({768}), filled({128, 768}), Tensor(), Tensor()},
      {128, 768, 1, 1, 0}, {1e-5f}, 128 * 768, "Gelement/s");
  unary("gelu_erf [128,3072]", ElementwiseOp::gelu_erf, {128, 3072});
  unary("gelu_tanh [64,3072]", ElementwiseOp::gelu_tanh, {64, 3072});
  unary("tanh [64,3072]", ElementwiseOp::tanh, {64, 3072});
  unary("relu [64,3072]", ElementwiseOp::relu, {64, 3072});
  {
    ops::ElementwiseProgram p;
    const auto x = p.add_input(), b = p.add_input(), y = p.add_input();
    p.add_output(p.step(ElementwiseOp::relu,
                        p.step(ElementwiseOp::add, p.step(ElementwiseOp::mul, x, b), y)),
                 DType::f32);
    measure("relu(x * b + y) [64,3072]", "elementwise",
            {filled({64, 3072}), filled({3072}), filled({64, 3072}), filled({64, 3072})},
            kernels::calls::encode(p.call()).ints, p.constants, 64 * 3072, "Gelement/s");
  }
  measure("reduce mean rows [128,768]", "reduce", {filled({128, 768}), filled({128, 1})}, {1, 1},
          {}, 128 * 768, "Gelement/s");
  attention("attention BERT base 12x64, 128", 12, 64, 128, false);
  attention("attention GPT-2 12x64, 64 causal", 12, 64, 64, true);
  attention("attention 12x64, 512", 12, 64, 512, false);
}

}  // namespace
}  // namespace poprt

int main(int argc, char** argv) {
  if (argc > 1) poprt::rounds = std::max(1, std::atoi(argv[1]));
  poprt::run();
}
