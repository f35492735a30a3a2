#include "support/published_chip.h"

#include <algorithm>
#include <cmath>

#include "ipu/calibration.h"
#include "ipu/numbers.h"
#include "ipu/vertices.h"

namespace poprt::ipu {
namespace {

Product matrices(int64_t rows, int64_t in, int64_t out) {
  Product p;
  p.matmul = true;
  p.batch = rows;
  p.in = in;
  p.out = out;
  p.partials = DType::f32;
  return p;
}

Product convolution(int64_t batch, int64_t size, int64_t kernel, int64_t stride, int64_t in,
                    int64_t out) {
  Product p;
  p.batch = batch;
  p.rows = p.width = size;
  p.kernel_rows = p.kernel_width = kernel;
  p.stride_rows = p.stride_width = stride;
  p.in = in;
  p.out = out;
  p.partials = DType::f32;
  return p;
}

// The gradient of the inputs: weights are transposed, the field is that of the inputs.
Product backward(const Product& p) {
  Product b = p;
  std::swap(b.in, b.out);
  b.rows = p.rows * p.stride_rows;
  b.width = p.width * p.stride_width;
  b.kernel_rows = ceil_div(p.kernel_rows, p.stride_rows);
  b.kernel_width = ceil_div(p.kernel_width, p.stride_width);
  b.stride_rows = b.stride_width = 1;
  return b;
}

Product grouped(Product p, int64_t groups) {
  p.groups = groups;
  return p;
}

Product floats(Product p) {
  p.inputs = p.partials = p.result = DType::f32;
  return p;
}

// The gradient of the weights: the field is summed.
Product weight_update(const Product& p) {
  Product u = grouped(matrices(p.in * p.taps(), p.field(), p.out), p.groups);
  u.inputs = p.inputs;
  u.result = p.result;
  return u;
}

// Returns the cycles for transposing a tensor of n elements, whose layout another pass needs.
double transposition(const Target& t, DType type, int64_t n) {
  const int64_t here = ceil_div(n, t.tiles);
  return calibration().sync * 2 +
         static_cast<double>(chip_bytes(type, here) / t.exchange_bytes +
                             transpose_cycles(t, type, here) +
                             rearrangement_cycles(chip_bytes(type, here), 8));
}

double addition(const Target& t, DType type, int64_t n) {
  return calibration().sync + static_cast<double>(elementwise_cycles(t, Elementwise::add, type,
                                                                     ceil_div(n, t.tiles), 2));
}

// The inputs of the update of a convolution with several taps: every input is copied to the places
// of all taps that read it. A product of channels has none.
int64_t expanded(const Product& p) {
  return p.taps() > 1 ? p.groups * p.field() * p.in * p.taps() : 0;
}

double expansion(const Target& t, const Product& p) {
  const int64_t bytes = ceil_div(chip_bytes(p.inputs, expanded(p)), t.tiles);
  if (!bytes) return 0;
  return calibration().sync +
         static_cast<double>(bytes / t.exchange_bytes +
                             copy_cycles(t, bytes, chip_bytes(p.inputs, p.in)));
}

double live_bytes(const Plan& p) {
  return static_cast<double>(p.cost.temporary_bytes * p.split.tiles());
}

PassCycles pass_of(const char* name, const Plan& p, int64_t without_rearrangement = 0) {
  const PlanCost& c = p.cost;
  PassCycles pass{name, std::string(method_name(p.method))};
  const double rounds = static_cast<double>(p.split.serial_in * p.split.serial_out);
  pass.compute = rounds * static_cast<double>(c.compute);
  pass.exchange = rounds * static_cast<double>(c.input_exchange + c.weight_exchange);
  pass.sums = rounds * static_cast<double>(c.reduce + c.reduce_exchange);
  pass.total = static_cast<double>(c.total - without_rearrangement);
  pass.rearrange = pass.total - pass.compute - pass.exchange - pass.sums;
  return pass;
}

PassCycles between(const char* name, double cycles) {
  PassCycles pass{name, ""};
  pass.rearrange = pass.total = cycles;
  return pass;
}

}  // namespace

std::vector<PublishedRow> published_gemms() {
  constexpr double kCycles[] = {10128, 16810, 22142, 31355, 50820,  69554,  51094,  88869,  123952,
                                19998, 36759, 52059, 64309, 118757, 164997, 123229, 228667, 315397,
                                29172, 53924, 76353, 93032, 170108, 238742, 178134, 324972, 506247};
  constexpr double kBytes[] = {37.0,  51.4,  71.1,  67.6,  115.9, 152.0, 112.0, 182.6, 256.6,
                               93.0,  179.0, 166.4, 251.9, 487.6, 320.5, 463.6, 378.5, 520.1,
                               123.9, 183.8, 256.0, 302.8, 361.5, 518.8, 541.3, 588.4, 622.0};
  constexpr double kTile[] = {219, 224, 229, 224, 235, 229, 235, 235, 246, 230, 247, 265, 230, 378,
                              265, 361, 314, 397, 240, 268, 295, 240, 301, 394, 404, 433, 461};
  std::vector<PublishedRow> rows;
  size_t i = 0;
  for (const int64_t m : {200, 600, 1000})
    for (const int64_t k : {64, 256, 512})
      for (const int64_t n : {10000, 20000, 30000}) {
        rows.push_back({"gemm", matrices(m, k, n), kCycles[i], kBytes[i], false, kTile[i]});
        i++;
      }
  return rows;
}

std::vector<PublishedRow> published_layers() {
  return {{"bert_kqv_128x768x2304", matrices(128, 768, 2304), 50887, 48.7, true},
          {"bert_kqv_512x1024x3072", matrices(512, 1024, 3072), 214813, 168.1, true},
          {"bert_ffn1_128x768x3072", matrices(128, 768, 3072), 63478, 63.1, true},
          {"bert_ffn1_512x1024x4096", matrices(512, 1024, 4096), 268904, 213.0, true},
          {"bert_ffn2_128x3072x768", matrices(128, 3072, 768), 66644, 62.4, true},
          {"bert_ffn2_512x4096x1024", matrices(512, 4096, 1024), 274928, 213.1, true},
          {"bert_proj_128x768x768", matrices(128, 768, 768), 27545, 26.6, true},
          {"bert_proj_512x1024x1024", matrices(512, 1024, 1024), 96526, 71.4, true},
          {"bert_grouped_12x128x64x128", grouped(matrices(128, 64, 128), 12), 13215, 7.6, true},
          {"bert_grouped_12x512x64x512", grouped(matrices(512, 64, 512), 12), 50364, 56.5, true},
          {"fc_layer_16_1000_1000_half", matrices(16, 1000, 1000), 19538, 10.0, true},
          {"fc_layer_16_1000_1000_float", floats(matrices(16, 1000, 1000)), 19388, 15.7, true}};
}

std::vector<PublishedRow> published_convolutions() {
  return {
      {"resnet50_tr_bs4_cnv", convolution(4, 112, 7, 2, 3, 64), 148450, 144.0, true},
      {"resnet50_tr_bs4_bm64L0A1", convolution(4, 56, 3, 1, 64, 64), 84246, 73.9, true},
      {"resnet50_tr_bs4_bm128L0A1", convolution(4, 28, 3, 1, 128, 128), 82252, 70.9, true},
      {"resnet50_tr_bs4_bm256L0A1", convolution(4, 14, 3, 1, 256, 256), 84346, 59.5, true},
      {"resnet50_tr_bs4_bm512L0A1", convolution(4, 7, 3, 1, 512, 512), 81121, 80.3, true},
      {"resnet50_tr_bs4_bm64L0", convolution(4, 56, 1, 1, 64, 64), 22016, 32.7, true},
      {"resnet50_tr_bs4_bm64L0_projection", convolution(4, 56, 1, 1, 64, 256), 46489, 65.1, true},
      {"resnet50_tr_bs4_bm512L1A0", convolution(4, 7, 1, 1, 2048, 512), 50236, 54.9, true},
      {"alexnet_tr_bs4_layer1", convolution(4, 56, 11, 4, 3, 96), 127341, 131.7, true},
      {"vgg16_tr_bs4_v1L0", convolution(4, 224, 3, 1, 3, 64), 154644, 204.1, true},
      {"mobilenet_depthwise_1", grouped(convolution(4, 56, 3, 2, 1, 1), 64), 40866, 68.0, true}};
}

Prediction predict(const PublishedRow& row) {
  const Target& t = target_of("mk2");
  Product p = row.product;
  // The test programs create operands on the tiles where the plan of the forward pass needs them.
  p.resident_inputs = true;
  const Plan forward = plan_product(t, p, {});
  const int64_t inputs =
      p.groups * p.batch * p.rows * p.stride_rows * p.width * p.stride_width * p.in;
  const int64_t weights = p.groups * p.in * p.out * p.taps(),
                results = p.groups * p.field() * p.out;
  const auto size = static_cast<double>(chip_bytes(p.inputs, 1));
  Prediction out;
  if (!row.trains) {
    // C is added in place.
    out.cycles = static_cast<double>(forward.cost.total) + addition(t, p.inputs, results);
    out.megabytes =
        (size * static_cast<double>(inputs + weights + results) + live_bytes(forward)) / 1e6;
    // Partial sums are in interleaved memory, above the other bytes.
    const auto partial = static_cast<double>(forward.cost.partial_bytes);
    const double others = 1e6 * out.megabytes / static_cast<double>(t.tiles) - partial;
    out.kilobytes = (partial + std::max(static_cast<double>(t.plain_bytes), others)) / 1e3;
    return out;
  }
  const Plan back = plan_product(t, backward(p), {}),
             update = plan_product(t, weight_update(p), {});
  // The transpositions below are the rearrangements of the operands of the update.
  const int64_t rearranged = update.cost.rearrange
                                 ? update.cost.rearrange + update.cost.rearrange_exchange +
                                       static_cast<int64_t>(calibration().sync)
                                 : 0;
  out.passes = {pass_of("forward", forward),
                pass_of("backward", back),
                pass_of("weight update", update, rearranged),
                between("transpose weights", transposition(t, p.inputs, weights)),
                between("transpose inputs", transposition(t, p.inputs, inputs)),
                between("transpose gradients", transposition(t, p.inputs, results)),
                between("expand inputs", expansion(t, p)),
                between("add to weights", addition(t, p.inputs, weights))};
  for (const PassCycles& pass : out.passes) out.cycles += pass.total;
  // The weights, and the inputs and results with their gradients, exist always; passes share
  // temporary memory. The update reads copies of its operands, which are transposed and expanded.
  const double copies = size * static_cast<double>(std::max(expanded(p), inputs) + results);
  const double live =
      std::max({live_bytes(forward), live_bytes(back), live_bytes(update) + copies});
  out.megabytes = (size * static_cast<double>(2 * inputs + weights + 2 * results) + live) / 1e6;
  return out;
}

double geometric_mean(const std::vector<double>& ratios) {
  double sum = 0;
  for (const double r : ratios) sum += std::log(r);
  return std::exp(sum / static_cast<double>(std::max<size_t>(1, ratios.size())));
}

}  // namespace poprt::ipu
