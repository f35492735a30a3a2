// The chips that the estimator knows, as data. Sources and grades of the numbers are in
// docs/chip.md.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace poprt::ipu {

struct Target {
  std::string name = "c600";
  std::string architecture = "ipu21";  // as Poplar names it: ipu1, ipu2 or ipu21
  int64_t tiles = 1472;
  int64_t workers = 6;
  int64_t bytes_per_tile = 638976;
  int64_t plain_bytes = 212992;  // the part of them that is not interleaved and can hold code
  double clock_ghz = 1.5;
  int64_t exchange_bytes = 4;   // per cycle and tile, each direction
  int64_t memcpy_bytes = 8;     // per cycle and tile
  int64_t data_path_bytes = 8;  // of a vector
  int64_t load_bytes = 8;       // of weights of the AMP, per cycle
  int64_t half_units = 16;      // convolution units for half partials
  int64_t half_float_units = 8;
  int64_t float_units = 16;
  bool quarter = true;        // whether the AMP multiplies 8-bit floats
  double link_gbytes = 32;    // inter-IPU, one direction of one link, GB/s
  int64_t links = 2;          // from an IPU to its neighbour
  int64_t global_sync = 600;  // cycles
  int64_t sync = 126;         // cycles of a sync inside an IPU; estimates use Calibration::sync
  double host_gbytes = 8;     // sustained, GB/s
  double call_milliseconds = 0.13;  // of a call of the host that runs alone

  bool operator==(const Target&) const = default;

  int64_t memory() const { return tiles * bytes_per_tile; }
  double seconds(double cycles) const { return cycles / (clock_ghz * 1e9); }
};

// Returns mk1, mk2, bow and c600.
std::span<const Target> targets();

// A target by name, or by another name of the chip, such as ipu21 or gc200 (kOtherNames in
// target.cpp), in upper or lower case. Throws invalid_argument with the names of the targets.
const Target& target_of(std::string_view name);

// A target as JSON has the fields above and "base", the name of the target from which absent fields
// are taken (by default c600). Throws invalid_argument for fields that do not exist, values of
// another type, and sizes that are not positive or too large.
Target target_from_json(const nlohmann::json& json);
nlohmann::ordered_json target_json(const Target& target);

// Bytes of `count` elements on the chip, which has no 64-bit numbers and stores bool as a byte.
int64_t chip_bytes(DType type, int64_t count);

// Elements of the type in a vector of the data path.
int64_t vector_width(const Target& target, DType type);

}  // namespace poprt::ipu
