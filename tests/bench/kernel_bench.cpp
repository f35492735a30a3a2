// Matmul and convolution kernels on one thread, against oneDNN with packed weights where it is
// installed. Runs alternate; minimum and median of the rounds are printed.
//   kernel_bench [filter] [rounds]
// A filter that begins with "winograd" compares the algorithms of 3x3 convolutions instead, for
// the model of their time (ops/common/conv_kernel.cpp): "winograd", or a part of a printed name.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "ir/graph.h"
#include "kernels/kernel.h"
#include "ops/op.h"
#include "program/builder.h"
#ifdef POPRT_BENCH_DNNL
#include <dnnl.hpp>
#endif

namespace poprt {
namespace {

using Clock = std::chrono::steady_clock;

// A program of one node with separate buffers, whose kernels are prepared once.
class Bound final : public ops::LowerContext {
 public:
  Bound(const ir::Node& n, program::Builder& b) : LowerContext(n, b) {
    for (const ir::Value* v : n.inputs())
      ins_.push_back(v ? place(v->dtype(), v->shape(), v) : kNone);
    for (const ir::Value* v : n.outputs()) outs_.push_back(place(v->dtype(), v->shape(), nullptr));
    ops::op_of(n).lower(*this);
    arena_ = Tensor::zeros(DType::u8, {static_cast<int64_t>(b.program().arena_bytes)});
    weights_ = Tensor::zeros(DType::u8, {static_cast<int64_t>(b.program().weights_bytes)});
    for (const program::Weight& w : b.weight_records())
      w.fill({static_cast<std::byte*>(weights_.mutable_data()) + w.offset, w.bytes});
    auto* floats = static_cast<float*>(arena_.mutable_data());
    for (uint64_t i = 0; i < arena_.bytes() / 4; i++)
      floats[i] = static_cast<float>(i * 7919 % 1000) * 1e-3f - 0.5f;
    for (const program::Instruction& in : b.program().main) {
      std::vector<kernels::Operand> operands;
      std::vector<void*> data;
      for (const uint32_t id : in.operands) {
        if (id == program::kNoBuffer) {
          operands.emplace_back();
          data.push_back(nullptr);
          continue;
        }
        const program::Buffer& buffer = b.program().buffers[id];
        operands.push_back({true, buffer.dtype, buffer.shape, buffer.bytes});
        Tensor& space = buffer.space == program::Space::weights ? weights_ : arena_;
        data.push_back(static_cast<std::byte*>(space.mutable_data()) + buffer.offset);
      }
      const kernels::Kernel* kernel = kernels::find_kernel(b.program().kernels[in.kernel]);
      calls_.emplace_back(in.ints.begin(), in.ints.end());
      calls_.back().push_back(static_cast<int64_t>(in.kernel));
      calls_.back().push_back(static_cast<int64_t>(in.ints.size()));
      plans_.push_back(kernel->prepare({operands, in.ints, in.floats}));
      data_.push_back(std::move(data));
      scratch_ = std::max(scratch_, plans_.back().scratch_bytes);
    }
    scratch_memory_ = Tensor::zeros(DType::u8, {static_cast<int64_t>(scratch_)});
  }
  void run() {
    for (size_t i = 0; i < plans_.size(); i++)
      plans_[i].run(plans_[i].params.get(), data_[i].data(), 0, plans_[i].tasks * plans_[i].rounds,
                    static_cast<std::byte*>(scratch_memory_.mutable_data()));
  }
  // Reads all values that are not weights into the caches.
  void read_values() const {
    volatile float sum = 0;
    const auto* floats = static_cast<const float*>(arena_.data());
    for (uint64_t i = 0; i < arena_.bytes() / 4; i += 16) sum = sum + floats[i];
  }
  // The integers of all calls, which contain the algorithm and its tile.
  const std::vector<std::vector<int64_t>>& kernels() const { return calls_; }
  double work() const {
    double w = 0;
    for (const auto& p : plans_) w += p.work;
    return w;
  }
  int64_t tasks() const { return plans_.empty() ? 0 : plans_.back().tasks; }
  BufferId in(size_t i) override { return ins_[i]; }
  BufferId out(size_t i) override { return outs_[i]; }
  BufferId temporary(DType dtype, Shape shape) override { return place(dtype, shape, nullptr); }
  BufferId state(int64_t, DType dtype, Shape shape) override {
    return temporary(dtype, std::move(shape));
  }
  BufferId view(BufferId of, uint64_t offset, DType dtype, Shape shape) override {
    program::Buffer b = builder.buffer(of);
    b.offset += offset;
    b.bytes = dtype_bytes(dtype, element_count(shape));
    b.dtype = dtype;
    b.shape = std::move(shape);
    builder.program().buffers.push_back(std::move(b));
    return static_cast<BufferId>(builder.program().buffers.size() - 1);
  }

