// Lowers operators to supersteps: sync, exchange, compute.
//
// A tensor is spread evenly over the tiles that compute, at least 128 bytes on each. Every function
// below appends the supersteps of one operation. Worked example: Softmax over [R, C] usually has
// eight supersteps: two for the maximum, one each for the difference and the exponential, two for
// the sum, one for its inverse, and one for the product with it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ipu/planner.h"
#include "ipu/target.h"
#include "ipu/vertices.h"

namespace poprt::ipu {

struct Superstep {
  std::string_view what;
  int64_t sync = 0, exchange = 0, compute = 0, overhead = 0;  // cycles
  int64_t exchange_bytes = 0;                                 // of the busiest tile
  int64_t tiles = 0;                                          // the number of tiles that compute
  int64_t repeats = 1;                                        // rounds of a loop

  int64_t cycles() const { return repeats * (sync + exchange + compute + overhead); }
};

struct OpCost {
  std::vector<Superstep> steps;
  int64_t temporary_bytes = 0;             // of the busiest tile, during the operation
  int64_t state_bytes = 0;                 // of all tiles, kept from run to run: caches
  std::vector<std::string_view> vertices;  // types of vertices, whose code is on the tiles
  std::optional<Plan> plan;                // of a product
  bool has_rule = true;

  int64_t cycles() const;
};

// The settings that change the program of the chip.
struct ChipOptions {
  int64_t num_ipus = 1;
  int64_t num_io_tiles = 0;
  int64_t batches_per_step = 1;
  double available_memory_proportion = 0.6;
  bool float_partials = false;
  bool use_128bit_conv_unit_load = false;
  double outline_threshold = 1.0;
  int64_t replicas = 1;  // copies of the program on as many groups of num_ipus IPUs
  bool overlap = false;  // enable_pipelining: IPUs work on different batches at the same time
  bool fast_reduce = false;
  // Host buffers of a stream, and whether the host fills one before the chip requests it.
  int64_t stream_buffers = 1;
  bool prefetch = true;
  bool stable_softmax = true;  // the maximum of a row is subtracted first
  bool multi_stage_reduce = true;
  // All inputs are transferred before the first operation, and all outputs after the last one.
  bool group_host_sync = false;
  // Inputs and outputs of products change their order on the host, not on the chip.
  bool rearrange_streams_on_host = false, rearrange_anchors_on_host = true;
  bool operator==(const ChipOptions&) const = default;

  // A stream that the host rearranges has one buffer.
  int64_t input_buffers() const { return rearrange_streams_on_host ? 1 : stream_buffers; }

  PlanOptions plan_options(const Target& target) const {
    return {target.tiles - num_io_tiles, available_memory_proportion, use_128bit_conv_unit_load,
            fast_reduce, multi_stage_reduce};
  }
};

class Lowering {
 public:
  // The cache must outlive the object.
  Lowering(const Target& target, const ChipOptions& options, PlanCache& plans);

  const Target& target() const { return target_; }
  const ChipOptions& options() const { return options_; }
  int64_t tiles() const { return tiles_; }
  // Number of elements on the busiest tile, and number of tiles that have elements.
  int64_t share(DType type, int64_t n) const;
  int64_t spread(DType type, int64_t n) const;
  DType partials(DType inputs) const;

  // -- Operations ---------------------------------------------------------------------------------
  void elementwise(Elementwise op, DType type, int64_t n, int64_t operands = 1,
                   bool scalar = false);
  // The bytes of a whole operand move to the tiles of another one before the next step.
  void align(DType type, int64_t n);
  // An operand that has fewer elements is sent to all tiles that read it before the next step.
  void broadcast(DType type, int64_t n, int64_t to);
  // The same for an operand with one element for each of `rows` rows.
  void broadcast_rows(DType type, int64_t rows, int64_t to);
  void cast(DType from, DType to, int64_t n);
  // Elements change places in runs of `piece` contiguous bytes. Neighbouring runs of the result are
  // `stride` bytes apart in the input; 0: they are neighbours there, too.
  void rearrange(DType type, int64_t n, int64_t piece, int64_t stride = 0);
  void transpose(DType type, int64_t n);
  void fill(DType type, int64_t n);
  // `results` results from n elements; neighbours are reduced if `contiguous`.
  void reduce(DType type, int64_t n, int64_t results, bool contiguous = true);
  void softmax(DType type, int64_t rows, int64_t columns);
  // Mean and variance of `groups` groups, and the scale and shift of each of `channels` channels.
  // Unless `centered`, there is no mean and no shift.
  void normalize(DType type, int64_t n, int64_t groups, int64_t channels, bool centered = true);
  const Plan& product(const Product& product);
  void bias(DType type, int64_t n, int64_t channels);
  // Looks up `indices` of `rows` rows with `row` elements.
  void gather(DType type, int64_t rows, int64_t row, int64_t indices);
  // Looks up n single elements, which are near the tiles that need them.
  void pick(DType type, int64_t n);
  void scatter(DType type, int64_t n, int64_t row, int64_t indices);
  // Adds `indices` rows of `row` elements to a table of `rows` rows, in place.
  void update_add(DType type, int64_t rows, int64_t row, int64_t indices);
  // A round of a loop copies its n elements of a sequence, or writes them to one. The elements of
  // all rounds are on the same tiles.
  void slice(std::string_view what, DType type, int64_t n);
  void pool(DType type, int64_t channels, int64_t field, int64_t taps, int64_t inputs);
  // Sorts rows of `columns` elements each, by a network of compare and exchange.
  void sort(DType type, int64_t rows, int64_t columns);

  // -- Parts --------------------------------------------------------------------------------------
  // Appends a superstep that receives `bytes` on the busiest tile, from `peers` tiles that each
  // send a separate piece. The bytes of align() and broadcast() are added. `shared`: pairs of tiles
  // receive the same bytes, which doubles the rate.
  void step(std::string_view what, int64_t bytes, int64_t compute, int64_t tiles,
            bool shared = false, int64_t peers = 1);
  void temporary(int64_t bytes_per_tile);
  // n elements stay on the chip from one run to the next.
  void state(DType type, int64_t n) { cost_.state_bytes += chip_bytes(type, n); }
  void no_rule() { cost_.has_rule = false; }
  // Steps that are appended until end_repeat() run `rounds` times.
  void begin_repeat(int64_t rounds) { rounds_ *= rounds; }
  void end_repeat(int64_t rounds) { rounds_ /= rounds; }

  OpCost take();

 private:
  const Target& target_;
  const ChipOptions& options_;
  PlanCache& plans_;
  int64_t tiles_;
  int64_t pending_bytes_ = 0;
  int64_t rounds_ = 1;
  OpCost cost_;
};

}  // namespace poprt::ipu
