// Published costs of operations in the chip's own model (IPUModel2), from the test records of its
// operator library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ipu/planner.h"

namespace poprt::ipu {

struct PublishedRow {
  const char* name;
  Product product;  // the forward pass
  double cycles, megabytes;
  bool trains;           // forward, backward and weight update; otherwise A*B + C
  double kilobytes = 0;  // of the busiest tile, with gaps; 0: not compared
};

// The cycles of a pass, or of the rearrangements between passes.
struct PassCycles {
  std::string name, method;
  double compute = 0, exchange = 0, sums = 0, rearrange = 0, total = 0;
};

struct Prediction {
  double cycles = 0, megabytes = 0;
  double kilobytes = 0;            // of the busiest tile, with gaps; only of A*B + C
  std::vector<PassCycles> passes;  // of a row that trains
};

std::vector<PublishedRow> published_gemms();
std::vector<PublishedRow> published_layers();
std::vector<PublishedRow> published_convolutions();

Prediction predict(const PublishedRow& row);

double geometric_mean(const std::vector<double>& ratios);

}  // namespace poprt::ipu
