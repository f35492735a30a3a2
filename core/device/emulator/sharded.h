// Several emulated IPUs that run one program together (program/shards.h); each shard has a separate
// engine.
#pragma once

#include <functional>
#include <memory>

#include "device/device.h"

namespace poprt::device {

using LoadOne = std::function<std::unique_ptr<Engine>(const Image&, const LoadOptions&)>;

// Without stages, a run moves from IPU to IPU on the caller's thread. Each shard has all compute
// threads, because only one works at a time. With stages, the shards share the threads. Throws like
// Device::load.
std::unique_ptr<Engine> load_shards(const Image& image, const LoadOptions& options,
                                    const LoadOne& load_one);

}  // namespace poprt::device