 private:
  BufferId place(DType dtype, const Shape& shape, const ir::Value* v) {
    if (v && v->is_constant()) return kNone;
    return builder.arena(builder.program().arena_bytes, dtype_bytes(dtype, element_count(shape)),
                         dtype, shape);
  }
  std::vector<BufferId> ins_, outs_;
  Tensor arena_, weights_, scratch_memory_;
  std::vector<kernels::Plan> plans_;
  std::vector<std::vector<void*>> data_;
  std::vector<std::vector<int64_t>> calls_;
  size_t scratch_ = 0;
};

struct Case {
  std::string name;
  double flops = 0;
  std::unique_ptr<ir::Graph> graph;
  std::unique_ptr<program::Builder> builder;
  std::unique_ptr<Bound> ours;
  std::function<void()> theirs;
};

Tensor pattern(Shape shape) {
  Tensor t = Tensor::zeros(DType::f32, std::move(shape));
  auto v = t.mutable_values<float>();
  for (size_t i = 0; i < v.size(); i++) v[i] = static_cast<float>(i * 104729 % 1000) * 1e-3f - 0.5f;
  return t;
}

ir::Node* finish(Case& c, ir::Node* node) {
  ops::infer(*node);
  c.builder = std::make_unique<program::Builder>();
  c.ours = std::make_unique<Bound>(*node, *c.builder);
  return node;
}

Case matmul(std::string name, int64_t m, int64_t k, int64_t n) {
  Case c;
  c.name = name + " " + std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n);
  c.flops = 2.0 * static_cast<double>(m * k * n);
  c.graph = std::make_unique<ir::Graph>();
  c.graph->opsets = {{"", 17}, {"poprt", 1}};
  ir::Value* x = c.graph->add_input("x", ir::ValueType::of(DType::f32, {m, k}));
  ir::Value* w = c.graph->add_constant("w", pattern({k, n}));
  finish(c, c.graph->add_node("Linear", "poprt", {x, w}));
#ifdef POPRT_BENCH_DNNL
  using namespace dnnl;
  static engine eng(engine::kind::cpu, 0);
  static stream s(eng);
  const auto f32 = memory::data_type::f32;
  memory::desc a({m, k}, f32, memory::format_tag::ab), b({k, n}, f32, memory::format_tag::any),
      o({m, n}, f32, memory::format_tag::ab);
  auto pd = dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, o), eng);
  memory ma(a, eng), mo(o, eng), mb(pd.weights_desc(), eng);
  auto prim = std::make_shared<dnnl::matmul>(pd);
  std::unordered_map<int, memory> args{
      {DNNL_ARG_SRC, ma}, {DNNL_ARG_WEIGHTS, mb}, {DNNL_ARG_DST, mo}};
  for (auto& [key, mem] : args) std::memset(mem.get_data_handle(), 0, mem.get_desc().get_size());
  c.theirs = [=] { prim->execute(s, args); };
