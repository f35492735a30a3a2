#include "generate/generator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"

namespace poprt::generate {

using Clock = std::chrono::steady_clock;

// The state that sequences and their generator share, so that either may end first.
struct Sequence::Shared {
  std::mutex mutex;
  std::condition_variable work;      // for the thread
  std::condition_variable progress;  // for callers
};

std::string_view finish_name(Finish finish) {
  constexpr std::array<std::string_view, 6> names = {"",          "stop",     "length",
                                                     "cancelled", "deadline", "error"};
  return names[static_cast<size_t>(finish)];
}

namespace {

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Waits for `ready`. Throws deadline_exceeded if it is not true in time.
template <class Ready>
void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& progress,
          std::chrono::nanoseconds timeout, Ready ready) {
  if (timeout.count() < 0) return progress.wait(lock, ready);
  if (!progress.wait_for(lock, timeout, ready))
    fail(ErrorCode::deadline_exceeded, "there was no token within {} ns", timeout.count());
}

size_t common_prefix(std::span<const int64_t> a, std::span<const int64_t> b) {
  const size_t most = std::min(a.size(), b.size());
  size_t n = 0;
  while (n < most && a[n] == b[n]) n++;
  return n;
}

}  // namespace

Sequence::Sequence(SequenceOptions options)
    : sampler_(options.sampling), options_(std::move(options)) {}

std::optional<Token> Sequence::next(std::chrono::nanoseconds timeout) {
  std::unique_lock lock(shared_->mutex);
  wait(lock, shared_->progress, timeout,
       [&] { return !unread_.empty() || finish_ != Finish::none || (waits_ && !cancelled_); });
  if (!unread_.empty()) {
    const Token token = unread_.front();
    unread_.pop_front();
    return token;
  }
  if (finish_ == Finish::none)
    fail(ErrorCode::failed_precondition, "the sequence waits until its logits are given back");
  if (error_) throw Error(*error_);
  return std::nullopt;
}

Finish Sequence::finish() const {
  const std::lock_guard lock(shared_->mutex);
  return finish_;
}

void Sequence::cancel() {
  const std::lock_guard lock(shared_->mutex);
  cancelled_ = true;
  shared_->work.notify_all();
}

std::vector<float> Sequence::logits(std::chrono::nanoseconds timeout) {
  std::unique_lock lock(shared_->mutex);
  if (!options_.wait_for_logits)
    fail(ErrorCode::failed_precondition, "the sequence was submitted without wait_for_logits");
  wait(lock, shared_->progress, timeout, [&] { return finish_ != Finish::none || waits_; });
  if (error_) throw Error(*error_);
  return waits_ ? pending_ : std::vector<float>();
}

void Sequence::resume(std::span<const float> logits) {
  const std::lock_guard lock(shared_->mutex);
  if (!waits_) fail(ErrorCode::failed_precondition, "the sequence does not wait for logits");
  if (logits.size() != pending_.size())
    fail(ErrorCode::invalid_argument, "there are {} logits, expected {}", logits.size(),
         pending_.size());
  pending_.assign(logits.begin(), logits.end());
  waits_ = false;
  shared_->work.notify_all();
}

Generator::Generator(std::shared_ptr<const runtime::Model> model, GeneratorOptions options)
    : decoder_(std::move(model), options.load),
      options_(std::move(options)),
      shared_(std::make_shared<Sequence::Shared>()),
      slots_(static_cast<size_t>(description().slots)),
      cached_(slots_.size()),
      thread_([this] { work(); }) {}

Generator::~Generator() {
  {
    const std::lock_guard lock(shared_->mutex);
    stopping_ = true;
    shared_->work.notify_all();
  }
  decoder_.stop();
  thread_.join();
}

std::shared_ptr<Sequence> Generator::submit(std::span<const int64_t> prompt,
                                            SequenceOptions options) {
  const Description& d = description();
  check(options.sampling, d.vocabulary);
  if (options.time_limit.count() < 0)
    fail(ErrorCode::invalid_argument, "the time limit is negative");
  if (prompt.empty()) fail(ErrorCode::invalid_argument, "the prompt is empty");
  for (const int64_t t : prompt)
    if (t < 0 || t >= d.vocabulary)
      fail(ErrorCode::invalid_argument, "token {} of the prompt is outside of the vocabulary of {}",
           t, d.vocabulary);
  if (static_cast<int64_t>(prompt.size()) >= d.max_length)
    fail(ErrorCode::out_of_range,
         "the prompt has {} tokens, and prompt and new tokens have room for {}; make the generator "
         "with a greater max_length",
         prompt.size(), d.max_length);
  const SequencePtr s(new Sequence(std::move(options)));
  s->shared_ = shared_;
  s->prompt_length_ = prompt.size();
  s->tokens_.assign(prompt.begin(), prompt.end());
  if (s->options_.time_limit.count()) s->deadline_ = Clock::now() + s->options_.time_limit;
  const std::lock_guard lock(shared_->mutex);
  if (stopping_) fail(ErrorCode::cancelled, "the generator was stopped");
  waiting_.push_back(s);
  counts_.submitted++;
  shared_->work.notify_all();
  return s;
}

