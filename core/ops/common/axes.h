// Rules for the hook `axes` that several operators share. Each states which axes of the inputs of a
// node become which axes of its outputs (ops/axes.h).
#pragma once

#include <span>

#include "ops/axes.h"
#include "ops/common/window.h"

namespace poprt::ops::axes {

// -- Rules of whole operators ---------------------------------------------------------------------

// Nothing is carried: the operator mixes all places, or it has no axes (sequences, subgraphs).
void none(AxesContext& ctx);
// The outputs depend on the shapes of the inputs only. Their elements are all equal (shapes_only),
// or depend on their places (by_place).
void shapes_only(AxesContext& ctx);
void by_place(AxesContext& ctx);
// Random numbers that depend on the place, for each element or sample of input 0.
void random_elements(AxesContext& ctx);
void random_samples(AxesContext& ctx);
// Each element of every output is computed from the elements at the same place of the inputs, which
// broadcast. Inputs that only determine the type of the result are not read.
void elementwise(AxesContext& ctx);
// The same if only input 0 has places and the other inputs are options for all elements.
void elementwise_first(AxesContext& ctx);
// Output 0 contains the elements of input 0 in the same order.
void in_order(AxesContext& ctx);
// Axis 0 of input 0 is axis 0 of every output.
void batch(AxesContext& ctx);
// Batched matrices: all axes of input 0 are carried except the last two.
void batch_of_matrices(AxesContext& ctx);
// The axes of input 0 are carried, except for attribute `axis` (default `standard`), which is
// mixed.
template <int64_t standard>
void along_attribute(AxesContext& ctx);
// Composes the axis maps of the nodes in the expansion of the operator (ops/common/expansion.h).
// Nothing is stated about constant inputs, because the expansion may have used their values.
void expansion(AxesContext& ctx);

// -- Parts of rules -------------------------------------------------------------------------------

// Carries every axis to the axis with the same number, except those in `but`.
void same(AxesContext& ctx, size_t input, size_t output, std::span<const size_t> but = {});
// Carries axes [first, last) to the axes that start at `to`.
void range(AxesContext& ctx, size_t input, size_t first, size_t last, size_t output, size_t to);
// Carries the axes that are left after `removed` (sorted) are removed or, with `keeps`, reduced to
// one place.
void remaining(AxesContext& ctx, size_t input, size_t output, std::span<const int64_t> removed,
               bool keeps);
// Carries the axes as the input broadcasts to the output, aligned at the last axis.
void aligned(AxesContext& ctx, size_t input, size_t output);
// The same for an input that is read as `shape`: its axes, followed by axes of size one.
void aligned_as(AxesContext& ctx, size_t input, const Shape& shape, size_t output);
// Axes [first, last) of the input contain the same elements in the same order as axes [to, to_last)
// of the output.
struct InOrder {
  size_t input = 0, first = 0, last = 0, output = 0, to = 0, to_last = 0;
};
void in_order(AxesContext& ctx, const InOrder& order);

// Windows that neither overlap nor leave gaps link the spatial axes; other windows mix them.
// `axis_in` and `axis_out` are the first spatial axes.
void windows(AxesContext& ctx, const Window& window, size_t axis_in, size_t axis_out);

// Matrix products of inputs a and b, whose leading axes broadcast.
void product(AxesContext& ctx, size_t a, size_t b);
// A scale or zero point for the rows (product_rows) or columns of a product: one number, one for
// each row, or the shape of the matrix with an axis of size one.
void product_rows(AxesContext& ctx, size_t input);
void product_columns(AxesContext& ctx, size_t input);

// A convolution of input x with weights w [M, C / group, ...].
void convolution(AxesContext& ctx, size_t x, size_t w);
// A vector with one element for each channel of output 0. Channels are axis `axis` of the output.
void per_channel(AxesContext& ctx, size_t input, size_t axis = 1);

// An axis of the input whose places, divided by `block`, form `extent` groups, and an axis of the
// output whose places form the same groups: channels and groups, or columns and heads.
struct Grouped {
  InputAxis from;
  int64_t block = 1;
  size_t output = 0, to = 0;
  int64_t to_block = 1, extent = 1;
};
void grouped(AxesContext& ctx, const Grouped& g);

// The channels of [N,C,...] are axis `plain_axis` and become blocks of 16 on axes 1 and 4, or back.
void into_blocks(AxesContext& ctx, size_t input, size_t plain_axis, size_t output = 0);
void out_of_blocks(AxesContext& ctx, size_t input, size_t plain_axis, size_t output = 0);

// -- Links ----------------------------------------------------------------------------------------

// The relation of two consecutive links: `first` leads to the axis (with `places` places) at which
// `second` starts. Returns nothing if the result cannot be expressed as a link.
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
