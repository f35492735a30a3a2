// Requests that runners of several shapes refuse in the same words.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace poprt::runtime {

// Changes of a right request of batch 2 and length 3, and the messages. Its inputs are x and
// "fixed", its first output is y and its last one f.
template <class Request>
std::vector<std::pair<void (*)(Request&), const char*>> refused_requests() {
  static const int64_t transposed[] = {3, 2};
  return {
      {[](Request& r) { r.in.erase(r.in.begin()); },
       "input 'x' is missing: no other input determines dimension 'batch'"},
      {[](Request& r) { r.in[1] = r.in[0]; }, "input 'x' is given twice"},
      {[](Request& r) { r.in[0].data = nullptr; }, "input 'x': the pointer is null"},
      {[](Request& r) { r.in[1].data = nullptr; }, "input 'fixed': the pointer is null"},
      {[](Request& r) { r.out[0].shape = transposed, r.out[0].rank = 2; },
       "output 'y': expected f32[2,3], given [3,2]"},
      {[](Request& r) { r.out[1] = r.out[0]; }, "output 'y' is given twice"},
      {[](Request& r) { r.out.pop_back(); }, "output 'f' is missing"},
      {[](Request& r) { r.out[0].data = nullptr; }, "output 'y': the pointer is null"},
  };
}

}  // namespace poprt::runtime
