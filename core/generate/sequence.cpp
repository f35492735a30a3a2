#include "generate/sequence.h"

#include <array>
#include <utility>

#include "base/deadline.h"
#include "generate/sequence_shared.h"

namespace poprt::generate {

using Clock = std::chrono::steady_clock;

std::string_view finish_name(Finish finish) {
  constexpr std::array<std::string_view, 6> names = {"",          "stop",     "length",
                                                     "cancelled", "deadline", "error"};
  return names[static_cast<size_t>(finish)];
}

namespace {

// Waits for `ready`. Throws deadline_exceeded if it is not true in time.
template <class Ready>
void wait(std::unique_lock<ForkMutex>& lock, ForkCondition& progress,
          std::chrono::nanoseconds timeout, Ready ready) {
  if (timeout.count() < 0) return progress.wait(lock, ready);
  if (!progress.wait_until(lock, deadline_after(Clock::now(), timeout), ready))
    fail(ErrorCode::deadline_exceeded, "there was no token within {} ns", timeout.count());
}

}  // namespace

Sequence::Sequence(SequenceOptions options)
    : sampler_(options.sampling), options_(std::move(options)) {}

std::optional<Token> Sequence::next(std::chrono::nanoseconds timeout) {
  shared_->check_process();
  std::unique_lock lock(shared_->mutex);
  wait(lock, shared_->progress, timeout,
       [&] { return !unread_.empty() || finish_ != Finish::none || (waits_ && !cancelled_); });
  if (!unread_.empty()) {
    const Token token = unread_.front();
    unread_.pop_front();
    return token;
  }
  if (finish_ == Finish::none)
    fail(ErrorCode::failed_precondition,
         "the sequence waits for its logits: resume gives them back");
  if (error_) throw Error(*error_);
  return std::nullopt;
}

void Sequence::take_text(const BeamText& text) {
  unread_.assign(text.tokens.begin(), text.tokens.end());
  score_ = text.score;
}

bool Sequence::next_text(std::chrono::nanoseconds timeout) {
  shared_->check_process();
  std::unique_lock lock(shared_->mutex);
  wait(lock, shared_->progress, timeout, [&] { return finish_ != Finish::none; });
  if (error_) throw Error(*error_);
  if (texts_.empty()) return false;
  take_text(texts_.front());
  texts_.pop_front();
  return true;
}

double Sequence::score() const {
  const std::lock_guard lock(shared_->mutex);
  return score_;
}

Finish Sequence::finish() const {
  const std::lock_guard lock(shared_->mutex);
  return finish_;
}

void Sequence::cancel() {
  if (shared_->is_of_parent()) return;
  const std::lock_guard lock(shared_->mutex);
  cancelled_ = true;
  shared_->work.notify_all();
}

std::vector<float> Sequence::logits(std::chrono::nanoseconds timeout) {
  shared_->check_process();
  std::unique_lock lock(shared_->mutex);
  if (!options_.wait_for_logits)
    fail(ErrorCode::failed_precondition, "the sequence was submitted without wait_for_logits");
  wait(lock, shared_->progress, timeout, [&] { return finish_ != Finish::none || waits_; });
  if (error_) throw Error(*error_);
  return waits_ ? pending_ : std::vector<float>();
}

void Sequence::resume(std::span<const float> logits) {
  shared_->check_process();
  const std::lock_guard lock(shared_->mutex);
  if (!waits_) fail(ErrorCode::failed_precondition, "the sequence does not wait for logits");
  if (logits.size() != pending_.size())
    fail(ErrorCode::invalid_argument, "there are {} logits, expected {}", logits.size(),
         pending_.size());
  pending_.assign(logits.begin(), logits.end());
  waits_ = false;
  shared_->work.notify_all();
}

// Wakes callers, and adds the sequence to those whose callback is to be called. Requires the lock.
void Sequence::report_progress() {
  shared_->progress.notify_all();
  if (!has_callback_ || to_call_ || shared_->ended) return;
  to_call_ = true;
  next_call_ = std::move(shared_->to_call);
  shared_->to_call = shared_from_this();
}

void Sequence::set_callback(std::function<void()> callback) {
  if (std::this_thread::get_id() == shared_->thread)
    fail(ErrorCode::failed_precondition, "a callback of the generator must not set callbacks");
  if (shared_->is_of_parent()) return;      // no thread would call it
  const std::lock_guard calling(calling_);  // waits for a running call
  callback_ = std::move(callback);
  const std::lock_guard lock(shared_->mutex);
  has_callback_ = callback_ != nullptr;
  if (unread_.empty() && finish_ == Finish::none && !waits_) return;
  report_progress();
  shared_->work.notify_all();
}

}  // namespace poprt::generate
