// The shapes of requests that a runner has compiled, as far as its caller can know: a request of
// such a shape does not wait for a compilation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

namespace poprt::serving {

// Thread-safe.
class KnownShapes {
 public:
  // The shapes of all inputs, each with its rank before it.
  using Key = std::vector<int64_t>;

  // `most`: how many shapes the runner keeps (max_shapes in poprt_runner_options); 0: its default.
  explicit KnownShapes(size_t most);

  static void append(Key& key, const std::vector<int64_t>& shape);
  bool contains(const Key& key) const;
  // Adds the shape of a request that was computed. The runner may have removed another shape then,
  // which this class cannot identify, so it forgets all others.
  void add(const Key& key);

 private:
  const size_t most_;
  mutable std::mutex mutex_;
  std::set<Key> keys_;  // guarded by mutex_
};

}  // namespace poprt::serving
