#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "opsets/rules.h"

namespace poprt::opsets {
namespace {

Value* no_floats(Rewriter& r) { return r.constant(Tensor::zeros(DType::f32, {0})); }

Value* floats(Rewriter& r, const std::vector<float>& values) {
  return r.constant(
      Tensor::of<float>({static_cast<int64_t>(values.size())}, std::span<const float>(values)));
}

std::vector<int64_t> all_axes(int64_t rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

}  // namespace

void reshape_without_allowzero(Rewriter& r) {
  const bool zeros = r.at.int_attr("allowzero", 0) != 0;
  r.drop("allowzero");
  if (!zeros) return;
  const auto shape = r.known_ints(1, "a zero in it means another thing there (allowzero)");
  const ir::ValueType& x = r.in(0)->type;
  for (size_t i = 0; i < shape.size(); i++)
    if (shape[i] == 0 && !(x.has_shape && i < x.shape.size() && x.shape[i] == 0))
      r.reject("that opset has no allowzero, which dimensions of zero elements need");
}

void upsample_scales_to_input(Rewriter& r) {
  r.at.set_input(1, floats(r, r.at.floats_attr("scales")));
  r.drop("scales");
}

// Upsample and the Resize of opset 10 both read the input at position output / scale.
void upsample_to_resize(Rewriter& r) { r.at.op_type = "Resize"; }

void resize_from_10(Rewriter& r) {
  const Tensor* scales = r.constant_or_null(1);
  if (!scales) r.reject("the scales must be constant");
  const auto values = scales->to_doubles();
  const bool grows = std::any_of(values.begin(), values.end(), [](double s) { return s > 1; }),
             shrinks = std::any_of(values.begin(), values.end(), [](double s) { return s < 1; });
  // Opset 10 does not define the rounding. ONNX Runtime rounds up if a dimension shrinks.
  if (r.at.string_attr("mode", "nearest") == "nearest") {
    if (grows && shrinks) r.reject("it shrinks one dimension and enlarges another");
    r.at.attributes["nearest_mode"] = std::string(shrinks ? "ceil" : "floor");
  }
  r.at.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  Value* const given = r.in(1);
  r.at.set_input(1, no_floats(r));
  r.at.set_input(2, given);
}

void resize_with_all_inputs(Rewriter& r) {
  for (const size_t i : {size_t{1}, size_t{2}})
    if (!r.has(i)) r.at.set_input(i, no_floats(r));
}

void resize_without_axes(Rewriter& r) {
  if (r.at.int_attr("antialias", 0) != 0) r.reject("it has no antialias there");
  if (r.at.string_attr("keep_aspect_ratio_policy", "stretch") != "stretch")
    r.reject("it has no keep_aspect_ratio_policy there");
  r.drop("antialias");
  r.drop("keep_aspect_ratio_policy");
  const auto axes = r.take_ints("axes");
  if (!axes) return;
  const int64_t rank = r.rank(0);
  const auto place = [&](size_t i) {
    return static_cast<size_t>(((*axes)[i] % rank + rank) % rank);
  };
  if (r.has(1)) {  // the starts, then the ends, of each axis
    const Tensor* roi = r.constant_or_null(1);
    if (!roi) r.reject("the region must be constant, all axes have one there");
    const auto values = roi->to_doubles();
    std::vector<float> all(static_cast<size_t>(2 * rank), 0.0f);
    std::fill(all.begin() + rank, all.end(), 1.0f);
    for (size_t i = 0; i < axes->size() && values.size() == 2 * axes->size(); i++) {
      all[place(i)] = static_cast<float>(values[i]);
      all[place(i) + static_cast<size_t>(rank)] = static_cast<float>(values[axes->size() + i]);
    }
    r.at.set_input(1, floats(r, all));
  }
  if (const Tensor* scales = r.constant_or_null(2); scales && scales->count()) {
    std::vector<float> all(static_cast<size_t>(rank), 1.0f);
    const auto values = scales->to_doubles();
    for (size_t i = 0; i < axes->size(); i++) all[place(i)] = static_cast<float>(values.at(i));
    r.at.set_input(2, floats(r, all));
  } else if (r.has(3)) {
    std::vector<int64_t> all = r.shape(0);
    const auto values = r.known_ints(3, "all axes have a size there");
    for (size_t i = 0; i < axes->size(); i++) all[place(i)] = values.at(i);
    r.at.set_input(3, r.ints(all));
  } else {
    r.reject("the scales must be constant, all axes have one there");
  }
}

void shape_to_slice(Rewriter& r) {
  const int64_t first = r.at.int_attr("start", 0);
  const int64_t last = r.at.int_attr("end", std::numeric_limits<int64_t>::max());
  const bool all = first == 0 && !r.at.find_attr("end");
  r.drop("start");
  r.drop("end");
  if (all) return;
  Value* whole = r.newest("Shape", {r.in(0)});
  r.result(0, r.newest("Slice", {whole, r.ints({first}), r.ints({last}), r.ints({0})}));
}

void scatter_to_scatter_elements(Rewriter& r) {
  r.at.op_type = "ScatterElements";
  r.drop("reduction");  // Scatter does not have it
}

void gather_nd_without_batch(Rewriter& r) {
  const int64_t batch = r.at.int_attr("batch_dims", 0);
  r.drop("batch_dims");
  if (batch == 0) return;
  // Adds the position in the batch before each index. Example: with batch_dims 1, the indices
  // [[1],[0]] of data [2,3] become [[0,1],[1,0]].
  const Shape& indices = r.shape(1);
  if (batch < 0 || batch >= static_cast<int64_t>(indices.size()))
    r.reject("batch_dims {} of indices {}", batch, shape_string(indices));
  Shape places(indices.begin(), indices.end() - 1);
  places.push_back(batch);
  r.check_constant_size(places);
  const int64_t rows = element_count(places) / batch;
  const int64_t inner = element_count(std::span(indices).subspan(static_cast<size_t>(batch))) /
                        std::max<int64_t>(indices.back(), 1);
  Tensor prefix = Tensor::zeros(DType::s64, places);
  auto to = prefix.mutable_values<int64_t>();
  for (int64_t row = 0; row < rows; row++)
    for (int64_t d = batch, rest = row / std::max<int64_t>(inner, 1); d-- > 0;) {
      to[static_cast<size_t>(row * batch + d)] = rest % indices[static_cast<size_t>(d)];
      rest /= indices[static_cast<size_t>(d)];
    }
  Value* all = r.newest("Concat", {r.constant(prefix), r.in(1)}, {{"axis", int64_t{-1}}});
  r.result(0, r.newest("GatherND", {r.in(0), all}));
}

void center_crop_pad_to_parts(Rewriter& r) {
  const Shape& x = r.shape(0);
  const auto rank = static_cast<int64_t>(x.size());
  const auto sizes = r.known_ints(1, "what is cropped and padded is fixed there");
  const auto axes = r.at.find_attr("axes") ? r.at.ints_attr("axes") : all_axes(rank);
  if (sizes.size() != axes.size() || (rank == 0 && !axes.empty()))
    r.reject("{} sizes of {} axes of {}", sizes.size(), axes.size(), shape_string(x));
  std::vector<int64_t> begins(x.size(), 0), ends = x, pads(2 * x.size(), 0);
  for (size_t i = 0; i < axes.size(); i++) {
    const auto d = static_cast<size_t>((axes[i] % rank + rank) % rank);
    const int64_t surplus = x[d] - sizes[i];
    if (surplus > 0) {
      begins[d] = surplus / 2;
      ends[d] = begins[d] + sizes[i];
    } else {
      pads[d] = -surplus / 2;
      pads[d + x.size()] = -surplus - pads[d];
    }
  }
  Value* y = r.newest("Slice", {r.in(0), r.ints(begins), r.ints(ends), r.ints(all_axes(rank))});
  r.result(0, r.newest("Pad", {y, r.ints(pads)}));
}

void trilu_to_where(Rewriter& r) {
  const Shape& shape = r.shape(0);
  if (shape.size() < 2) r.reject("a matrix is expected");
  const bool upper = r.at.int_attr("upper", 1) != 0;
  const int64_t rows = shape[shape.size() - 2], columns = shape.back();
  r.check_constant_size(std::array{rows, columns});
  // The distance of each position from the diagonal, positive above it.
  Tensor above = Tensor::zeros(DType::s64, {rows, columns});
  auto to = above.mutable_values<int64_t>();
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) to[static_cast<size_t>(i * columns + j)] = j - i;
  const Tensor* k = r.has(1) ? r.constant_or_null(1) : nullptr;
  Value* keep = nullptr;
  if (r.has(1) && !k) {
    keep = r.newest(upper ? "GreaterOrEqual" : "LessOrEqual", {r.constant(above), r.in(1)});
  } else {
    if (k && k->count() != 1) r.reject("k has {} elements, expected one", k->count());
    const int64_t by = k ? k->to_int64s()[0] : 0;
    Tensor chosen = Tensor::zeros(DType::boolean, {rows, columns});
    auto* choice = static_cast<uint8_t*>(chosen.mutable_data());
    for (size_t i = 0; i < to.size(); i++) choice[i] = upper ? to[i] >= by : to[i] <= by;
    keep = r.constant(chosen);
  }
  r.result(0, r.newest("Where", {keep, r.in(0), r.constant(Tensor::zeros(r.dtype(0), {}))}));
}

void space_to_depth_to_transpose(Rewriter& r) {
  const bool columns_first = r.at.string_attr("mode", "DCR") == "CRD";
  r.drop("mode");
  if (!columns_first) return;
  const Shape& x = r.shape(0);
  const int64_t b = r.at.int_attr("blocksize", 0);
  if (x.size() != 4 || b < 1 || x[2] % b || x[3] % b) r.reject("blocks do not divide the image");
  Value* y = r.newest("Reshape", {r.in(0), r.ints({x[0], x[1], x[2] / b, b, x[3] / b, b})});
  y = r.newest("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 1, 3, 5, 2, 4}}});
  r.result(0, r.newest("Reshape", {y, r.ints({x[0], x[1] * b * b, x[2] / b, x[3] / b})}));
}

void affine_grid_to_matmul(Rewriter& r) {
  const auto size = r.known_ints(1, "the grid is fixed there");
  const size_t dims = std::max<size_t>(size.size(), 2) - 2;
  if (dims != 2 && dims != 3) r.reject("size {} is not the size of an image", shape_string(size));
  const bool corners = r.at.int_attr("align_corners", 0) != 0;
  const Shape grid(size.begin() + 2, size.end());
  r.check_constant_size(grid);
  // The coordinates of all points, x first, and a 1 for the offset.
  std::vector<float> points;
  for (int64_t p = 0; p < element_count(grid); p++) {
    int64_t rest = p;
    for (size_t d = dims; d-- > 0; rest /= grid[d]) {
      const auto i = static_cast<float>(rest % grid[d]), n = static_cast<float>(grid[d]);
      points.push_back(corners ? (grid[d] == 1 ? 0.0f : -1 + 2 * i / (n - 1))
                               : (2 * i + 1) / n - 1);
    }
    points.push_back(1.0f);
  }
  const Tensor table = Tensor::of<float>({1, element_count(grid), static_cast<int64_t>(dims) + 1},
                                         std::span<const float>(points));
  Value* base = r.cast(r.constant(table), r.dtype(0));
  Value* y =
      r.newest("MatMul",
               {base, r.newest("Transpose", {r.in(0)}, {{"perm", std::vector<int64_t>{0, 2, 1}}})});
  Shape shape = {size[0]};
  shape.insert(shape.end(), grid.begin(), grid.end());
  shape.push_back(static_cast<int64_t>(dims));
  r.result(0, r.newest("Reshape", {y, r.ints(shape)}));
}

void grid_sample_modes_up(Rewriter& r) {
  const std::string mode = r.at.string_attr("mode", "bilinear");
  r.at.attributes["mode"] = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
}

void grid_sample_modes_down(Rewriter& r) {
  const std::string mode = r.at.string_attr("mode", "linear");
  if (r.rank(0) != 4) r.reject("it takes images alone there, of four dimensions");
  r.at.attributes["mode"] = mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode;
}

void roi_align_to_explicit(Rewriter& r) {
  r.at.attributes["coordinate_transformation_mode"] = std::string("output_half_pixel");
}

void roi_align_to_implicit(Rewriter& r) {
  if (r.at.string_attr("coordinate_transformation_mode", "half_pixel") != "output_half_pixel")
    r.reject("coordinates are output_half_pixel there");
  r.drop("coordinate_transformation_mode");
}

void pad_without_wrap(Rewriter& r) {
  if (r.at.string_attr("mode", "constant") == "wrap") r.reject("it has no mode 'wrap' there");
}

void resize_without_symmetric(Rewriter& r) {
  if (r.at.string_attr("coordinate_transformation_mode", "") == "half_pixel_symmetric")
    r.reject("it has no half_pixel_symmetric there");
}

void scatter_without_extremes(Rewriter& r) {
  const std::string reduction = r.at.string_attr("reduction", "none");
  if (reduction == "max" || reduction == "min")
    r.reject("it has no reduction '{}' there", reduction);
}

}  // namespace poprt::opsets
