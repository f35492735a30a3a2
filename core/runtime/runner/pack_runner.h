// Packs requests of variable length into batches of a fixed one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/runner/model_runner.h"
#include "runtime/runner/pack_layout.h"

namespace poprt::runtime {

// PopRT's PackRunnerConfig.
struct PackRunnerConfig {
  RunnerConfig runner;  // of the runner underneath; batching_dim must be off
  // From the first item of a pack until it goes as it is; must be more than 0.
  std::chrono::microseconds timeout{0};
  // Items per pack; 0: as many as fit (with unpack_info: as it has room for).
  uint64_t max_valid_num = 0;
  // The variable-length input. Empty: what the model says that pass packed_transformer made; else
  // the mask, else the first input that callers give.
  std::string dynamic_input_name;
  // s32 [max_valid_num] or [max_valid_num, segments]: lengths. Empty: what the model says; else, if
  // the dynamic input is not named either, an s32 input "unpack_info".
  std::string unpack_info_input_name;
  std::string mask_name;
  // Further inputs of the same length; those with the rows and places of the dynamic one need not
  // be named.
  std::vector<std::string> dynamic_group;
  PackAlgorithm algo = PackAlgorithm::next_fit;
  int64_t compile_batch_size = -1;  // -1: the first dimension of the dynamic input
  bool disable_data_across_rows = false;
  bool enable_padding_remove = false;
  uint64_t delimiter_num = 0;  // zeros between two items
  // Fill the next pack while one computes.
  bool enable_prefetch_datastreams = true;

  // No item crosses a row; the mask carries the number of the item in its row, 1, 2, 3 ...
  void enable_single_row_mode(std::string mask, std::string unpack_info = {},
                              uint64_t delimiter = 0) {
    disable_data_across_rows = true;
    mask_name = std::move(mask);
    unpack_info_input_name = std::move(unpack_info);
    delimiter_num = delimiter;
  }
  // Requests come padded: an item ends after the last place where its mask is not zero.
  void enable_padding_remove_pattern(std::string mask, std::vector<std::string> group) {
    enable_padding_remove = true;
    mask_name = std::move(mask);
    dynamic_group = std::move(group);
  }
};

// The dynamic input has shape [B, L, ...] (or [T, ...] with compile_batch_size saying B). A request
// gives every dynamic input with the same number n of places, up to L (B * L when items may cross
// rows; with unpack_info what the model unpacks); inputs whose first dimension is max_valid_num
// with one item of it; the mask when padding is to be removed; and unpack_info, [segments], when
// items have several. Without unpack_info an output gets the n places of its item (and zeros where
// padding was removed; a longer buffer is left alone past them), with it one item of its first
// dimension.
//
// A pack goes when it has max_valid_num items, when the next item does not fit, or after `timeout`.
// Thread-safe.
class PackRunner final : public BaseRunner {
 public:
  // Throws invalid_argument (configuration), failed_precondition (a model that does not fit it),
  // and what ModelRunner throws.
  PackRunner(std::shared_ptr<const Model> model, PackRunnerConfig config);
  // As stop(): a pack that has not begun to compute fails, too.
  ~PackRunner() override;
  PackRunner(const PackRunner&) = delete;
  PackRunner& operator=(const PackRunner&) = delete;

  // Sizes are the longest that a request may have, shapes with a first dimension of 1 where the
  // model has rows or items.
  const std::vector<DataDesc>& execute_inputs() const override;
  const std::vector<DataDesc>& execute_outputs() const override;
  RequestRows request_rows() const override { return {RequestRows::any, 0, 0}; }
  std::vector<Shape> output_shapes(std::span<const InputBinding> inputs) const override;

  using BaseRunner::execute;
  using BaseRunner::execute_async;
  void execute(std::span<const InputBinding> inputs,
               std::span<const OutputBinding> outputs) override;
  RequestPtr execute_async(std::span<const InputBinding> inputs,
                           std::span<const OutputBinding> outputs, RequestCallback callback = {},
                           const RequestOptions& options = {}) override;
  void stop() noexcept override;

  using BaseRunner::statistics;
  // Of requests; steps are packs, rows are places with data, padded_rows those without.
  RunnerStatistics statistics() const override;
  std::vector<Tracepoint> tracepoints() const override;  // of the packs

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace poprt::runtime