std::string Generator::statistics() const {
  const std::lock_guard lock(shared_->mutex);
  const Counts& c = counts_;
  return json_text(nlohmann::ordered_json{{"slots", description().slots},
                                          {"max_length", description().max_length},
                                          {"submitted", c.submitted},
                                          {"ended", c.ended},
                                          {"waiting", waiting_.size()},
                                          {"active", active_count_},
                                          {"prompt_tokens", c.prompt_tokens},
                                          {"reused_tokens", c.reused_tokens},
                                          {"prompt_seconds", c.prompt_seconds},
                                          {"decode_tokens", c.decode_tokens},
                                          {"decode_steps", c.decode_steps},
                                          {"decode_seconds", c.decode_seconds}});
}

// Whether a sequence must run or end now. Requires the lock.
bool Generator::has_work() const {
  if (stopping_) return true;
  const auto cancelled = [](const SequencePtr& s) { return s && s->cancelled_; };
  if (std::ranges::any_of(slots_, cancelled) || std::ranges::any_of(waiting_, cancelled))
    return true;
  if (!waiting_.empty() && std::ranges::count(slots_, nullptr)) return true;
  return std::ranges::any_of(slots_, [](const SequencePtr& s) { return s && !s->waits_; });
}

void Generator::work() {
  std::unique_lock lock(shared_->mutex);
  for (;;) {
    // Sequences that wait for a slot or for their caller may reach their time limit without a run.
    constexpr std::chrono::milliseconds kCheck{10};
    while (!has_work()) {
      const bool limited =
          std::ranges::any_of(slots_, [](const SequencePtr& s) { return s && s->deadline_; }) ||
          std::ranges::any_of(waiting_,
                              [](const SequencePtr& s) { return s->deadline_.has_value(); });
      if (!limited) {
        shared_->work.wait(lock);
        continue;
      }
      shared_->work.wait_for(lock, kCheck);
      drop_ended();
    }
    drop_ended();
    if (stopping_) return;
    admit();
    lock.unlock();
    run_prompt();
    run_step();
    lock.lock();
  }
}

// Ends sequences that were cancelled or whose time is over, and all of them when the generator is
// destroyed. Requires the lock.
void Generator::drop_ended() {
  const auto now = Clock::now();
  const auto reason = [&](const Sequence& s) {
    if (stopping_) return Finish::error;
    if (s.cancelled_) return Finish::cancelled;
    return s.deadline_ && now >= *s.deadline_ ? Finish::deadline : Finish::none;
  };
  const auto drop = [&](Sequence& s) {
    const Finish why = reason(s);
    if (why == Finish::none) return false;
    std::optional<Error> error;
    if (why == Finish::error) error.emplace(ErrorCode::cancelled, "the generator was destroyed");
    end(s, why, std::move(error));
    return true;
  };
  for (SequencePtr& s : slots_)
    if (s && drop(*s)) release(*s);
  std::erase_if(waiting_, [&](const SequencePtr& s) { return drop(*s); });
}

// Returns a free slot for a sequence. With reuse_prefixes, `from` becomes the slot that contains
// the longest part of the prompt, if there is one. It is the returned slot if that is free.
size_t Generator::free_slot_for(const Sequence& s, std::optional<size_t>& from) const {
  size_t best = 0, slot = slots_.size();
  for (size_t i = 0; i < slots_.size(); i++) {
    if (!slots_[i] && slot == slots_.size()) slot = i;
    if (!options_.reuse_prefixes) continue;
    const size_t common = common_prefix(cached_[i], s.tokens_);
    if (common > best) {
      best = common;
      from = i;
    }
  }
  return from && !slots_[*from] ? *from : slot;
}

// Gives free slots to the sequences that wait longest. Requires the lock.
void Generator::admit() {
  while (!waiting_.empty() && std::ranges::count(slots_, nullptr)) {
    const SequencePtr s = waiting_.front();
    waiting_.pop_front();
    std::optional<size_t> from;
    const size_t slot = free_slot_for(*s, from);
    size_t kept = 0;
    if (from) {
      // The last token of the prompt is computed in any case, because its logits are needed.
      kept = std::min(common_prefix(cached_[*from], s->tokens_), s->tokens_.size() - 1);
      decoder_.copy(*from, slot);
    }
    decoder_.roll_back(slot, static_cast<int64_t>(kept));
    cached_[slot].assign(s->tokens_.begin(),
                         s->tokens_.begin() + static_cast<std::ptrdiff_t>(kept));
    counts_.reused_tokens += static_cast<int64_t>(kept);
    s->computed_ = kept;
    s->slot_ = slot;
    slots_[slot] = s;
    active_count_++;
  }
}

void Generator::end(Sequence& s, Finish finish, std::optional<Error> error) {
  s.finish_ = finish;
  s.error_ = std::move(error);
  s.waits_ = false;
  counts_.ended++;
  shared_->progress.notify_all();
}