#endif
  return c;
}

struct ConvSpec {
  const char* name;
  int64_t c, h, w, m, k, stride, pad, group;
};

Case conv(const ConvSpec& v) {
  Case c;
  c.name = fmt::format("{} {}x{}x{} -> {} k{} s{} g{}", v.name, v.c, v.h, v.w, v.m, v.k, v.stride,
                       v.group);
  const int64_t oh = (v.h + 2 * v.pad - v.k) / v.stride + 1,
                ow = (v.w + 2 * v.pad - v.k) / v.stride + 1;
  c.flops = 2.0 * static_cast<double>(oh * ow * v.m * v.c / v.group * v.k * v.k);
  c.graph = std::make_unique<ir::Graph>();
  c.graph->opsets = {{"", 17}, {"poprt", 1}};
  ir::Value* x = c.graph->add_input(
      "x", ir::ValueType::of(DType::f32, v.c < 16 ? Shape{1, v.c, v.h, v.w}
                                                  : Shape{1, (v.c + 15) / 16, v.h, v.w, 16}));
  ir::Value* w = c.graph->add_constant("w", pattern({v.m, v.c / v.group, v.k, v.k}));
  ir::Value* b = c.graph->add_constant("b", pattern({v.m}));
  ir::Node* node = c.graph->add_node("Conv", "poprt", {x, w, b});
  node->attributes["kernel_shape"] = std::vector<int64_t>{v.k, v.k};
  node->attributes["strides"] = std::vector<int64_t>{v.stride, v.stride};
  node->attributes["pads"] = std::vector<int64_t>{v.pad, v.pad, v.pad, v.pad};
  node->attributes["group"] = v.group;
  node->attributes["channels"] = v.c;
  node->attributes["activation"] = std::string("relu");
  finish(c, node);
#ifdef POPRT_BENCH_DNNL
  using namespace dnnl;
  static engine eng(engine::kind::cpu, 0);
  static stream s(eng);
  const auto f32 = memory::data_type::f32;
  const auto any = memory::format_tag::any;
  memory::desc src({1, v.c, v.h, v.w}, f32, any), dst({1, v.m, oh, ow}, f32, any),
      bias({v.m}, f32, memory::format_tag::x);
  memory::desc wei =
      v.group == 1 ? memory::desc({v.m, v.c, v.k, v.k}, f32, any)
                   : memory::desc({v.group, v.m / v.group, v.c / v.group, v.k, v.k}, f32, any);
  post_ops ops;
  ops.append_eltwise(1.f, algorithm::eltwise_relu, 0.f, 0.f);
  primitive_attr attr;
  attr.set_post_ops(ops);
  const bool winograd = v.k == 3 && v.stride == 1 && v.group == 1 && v.c >= 16;
  convolution_forward::desc d(
      prop_kind::forward_inference,
      winograd ? algorithm::convolution_auto : algorithm::convolution_direct, src, wei, bias, dst,
      {v.stride, v.stride}, {v.pad, v.pad}, {v.pad, v.pad});
  convolution_forward::primitive_desc pd(d, attr, eng);
  auto prim = std::make_shared<convolution_forward>(pd);
  std::unordered_map<int, memory> args{{DNNL_ARG_SRC, memory(pd.src_desc(), eng)},
                                       {DNNL_ARG_WEIGHTS, memory(pd.weights_desc(), eng)},
                                       {DNNL_ARG_BIAS, memory(bias, eng)},
                                       {DNNL_ARG_DST, memory(pd.dst_desc(), eng)}};
  for (auto& [key, mem] : args) std::memset(mem.get_data_handle(), 0, mem.get_desc().get_size());
  c.theirs = [=] { prim->execute(s, args); };
#endif
  return c;
}

// A 3x3 convolution by Winograd's algorithm with plain weights and tiles of `tile`, by a direct sum
// if `tile` is 0, or by default if it is -1.
struct ThreeByThree {
  int64_t batch, channels, out_channels, height, width;
  bool bf16;
};

