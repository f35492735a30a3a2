#include "serving/known_shapes.h"

#include <poprt/runner.h>

#include <algorithm>

namespace poprt::serving {

KnownShapes::KnownShapes(size_t most) : most_(most ? most : POPRT_DEFAULT_MAX_SHAPES) {}

std::string KnownShapes::line(const std::string& input, const int64_t* shape, size_t rank) {
  if (input.find_first_of("=\n") != std::string::npos) return {};
  std::string text = input + (rank == 0 ? "=[]" : "");
  for (size_t d = 0; d < rank; d++) text += (d == 0 ? "=" : ",") + std::to_string(shape[d]);
  return text;
}

void KnownShapes::append(Key& key, const std::vector<int64_t>& shape) {
  key.push_back(static_cast<int64_t>(shape.size()));
  key.insert(key.end(), shape.begin(), shape.end());
}

bool KnownShapes::contains(const Key& key) const {
  const std::lock_guard lock(mutex_);
  return keys_.contains(key);
}

void KnownShapes::add(const Key& key) {
  const std::lock_guard lock(mutex_);
  if (keys_.contains(key)) return;
  if (keys_.size() >= most_) keys_.clear();
  keys_.insert(key);
}

}  // namespace poprt::serving
