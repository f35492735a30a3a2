// custom: operands [inputs ..., outputs ...] of any types: an operator of a plug-in
// (plugins/record.h), which the record identifies.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Custom {
  static constexpr std::string_view kKernel = "custom";

  int64_t outputs = 1;
  int64_t bytes = 0;            // of the record
  std::vector<int64_t> record;  // eight bytes of the record each; the last one is padded with zeros

  void fields(Fields& f) {
    f.size("outputs", outputs, 1, 1024);
    f.size("bytes", bytes);
    f.items("record", record, (bytes + 7) / 8);
    for (int64_t& word : record) f.integer("word", word);
  }
};

}  // namespace poprt::kernels::calls