Case three_by_three(const ThreeByThree& v, int64_t tile) {
  Case c;
  c.graph = std::make_unique<ir::Graph>();
  c.graph->opsets = {{"", 17}, {"poprt", 1}};
  ir::Value* x = c.graph->add_input(
      "x", ir::ValueType::of(DType::f32, {v.batch, v.channels / 16, v.height, v.width, 16}));
  ir::Value* w = c.graph->add_constant("w", pattern({v.out_channels, v.channels, 3, 3}));
  ir::Value* b = c.graph->add_constant("b", pattern({v.out_channels}));
  ir::Node* node = c.graph->add_node("Conv", "poprt", {x, w, b});
  node->attributes["kernel_shape"] = std::vector<int64_t>{3, 3};
  node->attributes["pads"] = std::vector<int64_t>{1, 1, 1, 1};
  node->attributes["channels"] = v.channels;
  node->attributes["activation"] = std::string("relu");
  node->attributes["products"] = std::string(v.bf16 ? "bf16" : "f32");
  if (tile >= 0) node->attributes["winograd_tile"] = tile;
  finish(c, node);
  return c;
}

double time_of(const std::function<void()>& f, int64_t repeat) {
  const auto begin = Clock::now();
  for (int64_t i = 0; i < repeat; i++) f();
  return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(repeat);
}

void measure(Case& c, int rounds) {
  const std::function<void()> ours = [&] { c.ours->run(); };
  ours();
  const double once = time_of(ours, 1);
  const int64_t repeat =
      std::clamp<int64_t>(static_cast<int64_t>(0.01 / std::max(once, 1e-7)), 1, 20000);
  std::vector<double> a, b;
  for (int i = 0; i < rounds; i++) {
    a.push_back(time_of(ours, repeat));
    if (c.theirs) b.push_back(time_of(c.theirs, repeat));
  }
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::printf("%-44s %9.2f us (median %9.2f) %7.1f Gflop/s, estimate %9.2f us, %3ld tasks",
              c.name.c_str(), a[0] * 1e6, a[a.size() / 2] * 1e6, c.flops / a[0] * 1e-9,
              c.ours->work() * 1e-3, static_cast<long>(c.ours->tasks()));
  if (!b.empty())
    std::printf(" | oneDNN %9.2f us %7.1f Gflop/s, ratio %.2f", b[0] * 1e6, c.flops / b[0] * 1e-9,
                b[0] / a[0]);
  std::printf("\n");
  std::fflush(stdout);
}

