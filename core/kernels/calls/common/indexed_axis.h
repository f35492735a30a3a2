// An index tensor that addresses a data tensor along one axis: fields shared by gather_elements and
// scatter_elements.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct IndexedAxis {
  int64_t axis = 0;                 // the axis of the data that the indices address
  std::vector<int64_t> data_dims;   // one to 64
  std::vector<int64_t> index_dims;  // not larger than data_dims, except along the axis

  void fields(Fields& f) {
    f.size("axis", axis);
    f.length("rank", data_dims, 1, 64);
    f.require(axis < static_cast<int64_t>(data_dims.size()), "the axis is not a dimension");
    index_dims.resize(data_dims.size());
    f.sizes("dim of the data", data_dims);
    f.sizes("dim of the indices", index_dims);
    for (size_t d = 0; d < data_dims.size(); d++)
      f.require(static_cast<int64_t>(d) == axis || index_dims[d] <= data_dims[d],
                "the index tensor is larger than the data");
  }
};

}  // namespace poprt::kernels::calls
