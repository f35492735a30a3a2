// Small models whose evaluation would need terabytes of memory or hours.
#include <limits>

#include "case.h"

namespace poprt::hostile {
namespace {

constexpr int64_t kMega = 1 << 20, kTera = int64_t{1} << 40;

// Doubles v0 `times` times by Concat with itself. If `folds`, v0 is a constant, otherwise an input.
pb::ModelProto doubling(int times, bool folds) {
  pb::ModelProto m = empty_model();
  auto& g = *m.mutable_graph();
  if (folds)
    *g.add_initializer() = ints_tensor(Ints(1024, 1), "v0");
  else
    add_input(g, "v0", {1024});
  for (int i = 0; i < times; i++) {
    const std::string from = "v" + std::to_string(i);
    add_attribute(add_node(g, "Concat", {from, from}, {"v" + std::to_string(i + 1)}),
                  {"axis", int64_t{0}});
  }
  add_output(g, "v" + std::to_string(times));
  return m;
}

pb::ModelProto loop_of(int64_t trips) {
  pb::ModelProto m = empty_model();
  auto& g = *m.mutable_graph();
  *g.add_initializer() = changed(ints_tensor({trips}, "trips"), [](auto& t) { t.clear_dims(); });
  add_input(g, "x");
  add_output(g, "y");
  auto& n = add_node(g, "Loop", {"trips", "", "x"}, {"y"});
  auto& body = add_subgraph(n, "body");
  add_input(body, "i", {}, kS64);
  add_input(body, "go", {}, kBool);
  add_input(body, "v");
  add_node(body, "Identity", {"go"}, {"go_on"});
  add_node(body, "Relu", {"v"}, {"w"});
  add_output(body, "go_on");
  add_output(body, "w");
  return m;
}

// Nested loops of a thousand iterations each.
pb::ModelProto loops(int depth) {
  pb::ModelProto m = empty_model();
  auto& g = *m.mutable_graph();
  *g.add_initializer() = changed(ints_tensor({1000}, "trips"), [](auto& t) { t.clear_dims(); });
  add_input(g, "v");
  add_output(g, "w0");
  pb::GraphProto* at = &g;
  std::string from = "v";
  for (int d = 0; d < depth; d++) {
    const std::string k = std::to_string(d);
    auto& n = add_node(*at, "Loop", {"trips", "", from}, {"w" + k});
    if (d) add_output(*at, "w" + k);
    at = &add_subgraph(n, "body");
    add_input(*at, "i" + k, {}, kS64);
    add_input(*at, "go" + k, {}, kBool);
    add_input(*at, from = "v" + k);
    add_node(*at, "Identity", {"go" + k}, {"go_on" + k});
    add_output(*at, "go_on" + k);
  }
  add_node(*at, "Relu", {from}, {"last"});
  add_output(*at, "last");
  return m;
}

}  // namespace

Cases bomb_cases() {
  return {
      reject("input_of_terabytes", "bytes", Op{"Relu", {in({kTera})}}),
      reject("input_of_4_petabytes_of_bytes", "bytes", Op{"Abs", {in({kMega, kMega, 4096}, kS8)}}),
      reject("constant_of_shape_of_terabytes", "bytes", Op{"ConstantOfShape", {ints({kTera})}}),
      reject("expand_to_terabytes", "bytes", Op{"Expand", {in({1}), ints({kMega, kMega})}}),
      reject("tile_to_terabytes", "kernel strided_copy: dim is 1099511627776, expected 0 to",
             Op{"Tile", {in({1}), ints({kTera})}}),
      reject("pad_to_terabytes", "bytes", Op{"Pad", {in({1}), ints({kTera, 0})}}),
      reject("range_of_terabytes", "1099511627776 elements are too many",
             Op{"Range", {int_scalar(0), int_scalar(kTera), int_scalar(1)}}),
      reject("one_hot_of_terabytes", "bytes",
             Op{"OneHot", {in({1024}, kS64), int_scalar(kTera), floats({0, 1})}}),
      reject("resize_to_terabytes", "bytes",
             Op{"Resize", {in({1, 1, 4, 4}), none(), none(), ints({1, 1, kMega, kMega})}}),
      reject("resize_by_a_million", "bytes",
             Op{"Resize", {in({1, 1, 4, 4}), none(), floats({1, 1, 1e6f, 1e6f})}}),
      reject("upsample_to_terabytes", "bytes",
             Op{"Upsample", {in({1, 1, 4, 4})}, {{"scales", Floats{1, 1, 1e6f, 1e6f}}}, 7}),
      reject("random_of_terabytes", "kernel random: count is 1099511627776, expected 0 to",
             Op{"RandomNormal", {}, {{"shape", Ints{kTera}}}}),
      reject("hann_window_of_terabytes", "the size must be one number from 0",
             Op{"HannWindow", {int_scalar(kTera)}}),
      reject("mel_weights_of_terabytes",
             "num_mel_bins and dft_length must be single numbers from 0 to 16777216",
             Op{"MelWeightMatrix",
                {int_scalar(kMega), int_scalar(kTera), int_scalar(kMega), float_scalar(0),
                 float_scalar(1000)}}),
      reject("outer_product_of_terabytes", "bytes", Op{"MatMul", {in({kMega, 1}), in({1, kMega})}}),
      reject("broadcast_to_terabytes", "bytes", Op{"Add", {in({kMega, 1}), in({1, kMega})}}),
      reject("comparison_of_terabytes", "bytes", Op{"Equal", {in({kMega, 1}), in({1, kMega})}}),
      reject("einsum_of_terabytes", "bytes",
             Op{"Einsum", {in({kMega}), in({kMega})}, {{"equation", std::string("i,j->ij")}}}),
      reject("gather_of_terabytes", "bytes", Op{"Gather", {in({1, kMega}), in({kMega}, kS64)}}),
      reject("conv_pads_of_terabytes", "bytes",
             Op{"Conv",
                {in({1, 1, 4, 4}), in({1, 1, 3, 3})},
                {{"pads", Ints{kMega, kMega, kMega, kMega}}}}),
      reject("conv_transpose_strides_of_terabytes",
             "executable 'model': kernel scratch: 79164988194944 bytes are more",
             Op{"ConvTranspose",
                {in({1, 1, 4, 4}), in({1, 1, 3, 3})},
                {{"strides", Ints{kMega, kMega}}}}),
      reject("max_unpool_of_terabytes", "bytes",
             Op{"MaxUnpool",
                {in({1, 1, 2, 2}), in({1, 1, 2, 2}, kS64)},
                {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{kMega, kMega}}}}),
      reject("roi_align_of_terabytes", "bytes",
             Op{"RoiAlign",
                {in({1, 1, 4, 4}), in({1, 4}), in({1}, kS64)},
                {{"output_height", kMega}, {"output_width", kMega}}}),
      reject("grid_sample_of_terabytes", "bytes",
             Op{"GridSample", {in({1, kMega, 1, 1}), in({1, kMega, 1, 2})}}),
      reject("affine_grid_of_terabytes", "bytes",
             Op{"AffineGrid", {in({1, 2, 3}), ints({1, 1, kMega, kMega})}, {}, 20}),
      reject("col2im_of_terabytes",
             "input [1,1,1] does not fit image [1048576,1048576] and block [1,1]",
             Op{"Col2Im", {in({1, 1, 1}), ints({kMega, kMega}), ints({1, 1})}, {}, 18}),
      reject("center_pad_of_terabytes", "bytes",
             Op{"CenterCropPad", {in({2, 2}), ints({kMega, kMega})}, {}, 18}),
      reject("non_zero_of_terabytes", "kernel non_zero: bound is 1099511627776, expected 0 to",
             Op{"NonZero", {in({kMega, kMega})}}),
      reject("attention_of_terabytes", "bytes",
             Op{"Attention",
                {in({1, 1, kMega, 1}), in({1, 1, kMega, 1}), in({1, 1, kMega, 1})},
                {},
                23,
                4}),
      reject("doubling_constants_40_times", "bytes", doubling(40, true)),
      reject("doubling_inputs_40_times", "bytes", doubling(40, false)),
      reject("doubling_62_times", "bytes", doubling(62, false)),
      // Loops have no limit: a loop of 10^18 rounds runs until its caller stops it.
      accept("loop_of_a_million", loop_of(1000000)),
      accept("loops_in_loops", loops(2)),
      accept("many_dimensions_of_size_1", Op{"Relu", {in(Dims(32, 1))}}),
      accept("nothing_however_wide",
             Op{"Concat", {in({0, 1 << 30}), in({0, 1 << 30})}, {{"axis", int64_t{0}}}}),
  };
}

}  // namespace poprt::hostile
