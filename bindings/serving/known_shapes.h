// The shapes of requests that a runner has compiled, as far as its caller can know: a request of
// such a shape does not wait for a compilation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace poprt::serving {

// Thread-safe.
class KnownShapes {
 public:
  // The shapes of all inputs, each with its rank before it.
  using Key = std::vector<int64_t>;

  // `most`: how many shapes the runner keeps (max_shapes in poprt_runner_options); 0: its default.
  explicit KnownShapes(size_t most);

  // Returns the line of an input for poprt_runner_warm_up, such as "ids=1,16", or "" if its name
  // does not fit into a line.
  static std::string line(const std::string& input, const int64_t* shape, size_t rank);
  // Appends the rank and the sizes of an input's shape.
  static void append(Key& key, const std::vector<int64_t>& shape);
  bool contains(const Key& key) const;
  // Adds a shape that is compiled. If `most` other shapes are known, the runner may remove one of
  // them, which this class cannot identify, so it forgets all of them. It does not notice that the
  // runner removes a shape because of max_shape_memory.
  void add(const Key& key);

 private:
  const size_t most_;
  mutable std::mutex mutex_;
  std::set<Key> keys_;  // guarded by mutex_
};

}  // namespace poprt::serving
