// One request of the server: its inputs, checked against the model, and its response.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serving/served_model.h"
#include "serving/timer.h"
#include "triton_api.h"

namespace poprt::triton {

// The shape that Triton and its clients use for a tensor: [1] for one without dimensions.
inline std::vector<int64_t> shape_for_triton(const std::vector<int64_t>& shape) {
  return shape.empty() ? std::vector<int64_t>{1} : shape;
}

class Request {
 public:
  using Specs = std::vector<serving::TensorSpec>;

  // Creates the response. Throws serving::Error if the server cannot.
  explicit Request(TRITONBACKEND_Request* request);

  // Reads names, types, shapes and sizes of the inputs, which outputs the client requests, and the
  // time limit. The first `required` inputs must be given. With `batch`, dimension 0 is the number
  // of rows. Throws serving::Error: invalid_argument, cancelled, and errors of the server.
  void read(const Specs& inputs, const Specs& outputs, size_t required, bool batch);

  TRITONBACKEND_Request* handle() const { return request_; }
  // The end of the request's time limit, if it has one. read() sets it.
  const std::optional<serving::Timer::Clock::time_point>& deadline() const { return deadline_; }
  bool is_late() const { return deadline_ && *deadline_ <= serving::Timer::Clock::now(); }
  // Throws serving::Error if the client has cancelled the request (cancelled), or if it is late
  // (deadline_exceeded), so that it must not be computed.
  void check_wanted() const;
  // A parameter that the client gave and that the server does not read itself.
  struct Parameter {
    std::string name;
    std::optional<double> number;  // none for a text or bytes; a bool is 0 or 1
  };
  std::vector<Parameter> parameters() const;
  int64_t rows() const { return rows_; }
  // Whether the requests may share a run: both have all inputs, and all dimensions except the rows
  // are equal.
  bool joins(const Request& other) const;

  bool has_input(size_t index) const { return inputs_[index].has_value(); }
  // The shape of an input as the model has it.
  const std::vector<int64_t>& shape(size_t index) const { return inputs_[index]->shape; }
  size_t bytes(size_t index) const { return inputs_[index]->bytes; }
  // The memory of an input if it is one buffer, else null.
  const void* whole(size_t index) const;
  // Copies an input from all its buffers.
  void copy_input(size_t index, char* to) const;

  bool wants(size_t output) const { return wanted_[output]; }
  // Adds an output to the response and returns its memory. `shape` is that of the model.
  char* add_output(const serving::TensorSpec& spec, const std::vector<int64_t>& shape,
                   size_t bytes);

  // Sends a response with the outputs that were added since the previous one. Further responses
  // follow. Throws serving::Error.
  void send_part();
  // Sends the last response or, if there are no outputs since send_part(), only tells the server
  // that no response follows. With an error, the client gets the error instead of outputs. Returns
  // whether the request succeeded.
  bool send(const serving::Error* error) noexcept;
  // Gives the request back to the server.
  void release() noexcept;

 private:
  bool send_end() noexcept;

  struct Buffer {
    const void* data = nullptr;
    size_t bytes = 0;
  };
  struct Input {
    std::vector<int64_t> shape;
    std::vector<Buffer> buffers;
    size_t bytes = 0;
  };
  void check_not_cancelled() const;
  void read_deadline();
  void read_input(TRITONBACKEND_Input* input, const Specs& specs, bool batch);
  void read_outputs(const Specs& specs);

  TRITONBACKEND_Request* request_;
  TRITONBACKEND_Response* response_ = nullptr;  // null after send_part()
  std::vector<std::optional<Input>> inputs_;    // in the order of the model
  std::vector<bool> wanted_;
  int64_t rows_ = 1;
  std::optional<serving::Timer::Clock::time_point> deadline_;
};

}  // namespace poprt::triton
