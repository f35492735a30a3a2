#include "device/emulator/sharded.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "device/emulator/emulator.h"
#include "device/emulator/memory.h"
#include "program/shards.h"

namespace poprt::device {
namespace {

class Sharded final : public Engine {
 public:
  Sharded(const Image& image, const LoadOptions& options, const LoadOne& load_one)
      : program_(image.program),
        inputs_(program_->inputs.size()),
        outputs_(program_->outputs.size()) {
    program::verify(*program_);
    shards_ = program::shards_of(*program_);
    LoadOptions each = options;
    // By default the stages share the workers of the process.
    shares_ = options.threads == 0;
    if (shards_.pipelined && !shares_)
      each.threads = std::max(1, options.threads / static_cast<int>(shards_.shards.size()));
    ipus_ = std::vector<std::mutex>(static_cast<size_t>(shards_.ipus));
    for (size_t s = 0; s < shards_.shards.size(); s++) {
      Part& part = parts_.emplace_back();
      part.engine = load_one(
          {std::make_shared<const program::Program>(program::program_of(*program_, shards_, s)),
           image.weights, image.owner},
          each);
      part.inputs.resize(inputs_ + shards_.transfers.size());
      part.outputs.resize(outputs_ + shards_.transfers.size());
    }
    frame_ = Memory(shards_.transfers_end, "transfers between IPUs");
  }

  void run(Flow flow, const void* const* inputs, void* const* outputs) noexcept override {
    if (flow != Flow::main) return;  // the other flows are empty
    for (size_t s = 0; s < parts_.size() && !interrupted(); s++)
      run_part(s, inputs, outputs, frame_.data());
  }

  std::optional<Error> take_failure() override {
    std::optional<Error> first;
    for (const Part& p : parts_) {
      std::optional<Error> failure = p.engine->take_failure();
      if (!first) first = std::move(failure);
    }
    return first;
  }
  std::optional<Error> take_stage_failure(size_t stage) override {
    return shards_.pipelined ? parts_[stage].engine->take_failure() : take_failure();
  }

  size_t stages() const noexcept override { return shards_.pipelined ? parts_.size() : 1; }
  uint64_t frame_bytes() const noexcept override { return shards_.transfers_end; }
  void run_stage(size_t stage, const void* const* inputs, void* const* outputs,
                 std::byte* frame) noexcept override {
    if (!shards_.pipelined) return run(Flow::main, inputs, outputs);
    // Stages of one IPU take turns.
    const std::lock_guard lock(ipus_[static_cast<size_t>(shards_.shards[stage].ipu)]);
    run_part(stage, inputs, outputs, frame);
  }

  void interrupt() noexcept override {
    Engine::interrupt();
    for (const Part& p : parts_) p.engine->interrupt();
  }
  void resume() noexcept override {
    for (const Part& p : parts_) p.engine->resume();
    Engine::resume();
  }

  std::vector<InstructionProfile> profile() const override {
    std::vector<InstructionProfile> rows;
    for (const Part& p : parts_) {
      auto own = p.engine->profile();
      std::ranges::move(own, std::back_inserter(rows));
    }
    return rows;
  }

  int threads() const noexcept override {
    int sum = 0, most = 1;
    for (const Part& p : parts_) {
      sum += p.engine->threads();
      most = std::max(most, p.engine->threads());
    }
    return shards_.pipelined && !shares_ ? sum : most;
  }

 private:
  struct Part {
    std::unique_ptr<Engine> engine;
    std::vector<const void*> inputs;  // inputs of the program, then transfers
    std::vector<void*> outputs;
  };

  void run_part(size_t s, const void* const* inputs, void* const* outputs,
                std::byte* frame) noexcept {
    Part& p = parts_[s];
    if (inputs) std::copy_n(inputs, inputs_, p.inputs.begin());
    if (outputs) std::copy_n(outputs, outputs_, p.outputs.begin());
    for (size_t t = 0; t < shards_.transfers.size(); t++) {
      std::byte* const at = frame + shards_.transfers[t].offset;
      p.inputs[inputs_ + t] = at;
      p.outputs[outputs_ + t] = at;
    }
    p.engine->run(Flow::main, p.inputs.data(), p.outputs.data());
  }

  const std::shared_ptr<const program::Program> program_;
  const size_t inputs_, outputs_;
  program::Shards shards_;
  std::vector<Part> parts_;
  std::vector<std::mutex> ipus_;
  Memory frame_;
  bool shares_ = false;  // whether the parts share the workers of the process
};

}  // namespace

std::unique_ptr<Engine> load_shards(const Image& image, const LoadOptions& options,
                                    const LoadOne& load_one) {
  return std::make_unique<Sharded>(image, options, load_one);
}

}  // namespace poprt::device
