// The costs of a plan of a product: cycles by cause, and bytes of the busiest tile.
//
// Two sums are computed from the same parts. `total` is the cost of the program. `objective` is the
// number by which the chip's library chooses a plan. Its assumptions differ from the program:
// partial sums are always exchanged, operands are where the plan wants them, a sync costs nothing,
// and an orientation or a padding that the operands do not have is a rearrangement.
//
// Worked example, [200,512] x [512,10000] in halves with float partials on mk2: with 73 parts of
// the field, 4 of the input channels and 5 of the output channels, a tile computes 137 x 128 x 40.
// Its operands and partial sums, 35072 + 10240 + 21920 bytes, are compared with the bound.
// A tile stores a fifth of its inputs, so it receives four fifths of them.
#pragma once

#include <cstdint>

#include "ipu/planner.h"

namespace poprt::ipu {

// Elements of one step of a method. Groups and channels are split in multiples of them.
struct Grain {
  int64_t groups = 1, in = 1, out = 1;
};

Grain grain_of(const Target& target, const Product& product, Method method);

// How the product was changed before it was planned.
struct Change {
  bool swapped = false;    // the operands of a matrix product changed places
  bool flattened = false;  // taps became channels
};

// The work of the busiest tile, and its costs. Returns false if the method cannot compute the part
// of a tile, or if the cycles of its vertices alone are above `most`.
bool try_plan_cost(const Target& target, const Product& product, const PlanOptions& options,
                   Method method, const Split& split, Change change, TileWork& work, PlanCost& cost,
                   int64_t most = INT64_MAX);

}  // namespace poprt::ipu
