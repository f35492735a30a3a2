// An index tensor laid over a data tensor along one axis: what gather_elements and scatter_elements
// share.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct IndexedAxis {
  int64_t axis = 0;                 // of the data that the indices point into
  std::vector<int64_t> data_dims;   // one to 64
  std::vector<int64_t> index_dims;  // none larger than the data's but along the axis

  void fields(Fields& f) {
    f.size("axis", axis);
    f.length("rank", data_dims, 1, 64);
    f.require(axis < static_cast<int64_t>(data_dims.size()), "the axis is no dimension");
    index_dims.resize(data_dims.size());
    f.sizes("dim of the data", data_dims);
    f.sizes("dim of the indices", index_dims);
    for (size_t d = 0; d < data_dims.size(); d++)
      f.require(static_cast<int64_t>(d) == axis || index_dims[d] <= data_dims[d],
                "the index tensor is larger than the data");
  }
};

}  // namespace poprt::kernels::calls
