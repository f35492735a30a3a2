#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

void Reader::visit(std::string_view name, int64_t& value, int64_t least, int64_t most) {
  if (next_int_ == ints_.size())
    fail(ErrorCode::invalid_argument, "kernel {}: {} is missing, there are only {} integers",
         kernel_, name, ints_.size());
  const int64_t found = ints_[next_int_++];
  if (found < least || found > most)
    fail(ErrorCode::invalid_argument, "kernel {}: {} is {}, expected {} to {}", kernel_, name,
         found, least, most);
  value = found;
}

void Reader::visit(std::string_view name, float& value) {
  if (next_float_ == floats_.size())
    fail(ErrorCode::invalid_argument, "kernel {}: {} is missing, there are only {} floats", kernel_,
         name, floats_.size());
  value = floats_[next_float_++];
}

size_t Reader::items(std::string_view name, size_t count) {
  if (count > ints_.size() - next_int_)
    fail(ErrorCode::invalid_argument, "kernel {}: {} is {}, but only {} integers follow", kernel_,
         name, count, ints_.size() - next_int_);
  return count;
}

size_t Reader::rest_items(std::string_view name, size_t, size_t each, size_t most) {
  const size_t left = ints_.size() - next_int_;
  if (left % each || left / each > most)
    fail(ErrorCode::invalid_argument,
         "kernel {}: {} integers of {} follow, expected a multiple of {} up to {}", kernel_, left,
         name, each, each * most);
  return left / each;
}

size_t Reader::rest_floats(std::string_view name, size_t, size_t most) {
  const size_t left = floats_.size() - next_float_;
  if (left > most)
    fail(ErrorCode::invalid_argument, "kernel {}: {} floats of {}, expected {} at most", kernel_,
         left, name, most);
  return left;
}

void Reader::finish() const {
  if (next_int_ != ints_.size())
    fail(ErrorCode::invalid_argument,
         "kernel {}: expected {} integers, found {} (the program may require a newer library)",
         kernel_, next_int_, ints_.size());
  if (next_float_ != floats_.size())
    fail(ErrorCode::invalid_argument,
         "kernel {}: expected {} floats, found {} (the program may require a newer library)",
         kernel_, next_float_, floats_.size());
}

}  // namespace poprt::kernels::calls
