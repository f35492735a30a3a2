// Rules for the hook `axes` that several operators share. Each states which axes of a node's inputs
// become which axes of its outputs (ops/axes.h).
#pragma once

#include <span>

#include "ops/axes.h"
#include "ops/common/window.h"

namespace poprt::ops::axes {

// -- Rules of whole operators ---------------------------------------------------------------------

// Nothing is carried: the operator mixes all places, or it has no axes (sequences, subgraphs).
void none(AxesContext& ctx);
// The outputs depend on the shapes of the inputs alone, and all elements are alike; or each has
// the number of its place.
void shapes_alone(AxesContext& ctx);
void by_place(AxesContext& ctx);
// Random numbers, which depend on the place, for each element or sample of input 0.
void random_elements(AxesContext& ctx);
void random_samples(AxesContext& ctx);
// Each element of every output is computed from the elements in its place of the inputs, which
// broadcast. Inputs that say only what type the result has are not read.
void elementwise(AxesContext& ctx);
// The same where input 0 alone has places; the others are options for all elements.
void elementwise_first(AxesContext& ctx);
// Output 0 has the elements of input 0 in their order.
void in_order(AxesContext& ctx);
// Axis 0 of input 0 is axis 0 of every output.
void batch(AxesContext& ctx);
// Batched matrices: all axes of input 0 but the last two.
void batch_of_matrices(AxesContext& ctx);
// Input 0 with one axis (attribute `axis`, by default `standard`) mixed.
template <int64_t standard>
void along_attribute(AxesContext& ctx);
// Composes the maps of the nodes that the operator expands to (ops/common/expansion.h). Of inputs
// that are constant nothing is stated, because the expansion may have used their values.
void expansion(AxesContext& ctx);

// -- Parts of rules -------------------------------------------------------------------------------

// Carries every axis to the axis of the same number, except those in `but`.
void same(AxesContext& ctx, size_t input, size_t output, std::span<const size_t> but = {});
// Carries axes from `first` on, up to `last`, to those from `to` on.
void range(AxesContext& ctx, size_t input, size_t first, size_t last, size_t output, size_t to);
// Carries the axes that are left when `removed` (sorted) are removed, or kept with one place.
void remaining(AxesContext& ctx, size_t input, size_t output, std::span<const int64_t> removed,
               bool keeps);
// As the input broadcasts to the output: axes are aligned at the last.
void aligned(AxesContext& ctx, size_t input, size_t output);
// The same for an input that is read as `shape`, which has its axes first and ones after them.
void aligned_as(AxesContext& ctx, size_t input, const Shape& shape, size_t output);
// Elements of axes [first, last) of the input are those of axes [to, to_last) of the output, in the
// same order.
struct InOrder {
  size_t input = 0, first = 0, last = 0, output = 0, to = 0, to_last = 0;
};
void in_order(AxesContext& ctx, const InOrder& order);

// Windows that do not overlap and leave no gap relate places to places; others mix an axis.
// `axis_in` and `axis_out` are the first spatial axes.
void windows(AxesContext& ctx, const Window& window, size_t axis_in, size_t axis_out);

// Matrix products of inputs a and b, with leading axes that broadcast.
void product(AxesContext& ctx, size_t a, size_t b);
// A scale or zero point of the rows (columns) of a product: one number, one for each row, or in the
// shape of the matrix with an axis of one.
void product_rows(AxesContext& ctx, size_t input);
void product_columns(AxesContext& ctx, size_t input);

// A convolution of input x with weights w [M, C / group, ...].
void convolution(AxesContext& ctx, size_t x, size_t w);
// A vector with one entry for each channel of output 0, which is `axis` there.
void per_channel(AxesContext& ctx, size_t input, size_t axis = 1);

// An axis of the input (its place divided by block, in `extent` groups) and one of the output,
// whose places come in groups, too: channels and groups, columns and heads.
struct Grouped {
  InputAxis from;
  int64_t block = 1;
  size_t output = 0, to = 0;
  int64_t to_block = 1, extent = 1;
};
void grouped(AxesContext& ctx, const Grouped& g);

// Channels, [N,C,...] on `plain_axis`, become blocks of 16 on axes 1 and 4; and back.
void into_blocks(AxesContext& ctx, size_t input, size_t plain_axis, size_t output = 0);
void out_of_blocks(AxesContext& ctx, size_t input, size_t plain_axis, size_t output = 0);

// -- Links ----------------------------------------------------------------------------------------

// What two links in turn relate: `first` leads to the axis (with `places` places) that `second`
// comes from. Nothing when their digits do not fit into each other.
std::optional<AxisLink> composed(const AxisLink& first, const AxisLink& second, int64_t from_places,
                                 int64_t places, int64_t to_places);

template <int64_t standard>
void along_attribute(AxesContext& ctx) {
  const auto rank = static_cast<int64_t>(ctx.in(0).size());
  if (rank == 0) return;
  const size_t axis[] = {
      static_cast<size_t>(normalize_axis(ctx.node.int_attr("axis", standard), rank))};
  for (size_t o = 0; o < ctx.output_count(); o++) same(ctx, 0, o, axis);
}

}  // namespace poprt::ops::axes
