// The estimated cost of a model on a real IPU (poprt/estimate.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "poprt/error.hpp"
#include "poprt/estimate.h"

namespace poprt {
inline namespace v1 {
namespace compiler {

// The cost of a model on a chip, from Compiler::estimate(). It does not change. Since 1.0.
class Estimate {
 public:
  // Takes ownership of the handle.
  explicit Estimate(poprt_estimate* handle) : handle_(handle) {}
  // <functions:estimate> made from capi/functions.toml by tests/lint/functions.py --write
  // The name of the chip. Since 1.0.
  std::string target() const {
    poprt_string* text = nullptr;
    detail::check(poprt_estimate_target(handle_.get(), &text));
    return detail::take(text);
  }
  // The cycles of the device for one batch. Since 1.0.
  int64_t cycles() const { return poprt_estimate_cycles(handle_.get()); }
  // The number of samples of one batch. Since 1.0.
  int64_t samples() const { return poprt_estimate_samples(handle_.get()); }
  // The time of the device for one batch. Since 1.0.
  double milliseconds() const { return poprt_estimate_milliseconds(handle_.get()); }
  // The time from batch to batch in the steady state, with the transfers of the host. Since 1.0.
  double periodMilliseconds() const { return poprt_estimate_period_milliseconds(handle_.get()); }
  // The time of a batch that runs alone, with the transfers of the host. Since 1.0.
  double latencyMilliseconds() const { return poprt_estimate_latency_milliseconds(handle_.get()); }
  // The time of the transfers of one batch between the host and the chip. Since 1.0.
  double hostMilliseconds() const { return poprt_estimate_host_milliseconds(handle_.get()); }
  // The samples per second in the steady state. Since 1.0.
  double throughput() const { return poprt_estimate_throughput(handle_.get()); }
  // The fraction of the largest number of half-precision products that the chip could compute in
  // the same cycles. Since 1.0.
  double utilization() const { return poprt_estimate_utilization(handle_.get()); }
  // The bytes that the busiest tile needs, with gaps between its variables. Since 1.0.
  size_t tileBytes() const { return poprt_estimate_tile_bytes(handle_.get()); }
  // The bytes of a tile of the chip. Since 1.0.
  size_t availableBytes() const { return poprt_estimate_available_bytes(handle_.get()); }
  // Whether the memory of every tile suffices, and the host has room for the buffers of every
  // stream. Since 1.0.
  bool fits() const { return poprt_estimate_fits(handle_.get()) != 0; }
  // How well the cycles are known: calibrated, checked or unchecked, and the error that was
  // measured for programs of this class. Since 1.0.
  std::string cycleQuality() const {
    poprt_string* text = nullptr;
    detail::check(poprt_estimate_cycle_quality(handle_.get(), &text));
    return detail::take(text);
  }
  // How well the bytes are known: calibrated, checked or unchecked, and the error that was
  // measured. Since 1.0.
  std::string memoryQuality() const {
    poprt_string* text = nullptr;
    detail::check(poprt_estimate_memory_quality(handle_.get(), &text));
    return detail::take(text);
  }
  // How well the times of the host are known: calibrated, checked or unchecked, and the error that
  // was measured. Since 1.0.
  std::string hostQuality() const {
    poprt_string* text = nullptr;
    detail::check(poprt_estimate_host_quality(handle_.get(), &text));
    return detail::take(text);
  }
  // All numbers of the estimate as a JSON object, the output of `poprt_exec estimate --json
  // --verbose`. Later versions may add keys. Since 1.0.
  std::string json() const {
    poprt_string* text = nullptr;
    detail::check(poprt_estimate_json(handle_.get(), &text));
    return detail::take(text);
  }
  // The estimate as text for people. The format may change. Since 1.0.
  std::string report() const {
    poprt_string* text = nullptr;
    detail::check(poprt_estimate_report(handle_.get(), &text));
    return detail::take(text);
  }
  // A picture as SVG: memory by tile, memory over time, phases of the operations, and cycles by
  // operator. Since 1.0.
  std::string svg() const {
    poprt_string* text = nullptr;
    detail::check(poprt_estimate_svg(handle_.get(), &text));
    return detail::take(text);
  }
  // </functions:estimate>

 private:
  struct Free {
    void operator()(poprt_estimate* e) const { poprt_estimate_free(e); }
  };
  std::unique_ptr<poprt_estimate, Free> handle_;
};

}  // namespace compiler
}  // namespace v1
}  // namespace poprt
