#include "generate/beams.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"

namespace poprt::generate {

void check(const BeamOptions& o, int64_t slots) {
  if (o.num_beams < 1 || o.num_beams > slots)
    fail(ErrorCode::invalid_argument,
         "num_beams is {}, and the generator has {} slots; each beam needs one", o.num_beams,
         slots);
  if (o.num_return_sequences < 1 || o.num_return_sequences > o.num_beams)
    fail(ErrorCode::invalid_argument, "num_return_sequences is {}, expected 1 to num_beams ({})",
         o.num_return_sequences, o.num_beams);
  constexpr double kMost = 100;
  if (!(std::abs(o.length_penalty) <= kMost))
    fail(ErrorCode::invalid_argument, "length_penalty is {}, expected {} to {}", o.length_penalty,
         -kMost, kMost);
}

BeamSearch::BeamSearch(const BeamOptions& options, size_t most, size_t stops)
    : options_(options),
      beams_(static_cast<size_t>(options.num_beams)),
      most_(most),
      kept_(std::max<size_t>(2, 1 + stops) * beams_),
      running_(1) {}

std::vector<BeamSearch::Candidate> BeamSearch::best_of(
    std::span<const std::vector<double>> rows) const {
  std::vector<Candidate> all;
  for (size_t r = 0; r < rows.size(); r++)
    for (size_t t = 0; t < rows[r].size(); t++)
      if (rows[r][t] > -std::numeric_limits<double>::infinity())
        all.push_back({running_[r].score + rows[r][t], r, static_cast<int64_t>(t)});
  // Among equal scores, the continuation of the better text is first, then the lower token.
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score     ? a.score > b.score
           : a.parent != b.parent ? a.parent < b.parent
                                  : a.token < b.token;
  };
  if (all.size() > kept_) {
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(kept_);
    std::nth_element(all.begin(), end - 1, all.end(), before);
    all.erase(end, all.end());
  }
  std::ranges::sort(all, before);
  return all;
}

void BeamSearch::step(std::span<const std::vector<double>> rows,
                      std::span<const std::vector<double>> plain,
                      const std::function<bool(int64_t)>& is_stop) {
  length_++;
  const std::vector<Candidate> candidates = best_of(rows);
  if (candidates.empty())
    fail(ErrorCode::failed_precondition, "no token is left: all have a logit of -inf");
  const double divisor = std::pow(static_cast<double>(length_), options_.length_penalty);
  const bool closed = finished_.size() == beams_ && options_.early_stopping == EarlyStopping::yes;
  std::vector<BeamText> next;
  std::vector<size_t> parents;
  for (size_t rank = 0; rank < candidates.size(); rank++) {
    const Candidate& c = candidates[rank];
    const bool ends = length_ >= most_ || is_stop(c.token);
    if (ends ? rank >= beams_ || closed : next.size() == beams_) continue;
    BeamText text = running_[c.parent];
    text.tokens.push_back({c.token, plain[c.parent][static_cast<size_t>(c.token)]});
    text.score = ends ? c.score / divisor : c.score;
    if (ends) {
      const auto worse =
          std::ranges::find_if(finished_, [&](const BeamText& f) { return f.score < text.score; });
      finished_.insert(worse, std::move(text));
    } else {
      parents.push_back(c.parent);
      next.push_back(std::move(text));
    }
  }
  if (finished_.size() > beams_) finished_.resize(beams_);
  running_ = std::move(next);
  parents_ = std::move(parents);
  const bool full = finished_.size() == beams_;
  done_ = running_.empty() || (full && options_.early_stopping == EarlyStopping::yes);
  if (done_ || !full) return;
  const bool to_the_end =
      options_.early_stopping == EarlyStopping::never && options_.length_penalty > 0;
  const auto length = static_cast<double>(to_the_end ? most_ : length_);
  done_ = running_[0].score / std::pow(length, options_.length_penalty) <= finished_.back().score;
}

std::vector<BeamText> BeamSearch::results() const {
  const auto count = std::min(finished_.size(), static_cast<size_t>(options_.num_return_sequences));
  return {finished_.begin(), finished_.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace poprt::generate
