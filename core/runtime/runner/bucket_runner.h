// Serves a model that was compiled at several shapes.
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

// What became of one bucket.
struct BucketStatistics {
  uint64_t requests = 0;  // accepted
  uint64_t padded = 0;    // of those, smaller than the bucket
  uint64_t elements = 0;  // of their inputs
  uint64_t room = 0;      // what the bucket has for them
};

// A request has any sizes up to the largest; dimensions of one name have one size in it. The first
// bucket that all sizes fit computes it (the compiler sorts them by size): what is as large as the
// bucket is used in place, the rest is copied, inputs with padding behind, outputs without.
//
// A binding without a shape says by its bytes what size it has, where that leaves one choice, or is
// a bucket's. An input that is a mask may be left out: it is made, ones for what is real.
//
// Requests are not merged: batching_dim must be off, and so must overlap_io, which copies.
class BucketRunner final : public BaseRunner {
 public:
  // Throws failed_precondition when the model has no buckets, invalid_argument for a configuration
  // that does not fit, and what ModelRunner throws.
  explicit BucketRunner(std::shared_ptr<const Model> model, RunnerConfig config = {});
  ~BucketRunner() override;

  // Of the largest bucket, which is the last one, without the bucket's number.
  const std::vector<DataDesc>& execute_inputs() const override { return inputs_; }
  const std::vector<DataDesc>& execute_outputs() const override { return outputs_; }
  RequestRows request_rows() const override { return {RequestRows::any, 0, 0}; }
  std::vector<Shape> output_shapes(std::span<const InputBinding> inputs) const override;

  using BaseRunner::execute;
  using BaseRunner::execute_async;
  // Throw what ModelRunner's do, and invalid_argument for sizes that contradict each other or that
  // no bucket holds.
  void execute(std::span<const InputBinding> inputs,
               std::span<const OutputBinding> outputs) override;
  RequestPtr execute_async(std::span<const InputBinding> inputs,
                           std::span<const OutputBinding> outputs, RequestCallback callback = {},
                           const RequestOptions& options = {}) override;
  void stop() noexcept override { runner_.stop(); }
  RunnerStatistics statistics() const override { return runner_.statistics(); }
  RunnerStatistics statistics(size_t replica) const override { return runner_.statistics(replica); }
  size_t replicas() const override { return runner_.replicas(); }
  std::vector<Tracepoint> tracepoints() const override { return runner_.tracepoints(); }

  const Variants& variants() const { return *runner_.model().variants; }
  BucketStatistics bucket_statistics(size_t bucket) const;

 private:
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
  void check_sizes(const Sizes& sizes) const;
  size_t bucket_of(const Sizes& sizes) const;
  Shape shape_of(const VariantAnchor& anchor, const Shape& fixed, const Sizes& sizes) const;
  std::string text_of(const Sizes& sizes) const;
  std::unique_ptr<Staging> prepare(std::span<const InputBinding> inputs,
                                   std::span<const OutputBinding> outputs);
  void prepare_inputs(std::span<const InputBinding> inputs, const Sizes& sizes, Staging& s) const;
  void prepare_outputs(std::span<const OutputBinding> outputs, const Sizes& sizes,
                       Staging& s) const;
  void make_mask(size_t input, const Shape& real, Staging& s) const;
  void count(const Staging& s) noexcept;

  const bool validate_;
  const std::shared_ptr<const Model> model_;
  ModelRunner runner_;
  std::vector<DataDesc> inputs_, outputs_;
  std::vector<std::vector<std::byte>> padding_, ones_;  // an element per input
  std::vector<int64_t> most_;                           // per dimension
  std::vector<Counts> counts_;
  std::shared_ptr<Shared> shared_;  // memory that is free
};

}  // namespace poprt::runtime
