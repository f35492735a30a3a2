// How evenly the work of compiled networks can be divided among up to 16 threads. Tasks of an
// instruction have about equal cost, so the slowest thread has the rounded-up share of them.
#include <gtest/gtest.h>

#include "compiler/compiler.h"
#include "ir/text.h"
#include "support/kernel_call_tests.h"

namespace poprt::test {
namespace {

constexpr int kMostThreads = 16;
// Work of one thread for which waking others is worthwhile, in nanoseconds.
constexpr double kWorth = 20e3;

// Layers of an image classifier (stem, 3x3, 1x1, strided, depthwise, classifier), and of a
// transformer of 128 tokens.
constexpr const char* kNetworks[] = {R"(graph "images" opset {"": 17} {
    input %x : f32[1,3,224,224]
    const %w0 : f32[64,3,7,7] = fill 0.01
    const %w1 : f32[64,64,3,3] = fill 0.01
    const %w2 : f32[256,64,1,1] = fill 0.01
    const %w3 : f32[128,256,3,3] = fill 0.01
    const %w4 : f32[128,1,3,3] = fill 0.01
    const %w5 : f32[512,128,1,1] = fill 0.01
    const %w6 : f32[1000,512] = fill 0.01
    %a : ? = Conv(%x, %w0) {pads = [3, 3, 3, 3], strides = [2, 2]}
    %p : ? = MaxPool(%a) {kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]}
    %b : ? = Conv(%p, %w1) {pads = [1, 1, 1, 1]}
    %c : ? = Conv(%b, %w2)
    %d : ? = Conv(%c, %w3) {pads = [1, 1, 1, 1], strides = [2, 2]}
    %e : ? = Conv(%d, %w4) {pads = [1, 1, 1, 1], group = 128}
    %f : ? = Conv(%e, %w5)
    %g : ? = GlobalAveragePool(%f)
    %h : ? = Flatten(%g)
    %y : ? = Gemm(%h, %w6) {transB = 1}
    output %y
  })",
                                     R"(graph "text" opset {"": 17} {
    input %x : f32[1,128,768]
    const %w0 : f32[768,3072] = fill 0.01
    const %w1 : f32[3072,768] = fill 0.01
    const %s : f32[768] = fill 1.0
    %a : ? = MatMul(%x, %w0)
    %b : ? = Erf(%a)
    %c : ? = MatMul(%b, %w1)
    %d : ? = Add(%c, %x)
    %e : ? = LayerNormalization(%d, %s, %s)
    %y : ? = Softmax(%e)
    output %y
  })"};

TEST(ThreadBalance, TheSlowestOfUpToSixteenThreadsHasLittleMoreThanItsShare) {
  size_t instructions = 0;
  for (const char* text : kNetworks) {
    const auto graph = ir::parse_text(text);
    compiler::convert(*graph, {});
    const compiler::Executable executable = compiler::compile(*graph, {});
    for (int threads = 2; threads <= kMostThreads; threads++) {
      double ideal = 0, real = 0;
      for (const program::Instruction& in : executable.program.main) {
        OneCall one = call_of(executable.program, in);
        kernels::Call call = one.call();
        call.threads = threads;
        const kernels::Plan plan = kernels::find_kernel(one.kernel)->prepare(call);
        // Each round ends when its slowest thread does.
        const double share = std::max(plan.work / threads, std::min(plan.work, kWorth));
        const auto most = static_cast<double>((plan.tasks + threads - 1) / threads);
        const double slowest = plan.work * most / static_cast<double>(plan.tasks);
        ideal += share;
        real += std::max(slowest, share);
        instructions++;
        if (plan.work < 50 * kWorth) continue;
        EXPECT_LE(slowest, 2.0 * share)
            << in.name << " (" << one.kernel << "): " << plan.tasks << " tasks, " << threads
            << " threads, " << plan.work / 1e3 << " us";
      }
      EXPECT_LE(real, (threads <= 8 ? 1.35 : 1.65) * ideal)
          << graph->name << ", " << threads << " threads";
    }
  }
  EXPECT_GT(instructions, 100u);
}

}  // namespace
}  // namespace poprt::test