void Generator::release(Sequence& s) {
  active_count_--;
  slots_[std::exchange(s.slot_, std::nullopt).value()] = nullptr;
}

bool Generator::is_stop(const Sequence& s, int64_t token) const {
  const SamplingOptions& o = s.sampler_.options();
  const auto contains = [&](const std::vector<int64_t>& list) {
    return std::ranges::find(list, token) != list.end();
  };
  return contains(o.stop_tokens) || (!o.ignore_stop && contains(description().stop_tokens));
}

// Runs one piece of the prompt of one sequence.
void Generator::run_prompt() {
  for (size_t i = 0; i < slots_.size(); i++) {
    const size_t slot = (turn_ + i) % slots_.size();
    const SequencePtr s = slots_[slot];
    if (!s || s->computed_ >= s->prompt_length_) continue;
    turn_ = slot + 1;
    try {
      const auto begin = Clock::now();
      const auto rest = std::span(s->tokens_).subspan(s->computed_);
      const size_t count = decoder_.prefill(slot, rest);
      cached_[slot].insert(cached_[slot].end(), rest.begin(),
                           rest.begin() + static_cast<std::ptrdiff_t>(count));
      s->computed_ += count;
      {
        const std::lock_guard lock(shared_->mutex);
        counts_.prompt_tokens += static_cast<int64_t>(count);
        counts_.prompt_seconds += seconds_since(begin);
      }
      if (s->computed_ == s->tokens_.size()) take_logits(*s, decoder_.logits(0));
    } catch (const Error& e) {
      const std::lock_guard lock(shared_->mutex);
      end(*s, Finish::error, e);
      release(*s);
    }
    return;
  }
}

// Runs a decoding step for all sequences whose prompt was computed and that do not wait for their
// callers.
void Generator::run_step() {
  std::vector<int64_t> tokens(slots_.size(), -1);
  std::vector<SequencePtr> resumed;
  int64_t count = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    for (const SequencePtr& s : slots_)
      if (s && !s->pending_.empty() && !s->waits_) resumed.push_back(s);
  }
  for (const SequencePtr& s : resumed) {
    std::vector<float> logits;
    logits.swap(s->pending_);
    choose(*s, logits);
  }
  for (size_t slot = 0; slot < slots_.size(); slot++) {
    const SequencePtr& s = slots_[slot];
    if (!s || s->computed_ < s->prompt_length_ || s->computed_ >= s->tokens_.size()) continue;
    tokens[slot] = s->tokens_[s->computed_];
    count++;
  }
  if (!count) return;
  try {
    const auto begin = Clock::now();
    decoder_.decode(tokens);
    const std::lock_guard lock(shared_->mutex);
    counts_.decode_tokens += count;
    counts_.decode_steps++;
    counts_.decode_seconds += seconds_since(begin);
  } catch (const Error& e) {
    const std::lock_guard lock(shared_->mutex);
    for (size_t slot = 0; slot < slots_.size(); slot++) {
      if (tokens[slot] < 0) continue;
      const SequencePtr s = slots_[slot];
      end(*s, Finish::error, e);
      release(*s);
    }
    return;
  }
  for (size_t slot = 0; slot < slots_.size(); slot++) {
    if (tokens[slot] < 0) continue;
    const SequencePtr s = slots_[slot];
    s->computed_++;
    cached_[slot].push_back(tokens[slot]);
    take_logits(*s, decoder_.logits(slot));
  }
}

// Chooses the next token, or passes the logits to the caller first.
void Generator::take_logits(Sequence& s, std::span<float> logits) {
  if (!s.options_.wait_for_logits) return choose(s, logits);
  const std::lock_guard lock(shared_->mutex);
  s.pending_.assign(logits.begin(), logits.end());
  s.waits_ = true;
  shared_->progress.notify_all();
}

void Generator::choose(Sequence& s, std::span<float> logits) {
  const SamplingOptions& o = s.sampler_.options();
  std::vector<int64_t> hidden;
  const auto made = static_cast<int64_t>(s.tokens_.size() - s.prompt_length_);
  if (made < o.min_new_tokens) {
    hidden = o.stop_tokens;
    hidden.insert(hidden.end(), description().stop_tokens.begin(), description().stop_tokens.end());
  }
  std::optional<Token> token;
  std::optional<Error> error;
  try {
    token = s.sampler_.choose(logits, s.tokens_, hidden);
  } catch (const Error& e) {
    error = e;
  }
  const std::lock_guard lock(shared_->mutex);
  if (error) {
    end(s, Finish::error, std::move(error));
    return release(s);
  }
  s.tokens_.push_back(token->id);
  s.unread_.push_back(*token);
  shared_->progress.notify_all();
  Finish why = Finish::none;
  if (is_stop(s, token->id))
    why = Finish::stop;
  else if ((o.max_new_tokens && made + 1 >= o.max_new_tokens) ||
           static_cast<int64_t>(s.tokens_.size()) >= description().max_length)
    why = Finish::length;
  if (why == Finish::none) return;
  end(s, why);
  release(s);
}

}  // namespace poprt::generate
