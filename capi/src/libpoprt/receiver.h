// A stream buffer that writes to a caller's poprt_write_fn.
#pragma once

#include <streambuf>

#include "poprt/executable.h"

namespace poprt::capi {

class Receiver : public std::streambuf {
 public:
  Receiver(poprt_write_fn write, void* user_data) : write_(write), user_data_(user_data) {}
  bool stopped() const { return stopped_; }

 protected:
  int_type overflow(int_type c) override {
    const char byte = traits_type::to_char_type(c);
    return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
  }
  std::streamsize xsputn(const char* data, std::streamsize size) override {
    stopped_ = stopped_ || write_(data, static_cast<size_t>(size), user_data_) != 0;
    return stopped_ ? 0 : size;
  }

 private:
  poprt_write_fn write_;
  void* user_data_;
  bool stopped_ = false;
};

}  // namespace poprt::capi
