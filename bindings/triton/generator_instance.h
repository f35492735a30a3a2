// One instance of a generator, whose requests are prompts of tokens. With decoupled responses, each
// token is sent in a separate response:
//
//   input_ids [1, 15, 27], max_new_tokens [3]  ->  token_ids [4], token_ids [9], token_ids [2], end
//
// Without decoupled responses, one response contains all tokens. Each text has a thread that reads
// its tokens, so that a slow client delays no other client.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "instance.h"
#include "model_state.h"
#include "request.h"

namespace poprt::triton {

// The inputs and outputs of every generator. The first input is required.
const std::vector<serving::TensorSpec>& generator_inputs();
const std::vector<serving::TensorSpec>& generator_outputs();

class GeneratorInstance : public Instance {
 public:
  // Throws serving::Error: unimplemented for an instance on a GPU; and those of
  // poprt_generator_create.
  GeneratorInstance(const ModelState& model, TRITONBACKEND_ModelInstance* instance);
  // Cancels the texts and waits until each has its last response.
  ~GeneratorInstance() override;

  // Waits while four texts per slot of the generator are in progress, so that further requests wait
  // in the server's queue.
  void execute(std::span<TRITONBACKEND_Request*> requests) override;

 private:
  struct Text;

  serving::Sequence new_sequence(const Request& request) const;
  void set_parameters(const Request& request, poprt_sequence* sequence) const;
  void start(TRITONBACKEND_Request* request);
  void join_ended();
  void read(std::unique_ptr<Text> owned);
  void read_tokens(Text& text);
  void end(Text& text, const serving::Error* error, bool started) noexcept;

  const ModelState& model_;
  const bool decoupled_;
  TRITONBACKEND_ModelInstance* const instance_;
  serving::Generator generator_;
  int64_t most_texts_ = 0;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  // mutex_ guards the following members.
  int64_t texts_ = 0;
  std::vector<std::thread> threads_;    // of texts, and those that have ended and are not joined
  std::vector<std::thread::id> ended_;  // threads that have ended and can be joined
};

}  // namespace poprt::triton
