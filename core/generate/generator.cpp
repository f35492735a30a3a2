#include "generate/generator.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/deadline.h"
#include "base/json.h"
#include "generate/saved_sequence.h"
#include "generate/sequence_shared.h"

namespace poprt::generate {

using Clock = std::chrono::steady_clock;

namespace {

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void check_inside(std::span<const int64_t> tokens, int64_t vocabulary, const char* name) {
  for (const int64_t t : tokens)
    if (t < 0 || t >= vocabulary)
      fail(ErrorCode::invalid_argument, "token {} of {} is outside of the vocabulary of {}", t,
           name, vocabulary);
}

size_t common_prefix(std::span<const int64_t> a, std::span<const int64_t> b) {
  const size_t most = std::min(a.size(), b.size());
  size_t n = 0;
  while (n < most && a[n] == b[n]) n++;
  return n;
}

}  // namespace

Generator::Generator(std::shared_ptr<const runtime::Model> model, GeneratorOptions options)
    : decoder_(std::move(model), options.load),
      options_(std::move(options)),
      shared_(std::make_shared<Sequence::Shared>()),
      slots_(static_cast<size_t>(description().slots)),
      cached_(slots_.size()) {
  if (const runtime::Telemetry* const t = decoder_.telemetry()) {
    t->generator()->max_length = static_cast<uint64_t>(description().max_length);
    t->generator()->cache_bytes = decoder_.cache_bytes();
    t->generator()->slots = slots_.size();
  }
  thread_ = std::thread([this] { work(); });
  shared_->thread = thread_.get_id();
}

Generator::~Generator() {
  if (shared_->is_of_parent()) {
    // A forked child has no thread. The parent's may have been in the middle of a change, so the
    // child never destroys what it guards, and does not call the thread library for the thread.
    static_cast<void>(new std::shared_ptr(shared_));
    static_cast<void>(new std::thread(std::move(thread_)));
    return;
  }
  {
    const std::lock_guard lock(shared_->mutex);
    stopping_ = true;
    shared_->work.notify_all();
  }
  decoder_.stop();
  thread_.join();
}

void Generator::check_process() const { shared_->check_process(); }

std::shared_ptr<Sequence> Generator::submit(std::span<const int64_t> prompt,
                                            SequenceOptions options,
                                            std::function<void()> callback) {
  check_process();
  const Description& d = description();
  check(options.sampling, d.vocabulary);
  check(options.beams, d.slots);
  if (options.beams.num_beams > 1 && (options.sampling.temperature != 0 || options.wait_for_logits))
    fail(ErrorCode::invalid_argument,
         "num_beams is {}: a beam search has temperature 0 and no wait_for_logits",
         options.beams.num_beams);
  check_source(options);
  if (prompt.empty() && d.encoder) prompt = d.start_tokens;
  if (options.time_limit.count() < 0)
    fail(ErrorCode::invalid_argument, "the time limit is negative");
  if (prompt.empty())
    fail(ErrorCode::invalid_argument, "the prompt is empty{}",
         d.encoder ? ", and the model does not state the token with which a text begins" : "");
  check_inside(prompt, d.vocabulary, "the prompt");
  if (static_cast<int64_t>(prompt.size()) >= d.max_length)
    fail(ErrorCode::out_of_range,
         "the prompt has {} tokens, and prompt and new tokens have room for {}; make the generator "
         "with a greater max_length",
         prompt.size(), d.max_length);
  const SequencePtr s(new Sequence(std::move(options)));
  s->shared_ = shared_;
  s->prompt_length_ = prompt.size();
  s->tokens_.assign(prompt.begin(), prompt.end());
  s->set_callback(std::move(callback));
  const std::lock_guard lock(shared_->mutex);
  enqueue(s);
  return s;
}

// Adds a sequence to those that wait, or ends one that had ended when it was saved. Requires the
// lock.
void Generator::enqueue(const SequencePtr& s) {
  if (stopping_) fail(ErrorCode::cancelled, "the generator was stopped");
  s->begin_ = Clock::now();
  counts_.submitted++;
  if (runtime::Telemetry* const t = decoder_.telemetry()) t->submitted();
  if (s->finish_ != Finish::none) {
    end(*s, s->finish_, std::nullopt);
  } else {
    if (s->options_.time_limit.count())
      s->deadline_ = deadline_after(s->begin_, s->options_.time_limit);
    waiting_.push_back(s);
    shared_->work.notify_all();
  }
  publish();
}

const std::string& Generator::fingerprint() {
  std::call_once(fingerprint_made_, [&] { fingerprint_ = fingerprint_of(model()); });
  return fingerprint_;
}

// The sequence between two runs. Requires the lock.
SavedSequence Generator::snapshot(const Sequence& s) const {
  SavedSequence to;
  to.options = s.options_;
  to.prompt_length = s.prompt_length_;
  to.tokens = s.tokens_;
  to.unread.assign(s.unread_.begin(), s.unread_.end());
  to.finish = s.finish_;
  to.draws = s.sampler_.draws();
  if (s.finish_ != Finish::none) return to;
  to.computed = s.computed_;
  to.waits = s.waits_;
  to.pending = s.pending_;
  to.encoded = s.encoded_;
  to.source_length = s.source_length_;
  to.device = s.restored_;
  if (!s.slot_) return to;
  if (s.encoded_) to.source_length = decoder_.source_length(*s.slot_);
  if (s.computed_ > 0 || s.encoded_) to.device = decoder_.save(*s.slot_);
  return to;
}

// Copies the state of the sequences whose callers wait in save(). Requires the lock.
void Generator::save_wanted() {
  const auto save = [&](const SequencePtr& s) {
    if (!s || !s->save_wanted_) return;
    s->saved_ = std::make_shared<const SavedSequence>(snapshot(*s));
    s->save_wanted_ = false;
    shared_->progress.notify_all();
  };
  std::ranges::for_each(slots_, save);
  std::ranges::for_each(waiting_, save);
}

std::vector<std::byte> Generator::save(Sequence& s) {
  check_process();
  if (s.shared_ != shared_)
    fail(ErrorCode::invalid_argument, "the sequence is not of this generator");
  if (s.options_.beams.num_beams > 1)
    fail(ErrorCode::unimplemented, "a beam search cannot be saved");
  const std::string& print = fingerprint();
  std::unique_lock lock(shared_->mutex);
  std::shared_ptr<const SavedSequence> saved;
  // Another call may take the copy first. Only the thread copies a sequence that continues, because
  // a run changes its state.
  while (s.finish_ == Finish::none && !saved) {
    s.save_wanted_ = true;
    shared_->work.notify_all();
    shared_->progress.wait(lock, [&] { return !s.save_wanted_ || s.finish_ != Finish::none; });
    saved = std::exchange(s.saved_, nullptr);
  }
  if (s.finish_ != Finish::none) s.save_wanted_ = false;
  if (!saved) {
    if (s.error_) throw Error(*s.error_);
    saved = std::make_shared<const SavedSequence>(snapshot(s));
  }
  lock.unlock();
  return write_saved(*saved, print);
}

SavedSequence Generator::read_saved(std::span<const std::byte> bytes) {
  SavedSequence saved = generate::read_saved(bytes, fingerprint(), decoder_);
  try {
    check(saved.options.sampling, description().vocabulary);
    if (saved.finish == Finish::none && !saved.encoded) check_source(saved.options);
    if (saved.options.time_limit.count() < 0)
      fail(ErrorCode::data_loss, "the time limit is negative");
  } catch (const Error& e) {
    fail(ErrorCode::data_loss, "the saved sequence is damaged or truncated: {}", e.message());
  }
  return saved;
}

void Generator::check_saved(std::span<const std::byte> bytes) {
  check_process();
  read_saved(bytes);
}

std::shared_ptr<Sequence> Generator::restore(std::span<const std::byte> bytes,
                                             std::function<void()> callback) {
  check_process();
  SavedSequence saved = read_saved(bytes);
  const SequencePtr s(new Sequence(std::move(saved.options)));
  s->shared_ = shared_;
  s->prompt_length_ = saved.prompt_length;
  s->tokens_ = std::move(saved.tokens);
  s->unread_.assign(saved.unread.begin(), saved.unread.end());
  s->finish_ = saved.finish;
  s->sampler_.set_draws(saved.draws);
  s->computed_ = saved.computed;
  s->waits_ = saved.waits;
  s->pending_ = std::move(saved.pending);
  s->encoded_ = saved.encoded;
  s->source_length_ = saved.source_length;
  s->restored_ = std::move(saved.device);
  s->set_callback(std::move(callback));
  const std::lock_guard lock(shared_->mutex);
  enqueue(s);
  return s;
}

void Generator::check_source(const SequenceOptions& options) const {
  if (!description().encoder) {
    if (!options.source.empty() || !options.features.empty())
      fail(ErrorCode::invalid_argument, "the model has no encoder");
    return;
  }
  const EncoderDescription& e = *description().encoder;
  if (e.ids && (options.source.empty() || !options.features.empty()))
    fail(ErrorCode::invalid_argument, "the encoder takes tokens, {} and {} features are given",
         options.source.size(), options.features.size());
  if (e.ids && static_cast<int64_t>(options.source.size()) > e.lengths.back())
    fail(ErrorCode::out_of_range,
         "the input has {} tokens, the encoder has room for {}; make the generator with a greater "
         "encoder_length",
         options.source.size(), e.lengths.back());
  if (e.ids) return check_inside(options.source, description().vocabulary, "the input");
  const int64_t count = element_count(e.features_shape);
  if (!options.source.empty() || static_cast<int64_t>(options.features.size()) != count)
    fail(ErrorCode::invalid_argument, "the encoder takes {} features {}, {} are given", count,
         shape_string(e.features_shape), options.features.size());
}

std::string Generator::statistics() const {
  check_process();
  const std::lock_guard lock(shared_->mutex);
  const Counts& c = counts_;
  const Description& d = description();
  return json_text(nlohmann::ordered_json{{"slots", d.slots},
                                          {"max_length", d.max_length},
                                          {"submitted", c.submitted},
                                          {"ended", c.ended},
                                          {"waiting", waiting_.size()},
                                          {"active", active_count_},
                                          {"prompt_tokens", c.prompt_tokens},
                                          {"reused_tokens", c.reused_tokens},
                                          {"prompt_seconds", c.prompt_seconds},
                                          {"decode_tokens", c.decode_tokens},
                                          {"decode_steps", c.decode_steps},
                                          {"decode_seconds", c.decode_seconds},
                                          {"encoder_runs", c.encoder_runs},
                                          {"encoder_seconds", c.encoder_seconds},
                                          {"busy_slots", c.busy_slots},
                                          {"places", d.slots * d.places()},
                                          {"used_places", c.used_places},
                                          {"cache_bytes", decoder_.cache_bytes()}});
}

// Counts the slots and places of sequences. Only the thread calls it, with the lock.
void Generator::note_slots() {
  counts_.busy_slots = counts_.used_places = 0;
  for (size_t slot = 0; slot < slots_.size(); slot++) {
    if (!slots_[slot]) continue;
    counts_.busy_slots++;
    counts_.used_places += std::min(decoder_.length(slot), description().places());
  }
  publish();
}

// Writes the state to the telemetry. Requires the lock, so there is one writer at a time.
void Generator::publish() {
  const runtime::Telemetry* const t = decoder_.telemetry();
  if (!t) return;
  runtime::telemetry::Generator* const to = t->generator();
  const Counts& c = counts_;
  const auto set = [](runtime::telemetry::Counter& counter, auto value) {
    counter.store(static_cast<uint64_t>(value), std::memory_order_relaxed);
  };
  const auto ns = [](double seconds) { return seconds * 1e9; };
  set(to->busy, c.busy_slots);
  set(to->waiting, waiting_.size());
  set(to->used, c.used_places);
  set(to->submitted, c.submitted);
  set(to->ended, c.ended);
  set(to->prompt_tokens, c.prompt_tokens);
  set(to->reused_tokens, c.reused_tokens);
  set(to->prompt_ns, ns(c.prompt_seconds));
  set(to->decode_tokens, c.decode_tokens);
  set(to->decode_steps, c.decode_steps);
  set(to->decode_ns, ns(c.decode_seconds));
}

// Whether there is something to do: a sequence to admit, run, end or save, or a callback to call.
// Requires the lock.
bool Generator::has_work() const {
  if (stopping_) return true;
  const auto ended = [](const SequencePtr& s) { return s && s->cancelled_; };
  if (std::ranges::any_of(slots_, ended) || std::ranges::any_of(waiting_, ended)) return true;
  const auto to_save = [](const SequencePtr& s) { return s && s->save_wanted_; };
  if (std::ranges::any_of(slots_, to_save) || std::ranges::any_of(waiting_, to_save)) return true;
  if (!waiting_.empty() && std::ranges::count(slots_, nullptr) >=
                               static_cast<std::ptrdiff_t>(slots_of(*waiting_.front())))
    return true;
  if (shared_->to_call) return true;
  return std::ranges::any_of(slots_, [](const SequencePtr& s) { return s && !s->waits_; });
}

void Generator::work() {
  std::unique_lock lock(shared_->mutex);
  for (;;) {
    try {
      if (!work_once(lock)) return;
    } catch (const std::exception& e) {  // no memory for a copy or a list
      if (!lock.owns_lock()) lock.lock();
      end_all(Error(ErrorCode::resource_exhausted, e.what()));
    }
  }
}

// Waits for work and does one step of it. Returns false when the generator is destroyed.
bool Generator::work_once(std::unique_lock<ForkMutex>& lock) {
  // Sequences that wait for a slot or for their caller may reach their time limit without a run.
  constexpr std::chrono::milliseconds kCheck{10};
  note_slots();
  while (!has_work()) {
    const bool limited =
        std::ranges::any_of(slots_, [](const SequencePtr& s) { return s && s->deadline_; }) ||
        std::ranges::any_of(waiting_,
                            [](const SequencePtr& s) { return s->deadline_.has_value(); });
    if (!limited) {
      shared_->work.wait(lock);
      continue;
    }
    shared_->work.wait_until(lock, Clock::now() + kCheck);
    drop_ended();
  }
  drop_ended();
  if (stopping_) {
    shared_->ended = true;
    lock.unlock();
    call_back();
    return false;
  }
  save_wanted();
  admit();
  note_slots();
  lock.unlock();
  call_back();
  run_prompts();
  run_step();
  call_back();
  lock.lock();
  return true;
}

// Calls the callbacks of sequences with progress, without the lock, so that they may call functions
// of sequences.
void Generator::call_back() {
  std::unique_lock lock(shared_->mutex);
  SequencePtr s = std::exchange(shared_->to_call, nullptr);
  while (s) {
    SequencePtr next = std::exchange(s->next_call_, nullptr);
    s->to_call_ = false;
    lock.unlock();
    {
      const std::lock_guard calling(s->calling_);
      if (s->callback_) s->callback_();
    }
    s = std::move(next);  // without the lock, because it may destroy what the callback owns
    lock.lock();
  }
}

// Ends all sequences with the error, as far as they have not ended. Requires the lock.
void Generator::end_all(const Error& error) {
  const auto end_one = [&](Sequence& s) {
    if (s.finish_ == Finish::none) end(s, Finish::error, error);
  };
  for (SequencePtr& s : slots_) {
    if (!s) continue;
    end_one(*s);
    release(*s);
  }
  for (const SequencePtr& s : waiting_) end_one(*s);
  waiting_.clear();
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

// Returns the number of first tokens of a prompt that a slot with `cached` has. The last token of
// the prompt is computed in any case, because its logits are needed. A recurrent state and a full
// ring cannot be rolled back, so they are reused only if the prompt begins with all tokens of the
// slot.
size_t Generator::reusable(std::span<const int64_t> cached, std::span<const int64_t> prompt) const {
  const size_t kept = std::min(common_prefix(cached, prompt), prompt.size() - 1);
  const Description& d = description();
  const bool whole = !d.states.empty() || (d.ring && cached.size() >= static_cast<size_t>(d.ring));
  return !whole || kept == cached.size() ? kept : 0;
}

// Returns a free slot for a sequence. With reuse_prefixes, `from` becomes the slot that contains
// the longest part of the prompt, if there is one. If that slot is free, it is returned.
size_t Generator::free_slot_for(const Sequence& s, std::optional<size_t>& from) const {
  size_t best = 0, slot = slots_.size();
  for (size_t i = 0; i < slots_.size(); i++) {
    if (!slots_[i] && slot == slots_.size()) slot = i;
    if (!options_.reuse_prefixes || description().encoder) continue;
    const size_t common = reusable(cached_[i], s.tokens_);
    if (common > best) {
      best = common;
      from = i;
    }
  }
  return from && !slots_[*from] ? *from : slot;
}

// Gives free slots to the sequences that wait longest. Requires the lock.
void Generator::admit() {
  while (!waiting_.empty() && std::ranges::count(slots_, nullptr) >=
                                  static_cast<std::ptrdiff_t>(slots_of(*waiting_.front()))) {
    const SequencePtr s = waiting_.front();
    std::optional<size_t> from;
    const size_t slot = free_slot_for(*s, from);
    size_t kept = 0;
    if (!s->restored_.empty()) {
      kept = s->computed_;
      decoder_.restore(slot, static_cast<int64_t>(kept), s->source_length_, s->restored_);
      std::vector<std::byte>().swap(s->restored_);
      from.reset();
    } else if (from) {
      kept = reusable(cached_[*from], s->tokens_);
      decoder_.copy(*from, slot);
    }
    decoder_.roll_back(slot, static_cast<int64_t>(kept));
    cached_[slot].assign(s->tokens_.begin(),
                         s->tokens_.begin() + static_cast<std::ptrdiff_t>(kept));
    if (from) counts_.reused_tokens += static_cast<int64_t>(kept);
    s->computed_ = kept;
    s->slot_ = slot;
    slots_[slot] = s;
    waiting_.pop_front();
    active_count_++;
    for (size_t i = 0; i < slots_.size() && s->spare_slots_.size() + 1 < slots_of(*s); i++) {
      if (slots_[i]) continue;
      slots_[i] = s;
      s->spare_slots_.push_back(i);
    }
  }
}

void Generator::end(Sequence& s, Finish finish, std::optional<Error> error) {
  s.finish_ = finish;
  s.error_ = std::move(error);
  s.waits_ = false;
  counts_.ended++;
  if (runtime::Telemetry* const t = decoder_.telemetry()) {
    if (finish == Finish::stop || finish == Finish::length)
      t->completed(Clock::now() - s.begin_);
    else
      t->failed();
  }
  s.report_progress();
}

void Generator::release(Sequence& s) {
  active_count_--;
  const Sequence* const ended = &s;
  s.slot_.reset();
  SequencePtr last;  // keeps the sequence until all of its slots are free
  for (SequencePtr& slot : slots_)
    if (slot.get() == ended) last = std::exchange(slot, nullptr);
}

size_t Generator::slots_of(const Sequence& s) const {
  return static_cast<size_t>(s.options_.beams.num_beams);
}

Stopping Generator::stopping_of(const Sequence& s) const {
  return {description(), s.sampler_.options(), s.prompt_length_};
}

bool Generator::has_prompt(size_t slot) const {
  const SequencePtr& s = slots_[slot];
  return s && s->slot_ == slot && s->computed_ < s->prompt_length_;
}

// Runs one piece of each of up to kMostPrompts prompts. A decoding step of several sequences takes
// less time than steps of each alone, so the step follows all pieces and not each of them.
void Generator::run_prompts() {
  constexpr size_t kMostPrompts = 4;
  size_t count = 0;
  for (size_t slot = 0; slot < slots_.size(); slot++) count += has_prompt(slot);
  for (count = std::min(count, kMostPrompts); count; count--) {
    run_prompt();
    call_back();
  }
}

// Runs the encoder or one piece of the prompt of one sequence.
void Generator::run_prompt() {
  for (size_t i = 0; i < slots_.size(); i++) {
    const size_t slot = (turn_ + i) % slots_.size();
    if (!has_prompt(slot)) continue;
    const SequencePtr s = slots_[slot];
    turn_ = slot + 1;
    try {
      const auto begin = Clock::now();
      if (description().encoder && !s->encoded_) {
        decoder_.encode(slot, s->options_.source, s->options_.features);
        s->encoded_ = true;
        const std::lock_guard lock(shared_->mutex);
        counts_.encoder_runs++;
        counts_.encoder_seconds += seconds_since(begin);
        return;
      }
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
      if (s->computed_ < s->tokens_.size()) return;
      if (slots_of(*s) == 1) return take_logits(*s, decoder_.logits(0));
      const std::span<float> row = decoder_.logits(0);
      s->beam_slots_ = {slot};
      step_beams(*s, std::span(&row, 1));
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
  std::set<SequencePtr> searches;
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
  if (!resumed.empty()) call_back();
  for (size_t slot = 0; slot < slots_.size(); slot++) {
    const SequencePtr& s = slots_[slot];
    if (!s || s->computed_ < s->prompt_length_) continue;
    if (s->search_) {
      const auto beam = std::ranges::find(s->beam_slots_, slot);
      if (beam == s->beam_slots_.end()) continue;
      const auto number = static_cast<size_t>(beam - s->beam_slots_.begin());
      tokens[slot] = s->search_->running()[number].tokens.back().id;
      count++;
      continue;
    }
    if (s->computed_ >= s->tokens_.size()) continue;
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
      if (!s) continue;  // another beam of an ended sequence
      end(*s, Finish::error, e);
      release(*s);
    }
    return;
  }
  for (size_t slot = 0; slot < slots_.size(); slot++) {
    if (tokens[slot] < 0) continue;
    cached_[slot].push_back(tokens[slot]);
    const SequencePtr s = slots_[slot];
    if (s->search_) {
      searches.insert(s);
      continue;
    }
    s->computed_++;
    take_logits(*s, decoder_.logits(slot));
  }
  for (const SequencePtr& s : searches) {
    std::vector<std::span<float>> rows;
    for (const size_t slot : s->beam_slots_) rows.push_back(decoder_.logits(slot));
    step_beams(*s, rows);
  }
}

void Generator::copy_slot(size_t from, size_t to) {
  decoder_.copy(from, to);
  cached_[to] = cached_[from];
}

// Continues the running texts of a beam search.
void Generator::step_beams(Sequence& s, std::span<const std::span<float>> rows) {
  const Stopping stopping = stopping_of(s);
  try {
    if (!s.search_) {
      s.search_.emplace(s.options_.beams, stopping.most_tokens() - s.prompt_length_,
                        stopping.stop_tokens().size());
    }
    std::vector<std::vector<double>> changed, plain;
    for (size_t r = 0; r < rows.size(); r++) {
      std::vector<int64_t> text = s.tokens_;
      for (const Token& t : s.search_->running()[r].tokens) text.push_back(t.id);
      const size_t made = text.size() - s.prompt_length_;
      Sampler::Scores scores = s.sampler_.scores(rows[r], text, stopping.hidden_tokens(made));
      if (const auto forced = stopping.forced_token(text.size())) {
        std::ranges::fill(scores.changed, -std::numeric_limits<double>::infinity());
        scores.changed[static_cast<size_t>(*forced)] = 0;
      }
      changed.push_back(std::move(scores.changed));
      plain.push_back(std::move(scores.plain));
    }
    s.search_->step(changed, plain, [&](int64_t token) { return stopping.is_stop(token); });
    if (!s.search_->is_done()) return place_beams(s);
    const std::lock_guard lock(shared_->mutex);
    end_beams(s);
  } catch (const Error& e) {
    const std::lock_guard lock(shared_->mutex);
    end(s, Finish::error, e);
    release(s);
  }
}

// Gives each running text a slot: that of the text which it continues, or a copy.
void Generator::place_beams(Sequence& s) {
  const std::vector<size_t>& parents = s.search_->parents();
  std::vector<size_t> next(parents.size());
  std::vector<bool> taken(s.beam_slots_.size());
  std::vector<size_t> copies;
  for (size_t i = 0; i < parents.size(); i++) {
    if (taken[parents[i]]) {
      copies.push_back(i);
      continue;
    }
    taken[parents[i]] = true;
    next[i] = s.beam_slots_[parents[i]];
  }
  for (size_t i = 0; i < taken.size(); i++)
    if (!taken[i]) s.spare_slots_.push_back(s.beam_slots_[i]);
  for (const size_t i : copies) {
    next[i] = s.spare_slots_.back();
    s.spare_slots_.pop_back();
    copy_slot(s.beam_slots_[parents[i]], next[i]);
  }
  s.beam_slots_ = std::move(next);
}

// Requires the lock.
void Generator::end_beams(Sequence& s) {
  const std::vector<BeamText> texts = s.search_->results();
  s.texts_.assign(texts.begin(), texts.end());
  s.take_text(s.texts_.front());
  s.texts_.pop_front();
  const bool stopped = stopping_of(s).is_stop(s.unread_.back().id);
  end(s, stopped ? Finish::stop : Finish::length);
  release(s);
}

// Chooses the next token, or passes the logits to the caller first.
void Generator::take_logits(Sequence& s, std::span<float> logits) {
  if (!s.options_.wait_for_logits) return choose(s, logits);
  const std::lock_guard lock(shared_->mutex);
  s.pending_.assign(logits.begin(), logits.end());
  s.waits_ = true;
  s.report_progress();
}

void Generator::choose(Sequence& s, std::span<float> logits) {
  const Stopping stopping = stopping_of(s);
  std::optional<Token> token;
  std::optional<Error> error;
  try {
    const auto forced = stopping.forced_token(s.tokens_.size());
    const size_t made = s.tokens_.size() - s.prompt_length_;
    token = forced ? s.sampler_.forced(logits, *forced)
                   : s.sampler_.choose(logits, s.tokens_, stopping.hidden_tokens(made));
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
  s.report_progress();
  Finish why = Finish::none;
  if (stopping.is_stop(token->id))
    why = Finish::stop;
  else if (s.tokens_.size() >= stopping.most_tokens())
    why = Finish::length;
  if (why == Finish::none) return;
  end(s, why);
  release(s);
}

}  // namespace poprt::generate
