// A runner for a model that was compiled at several shapes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/runner/model_runner.h"
#include "runtime/session/variants.h"

namespace poprt::runtime {

// The statistics of one bucket.
struct BucketStatistics {
  // Requests that the queue accepted, and calls of execute() that succeeded.
  uint64_t requests = 0;
  uint64_t padded = 0;    // requests that are smaller than the bucket
  uint64_t elements = 0;  // elements of the requests' inputs
  uint64_t room = 0;      // elements of the bucket's inputs for these requests
};

// A request may have any sizes that fit into a bucket; dimensions with the same name must have the
// same size, and an exact dimension (session/variants.h) must have the size of a bucket. The first
// bucket that is large enough computes it (the compiler sorts buckets by size). Memory of exactly
// the bucket's size is used in place. Otherwise inputs are copied with padding at the end, and
// outputs are copied without it. The sizes in an output NAME:shape are at most those of output NAME
// without padding.
//
// If a binding has no shape, its size in bytes determines the sizes, if only one choice is possible
// or if it is the size of a bucket. An input that is a mask may be omitted: the runner fills it
// with ones for the positions that are not padding.
//
// Requests are not merged, so batching_dim must be off. overlap_io must also be off, because it
// copies the bytes of the largest bucket from and to the memory of every request.
class BucketRunner final : public BaseRunner {
 public:
  // Throws failed_precondition if the model has no buckets, invalid_argument for an unsuitable
  // configuration, unimplemented if it would pad elements of less than a byte, data_loss if the
  // type of an input does not have its padding value, and the errors of ModelRunner.
  explicit BucketRunner(std::shared_ptr<const Model> model, RunnerConfig config = {});
  ~BucketRunner() override;

  // The inputs and outputs of the largest bucket (the last one), without the inputs that the runner
  // fills: the number of the bucket and the marks of real places.
  const std::vector<DataDesc>& execute_inputs() const override { return inputs_; }
  const std::vector<DataDesc>& execute_outputs() const override { return outputs_; }
  RequestRows request_rows() const override { return {RequestRows::any, 0, 0}; }
  std::vector<Shape> output_shapes(std::span<const InputBinding> inputs) const override;

  using BaseRunner::execute;
  using BaseRunner::execute_async;
  // Throw the errors of ModelRunner, and invalid_argument for sizes that are not determined,
  // contradict each other or fit no bucket.
  void execute(std::span<const InputBinding> inputs,
               std::span<const OutputBinding> outputs) override;
  RequestPtr execute_async(std::span<const InputBinding> inputs,
                           std::span<const OutputBinding> outputs, RequestCallback callback = {},
                           const RequestOptions& options = {}) override;
  void stop() noexcept override { runner_.stop(); }
  void drain() noexcept override { runner_.drain(); }
  RunnerStatistics statistics() const override { return runner_.statistics(); }
  RunnerStatistics statistics(size_t replica) const override { return runner_.statistics(replica); }
  size_t replicas() const override { return runner_.replicas(); }
  std::vector<Tracepoint> tracepoints() const override { return runner_.tracepoints(); }

  const Variants& variants() const { return *runner_.model().variants; }
  BucketStatistics bucket_statistics(size_t bucket) const;

 private:
  struct Load;
  struct Staging;
  struct Shared;
  struct Counts {
    std::atomic<uint64_t> requests{0}, padded{0}, elements{0}, room{0};
  };
  using Sizes = std::vector<int64_t>;

  size_t input_at(const InputBinding& binding, size_t hint) const;
  Sizes sizes_of(std::span<const InputBinding> inputs) const;
  bool learn(const InputBinding& binding, size_t input, Sizes& sizes) const;
  bool match_bucket(std::span<const InputBinding> inputs, Sizes& sizes) const;
  void check_size(size_t dimension, int64_t size) const;
  size_t bucket_of(const Sizes& sizes) const;
  Shape shape_of(const VariantAnchor& anchor, const Shape& fixed, const Sizes& sizes) const;
  std::string text_of(const Sizes& sizes) const;
  std::unique_ptr<Staging> prepare(std::span<const InputBinding> inputs,
                                   std::span<const OutputBinding> outputs);
  void prepare_inputs(std::span<const InputBinding> inputs, const Sizes& sizes, Staging& s) const;
  void prepare_outputs(std::span<const OutputBinding> outputs, const Sizes& sizes,
                       Staging& s) const;
  void make_mask(size_t input, const Shape& real, Staging& s) const;
  void count(const Load& load) noexcept;

  const bool validate_;
  const std::shared_ptr<const Model> model_;
  ModelRunner runner_;
  std::vector<DataDesc> inputs_, outputs_;
  std::vector<std::vector<std::byte>> padding_, ones_;  // by input: the bytes of one element
  std::vector<int64_t> most_;                           // the largest size of each dimension
  std::vector<size_t> sized_;  // by output: the output whose real sizes it contains, if any
  std::vector<Counts> counts_;
  std::shared_ptr<Shared> shared_;  // memory that is currently unused
};

}  // namespace poprt::runtime
