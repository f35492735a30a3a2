#include "generate/stopping.h"

#include <algorithm>

namespace poprt::generate {

bool Stopping::is_stop(int64_t token) const {
  const auto contains = [&](const std::vector<int64_t>& list) {
    return std::ranges::find(list, token) != list.end();
  };
  return contains(options.stop_tokens) || (!options.ignore_stop && contains(model.stop_tokens));
}

std::vector<int64_t> Stopping::stop_tokens() const {
  std::vector<int64_t> stops = options.stop_tokens;
  const auto& own = model.stop_tokens;
  if (!options.ignore_stop) stops.insert(stops.end(), own.begin(), own.end());
  std::ranges::sort(stops);
  stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
  return stops;
}

size_t Stopping::most_tokens() const {
  const auto places = static_cast<size_t>(model.max_length);
  const auto limit = static_cast<size_t>(options.max_new_tokens);
  return limit ? std::min(places, prompt_length + limit) : places;
}

std::optional<int64_t> Stopping::forced_token(size_t length) const {
  if (model.forced_last && length + 1 == most_tokens()) return model.forced_last;
  if (model.forced_first && length == 1) return model.forced_first;
  return std::nullopt;
}

std::vector<int64_t> Stopping::hidden_tokens(size_t made) const {
  std::vector<int64_t> hidden = model.suppressed;
  const auto add = [&](const std::vector<int64_t>& list) {
    hidden.insert(hidden.end(), list.begin(), list.end());
  };
  if (made == 0) add(model.suppressed_first);
  if (static_cast<int64_t>(made) < options.min_new_tokens) {
    add(options.stop_tokens);
    add(model.stop_tokens);
  }
  return hidden;
}

}  // namespace poprt::generate
