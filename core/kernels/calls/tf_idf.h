// tf_idf: operands [x, y]. Counts n-grams in rows of x (s32 / s64 [rows, columns]) into f32 y
// [rows, results]. An n-gram of step s is x[i], x[i + s], ..., for every i for which it fits, with
// n from min to max and s from 1 to skips + 1 (for unigrams 1 only). If it is gram g of the pool,
// it is added to y[index[g]].
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// The numbers are part of the file format.
enum class TfIdfMode : int64_t {
  tf = 0,      // the count
  idf = 1,     // the weight if the gram occurs
  tf_idf = 2,  // count times weight
};

struct TfIdf {
  static constexpr std::string_view kKernel = "tf_idf";

  int64_t rows = 0;
  int64_t columns = 0;
  int64_t min = 1;
  int64_t max = 1;
  int64_t skips = 0;
  TfIdfMode mode = TfIdfMode::tf;
  int64_t results = 0;
  std::vector<int64_t> starts;  // starts in the pool of the grams of length 1, 2 ...
  std::vector<int64_t> index;   // column of y of each gram
  std::vector<int64_t> pool;    // grams, one after the other
  std::vector<float> weights;   // of each gram; if empty, all weights are 1

  void fields(Fields& f) {
    f.size("rows", rows);
    f.size("columns", columns);
    f.size("min", min, 1);
    f.size("max", max, 1, 64);
    f.size("skips", skips, 0, (int64_t{1} << 20) - 1);
    f.choice("mode", mode, TfIdfMode::tf_idf);
    f.size("results", results);
    f.length("lengths", starts, max, 64);
    f.sizes("start", starts);
    f.length("grams", index, 0, kMostSize);
    for (int64_t& column : index) f.size("column", column, 0, results - 1);
    f.rest("pool", pool);
    for (int64_t& item : pool) f.integer("item", item);
    f.rest("weights", weights);
    f.require(weights.empty() || weights.size() == index.size(),
              "the number of weights differs from the number of grams");
  }
};

}  // namespace poprt::kernels::calls
