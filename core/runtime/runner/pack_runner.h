// A runner that packs requests of variable length into batches of a fixed length.
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
  RunnerConfig runner;  // for the inner runner; batching_dim must be off
  // The longest time from the first item of a pack until it is sent incomplete; must be above 0.
  std::chrono::microseconds timeout{0};
  // The largest number of items of a pack; 0: as many as fit (with unpack_info: as many as it has
  // entries).
  uint64_t max_valid_num = 0;
  // The input of variable length. If empty: the input in the description that pass
  // packed_transformer wrote; else the mask; else the first input of callers (complete()).
  std::string dynamic_input_name;
  // The input with the lengths, s32 [max_valid_num] or [max_valid_num, segments]. If empty: the
  // input in the description; else, unless single-row mode is selected or the dynamic input is
  // named, an s32 input "unpack_info".
  std::string unpack_info_input_name;
  std::string mask_name;
  // Further inputs of variable length. Inputs with the same rows and places as the dynamic one are
  // found without being listed.
  std::vector<std::string> dynamic_group;
  PackAlgorithm algo = PackAlgorithm::next_fit;
  int64_t compile_batch_size = -1;  // -1: the first of several dimensions of the dynamic input
  bool disable_data_across_rows = false;
  bool enable_padding_remove = false;
  uint64_t delimiter_num = 0;  // places with zeros between two items of a row
  // Whether the next pack is filled during a computation.
  bool enable_prefetch_datastreams = true;

  // Selects single-row mode: no item continues in another row, and the mask contains the number of
  // the item in its row: 1, 2, 3 ...
  void enable_single_row_mode(std::string mask, std::string unpack_info = {},
                              uint64_t delimiter = 0) {
    disable_data_across_rows = true;
    mask_name = std::move(mask);
    unpack_info_input_name = std::move(unpack_info);
    delimiter_num = delimiter;
  }
  // Selects the removal of padding: requests are padded, and an item ends after the last place
  // where its mask is not zero.
  void enable_padding_remove_pattern(std::string mask, std::vector<std::string> group) {
    enable_padding_remove = true;
    mask_name = std::move(mask);
    dynamic_group = std::move(group);
  }
};

// The dynamic input has the shape [B, L, ...] (or [T, ...]; then compile_batch_size is B). In a
// request, every dynamic input has the same number n of places, up to L, to B * L if items may
// continue in the next row, or, with unpack_info, to the number that the model unpacks. If padding
// is removed, the mask and the inputs of dynamic_group have padding, and other dynamic inputs have
// it or end with the item. A dynamic input other than the main one may be left out: it is zeros,
// with a warning, except the mask of single-row mode, which then marks every place of the item. If
// the first dimension of an input is max_valid_num, a request has one entry along it. A request
// must contain the mask if padding is removed, and unpack_info [segments] if items have several
// segments. Without unpack_info an output has the n places of its item, with zeros where padding
// was removed; a longer buffer is not written beyond them. With unpack_info an output has one entry
// along its first dimension.
//
// A request is one item: if an input has a shape, it is [n, ...] or [1, n, ...]. Without
// unpack_info and single-row mode nothing separates items, so the model must compute each place
// alone.
//
// A pack is sent when it has max_valid_num items, when the next item does not fit, or after
// `timeout`. Thread-safe.
class PackRunner final : public BaseRunner {
 public:
  // Throws invalid_argument (configuration), not_found (a name in the configuration),
  // failed_precondition (an unsuitable model, or items that change each other), data_loss (an
  // invalid description in the model), and the errors of ModelRunner.
  PackRunner(std::shared_ptr<const Model> model, PackRunnerConfig config);
  // Requests that wait fail with cancelled. A pack that is being computed is completed.
  ~PackRunner() override;
  PackRunner(const PackRunner&) = delete;
  PackRunner& operator=(const PackRunner&) = delete;

  // Sizes are those of the longest request. A first dimension that counts rows is 1 here. A first
  // dimension that counts items is 1 for outputs, and inputs do not have it.
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
  // Requests are those of callers. Steps are packs, rows are places with data, and padded_rows are
  // places without data.
  RunnerStatistics statistics() const override;
  std::vector<Tracepoint> tracepoints() const override;  // of the packs

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace poprt::runtime
