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

// The gradient of the weights: the field is summed.
Product weight_update(const Product& p) { return matrices(p.in * p.taps(), p.field(), p.out); }

// A tensor whose layout another pass wants transposed.
double transposition(const Target& t, int64_t n) {
  const int64_t here = ceil_div(n, t.tiles);
  return calibration().sync * 2 +
         static_cast<double>(chip_bytes(DType::f16, here) / t.exchange_bytes +
                             transpose_cycles(t, DType::f16, here) +
                             rearrangement_cycles(chip_bytes(DType::f16, here), 8));
}

double addition(const Target& t, int64_t n) {
  return calibration().sync + static_cast<double>(elementwise_cycles(
                                  t, Elementwise::add, DType::f16, ceil_div(n, t.tiles), 2));
}

double live_bytes(const Plan& p) {
  return static_cast<double>(p.cost.temporary_bytes * p.split.tiles());
}

}  // namespace

std::vector<PublishedRow> published_gemms() {
  constexpr double kCycles[] = {10128, 16810, 22142, 31355, 50820,  69554,  51094,  88869,  123952,
                                19998, 36759, 52059, 64309, 118757, 164997, 123229, 228667, 315397,
                                29172, 53924, 76353, 93032, 170108, 238742, 178134, 324972, 506247};
  constexpr double kBytes[] = {37.0,  51.4,  71.1,  67.6,  115.9, 152.0, 112.0, 182.6, 256.6,
                               93.0,  179.0, 166.4, 251.9, 487.6, 320.5, 463.6, 378.5, 520.1,
                               123.9, 183.8, 256.0, 302.8, 361.5, 518.8, 541.3, 588.4, 622.0};
  std::vector<PublishedRow> rows;
  size_t i = 0;
  for (const int64_t m : {200, 600, 1000})
    for (const int64_t k : {64, 256, 512})
      for (const int64_t n : {10000, 20000, 30000}) {
        rows.push_back({"gemm", matrices(m, k, n), kCycles[i], kBytes[i], false});
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
          {"fc_layer_16_1000_1000_half", matrices(16, 1000, 1000), 19538, 10.0, true}};
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
      {"resnet50_tr_bs4_bm512L1A0", convolution(4, 7, 1, 1, 2048, 512), 50236, 54.9, true}};
}

Prediction predict(const PublishedRow& row) {
  const Target& t = target_of("mk2");
  Product p = row.product;
  // The test programs create the operands where the plan of the forward pass wants them.
  p.resident_inputs = true;
  const Plan forward = plan_product(t, p, {});
  const int64_t inputs = p.batch * p.rows * p.stride_rows * p.width * p.stride_width * p.in;
  const int64_t weights = p.in * p.out * p.taps(), results = p.field() * p.out;
  Prediction out;
  if (!row.trains) {
    // C is added in place.
    out.cycles = static_cast<double>(forward.cost.total) + addition(t, results);
    out.megabytes =
        (2.0 * static_cast<double>(inputs + weights + results) + live_bytes(forward)) / 1e6;
    return out;
  }
  const Plan back = plan_product(t, backward(p), {}),
             update = plan_product(t, weight_update(p), {});
  // The transpositions below are the rearrangements of the operands of the update.
  const int64_t rearranged = update.cost.rearrange
                                 ? update.cost.rearrange + update.cost.rearrange_exchange +
                                       static_cast<int64_t>(calibration().sync)
                                 : 0;
  out.cycles =
      static_cast<double>(forward.cost.total + back.cost.total + update.cost.total - rearranged) +
      transposition(t, weights) + transposition(t, inputs) + transposition(t, results) +
      addition(t, weights);
  // Inputs, weights, results and their gradients exist always; passes share temporary memory.
  const double live = std::max({live_bytes(forward), live_bytes(back), live_bytes(update)});
  out.megabytes = (2.0 * static_cast<double>(2 * inputs + weights + 2 * results) + live) / 1e6;
  return out;
}

double geometric_mean(const std::vector<double>& ratios) {
  double sum = 0;
  for (const double r : ratios) sum += std::log(r);
  return std::exp(sum / static_cast<double>(std::max<size_t>(1, ratios.size())));
}

}  // namespace poprt::ipu