// Prints the medians of a direct sum and of F(2x2,3x3) and F(4x4,3x3), by turns, with weights in
// the caches and from memory, and "*" after the time of the algorithm that is chosen by default.
void compare_algorithms(const ThreeByThree& v, const std::string& filter, int rounds) {
  const std::string name = fmt::format("winograd {} b{} {}x{}x{} -> {}", v.bf16 ? "bf16" : "f32",
                                       v.batch, v.channels, v.height, v.width, v.out_channels);
  if (name.find(filter) == std::string::npos) return;
  constexpr std::array<int64_t, 3> kTiles = {0, 2, 4};
  std::vector<Case> cases;
  for (const int64_t tile : kTiles) cases.push_back(three_by_three(v, tile));
  const Case chosen = three_by_three(v, -1);
  std::array<std::vector<double>, 3> cached, from_memory;
  static std::vector<float> other_data(size_t{24} << 20);  // three times an L3 cache of 32 MiB
  for (int round = 0; round < rounds; round++)
    for (size_t i = 0; i < cases.size(); i++) {
      const std::function<void()> run = [&] { cases[i].ours->run(); };
      for (float& f : other_data) f += 1;
      cases[i].ours->read_values();
      from_memory[i].push_back(time_of(run, 1));
      for (double spent = 0; spent < 0.005;) {
        cached[i].push_back(time_of(run, 1));
        spent += cached[i].back();
      }
    }
  std::printf("%-30s", name.c_str());
  for (auto* times : {&cached, &from_memory}) {
    for (size_t i = 0; i < cases.size(); i++) {
      std::ranges::sort((*times)[i]);
      std::printf(" %9.1f%c", (*times)[i][(*times)[i].size() / 2] * 1e6,
                  cases[i].ours->kernels() == chosen.ours->kernels() ? '*' : ' ');
    }
    std::printf(times == &cached ? " us cached |" : " us from memory\n");
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace poprt

int main(int argc, char** argv) {
  using namespace poprt;
  if (!std::getenv("OMP_NUM_THREADS")) {  // oneDNN's thread pool reads it when it is loaded
    setenv("OMP_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
  }
  const std::string filter = argc > 1 ? argv[1] : "";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  if (filter.starts_with("winograd")) {
    for (const bool bf16 : {false, true})
      for (const int64_t batch : {1, 8, 32})
        for (const int64_t channels : {64, 128, 256, 512})
          for (const int64_t size : {1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 20, 28, 56})
            if (18 * batch * channels * channels * size * size < int64_t{5'000'000'000})
              compare_algorithms({batch, channels, channels, size, size, bf16}, filter, rounds);
    for (const bool bf16 : {false, true})
      for (const auto& [channels, out_channels, size] :
           std::initializer_list<std::array<int64_t, 3>>{{16, 16, 8},
                                                         {16, 16, 80},
                                                         {32, 32, 40},
                                                         {16, 64, 56},
                                                         {64, 16, 56},
                                                         {64, 32, 128},
                                                         {64, 256, 14},
                                                         {256, 64, 14},
                                                         {128, 16, 10},
                                                         {512, 128, 10},
                                                         {128, 512, 7},
                                                         {512, 64, 7}})
        compare_algorithms({1, channels, out_channels, size, size, bf16}, filter, rounds);
    for (const int64_t batch : {1, 8, 32})
      for (const int64_t channels : {64, 256, 512})
        for (const int64_t width : {26, 80})
          for (const int64_t height : {1, 2, 3})
            compare_algorithms({batch, channels, channels, height, width, false}, filter, rounds);
    return 0;
  }
  struct M {
    const char* name;
    int64_t m, k, n;
  };
  for (const M& s : std::initializer_list<M>{{"bert proj", 128, 768, 768},
                                             {"bert qkv", 128, 768, 2304},
                                             {"bert ffn1", 128, 768, 3072},
                                             {"bert ffn2", 128, 3072, 768},
                                             {"gpt2 proj", 64, 768, 768},
                                             {"gpt2 ffn1", 64, 768, 3072},
                                             {"gpt2 ffn2", 64, 3072, 768},
                                             {"gpt2 head", 64, 768, 50257},
                                             {"mlp b1", 1, 64, 128},
                                             {"mlp b1", 1, 128, 128},
                                             {"mlp b1", 1, 64, 10},
                                             {"mlp b8", 8, 128, 128},
                                             {"gemv", 1, 4096, 4096},
                                             {"lstm b8", 8, 256, 1024},
                                             {"square", 64, 64, 64},
                                             {"square", 512, 512, 512},
                                             {"square", 1024, 1024, 1024}}) {
    if (std::string("matmul ").append(s.name).find(filter) == std::string::npos) continue;
    Case c = matmul(s.name, s.m, s.k, s.n);
    measure(c, rounds);
  }
  const ConvSpec convs[] = {
      {"rn50", 3, 224, 224, 64, 7, 2, 3, 1},    {"rn50", 64, 56, 56, 64, 1, 1, 0, 1},
      {"rn50", 64, 56, 56, 256, 1, 1, 0, 1},    {"rn50", 256, 56, 56, 64, 1, 1, 0, 1},
      {"rn50", 64, 56, 56, 64, 3, 1, 1, 1},     {"rn50", 128, 56, 56, 128, 3, 2, 1, 1},
      {"rn50", 256, 56, 56, 512, 1, 2, 0, 1},   {"rn50", 128, 28, 28, 128, 3, 1, 1, 1},
      {"rn50", 512, 28, 28, 128, 1, 1, 0, 1},   {"rn50", 128, 28, 28, 512, 1, 1, 0, 1},
      {"rn50", 256, 14, 14, 256, 3, 1, 1, 1},   {"rn50", 1024, 14, 14, 256, 1, 1, 0, 1},
      {"rn50", 256, 14, 14, 1024, 1, 1, 0, 1},  {"rn50", 512, 14, 14, 512, 3, 2, 1, 1},
      {"rn50", 512, 7, 7, 512, 3, 1, 1, 1},     {"rn50", 2048, 7, 7, 512, 1, 1, 0, 1},
      {"rn50", 512, 7, 7, 2048, 1, 1, 0, 1},    {"unet", 3, 256, 256, 32, 3, 1, 1, 1},
      {"unet", 32, 256, 256, 32, 3, 1, 1, 1},   {"unet", 64, 128, 128, 64, 3, 1, 1, 1},
      {"unet", 128, 64, 64, 128, 3, 1, 1, 1},   {"unet", 256, 32, 32, 256, 3, 1, 1, 1},
      {"unet", 512, 16, 16, 512, 3, 1, 1, 1},   {"unet", 64, 256, 256, 32, 3, 1, 1, 1},
      {"mbv2", 3, 224, 224, 32, 3, 2, 1, 1},    {"mbv2", 32, 112, 112, 32, 3, 1, 1, 32},
      {"mbv2", 32, 112, 112, 16, 1, 1, 0, 1},   {"mbv2", 16, 112, 112, 96, 1, 1, 0, 1},
      {"mbv2", 96, 112, 112, 96, 3, 2, 1, 96},  {"mbv2", 96, 56, 56, 24, 1, 1, 0, 1},
      {"mbv2", 24, 56, 56, 144, 1, 1, 0, 1},    {"mbv2", 144, 56, 56, 144, 3, 1, 1, 144},
      {"mbv2", 192, 28, 28, 192, 3, 1, 1, 192}, {"mbv2", 384, 14, 14, 64, 1, 1, 0, 1},
      {"mbv2", 384, 14, 14, 384, 3, 1, 1, 384}, {"mbv2", 960, 7, 7, 960, 3, 1, 1, 960},
      {"mbv2", 960, 7, 7, 160, 1, 1, 0, 1},     {"mbv2", 320, 7, 7, 1280, 1, 1, 0, 1},
      {"yolo", 3, 320, 320, 16, 6, 2, 2, 1},    {"yolo", 16, 160, 160, 32, 3, 2, 1, 1},
      {"yolo", 32, 80, 80, 16, 1, 1, 0, 1},     {"yolo", 16, 80, 80, 16, 3, 1, 1, 1},
      {"yolo", 32, 80, 80, 64, 3, 2, 1, 1},     {"yolo", 32, 40, 40, 32, 3, 1, 1, 1},
      {"yolo", 64, 20, 20, 64, 3, 1, 1, 1},     {"yolo", 128, 20, 20, 256, 3, 2, 1, 1},
      {"yolo", 128, 10, 10, 128, 3, 1, 1, 1},   {"yolo", 512, 10, 10, 256, 1, 1, 0, 1}};
  for (const ConvSpec& s : convs) {
    if (fmt::format("conv {} k{}", s.name, s.k).find(filter) == std::string::npos) continue;
    try {
      Case c = conv(s);
      measure(c, rounds);
    } catch (const Error& e) {
      std::printf("%s %s\n", s.name, e.what());
    }
  }
  return 0;
}
