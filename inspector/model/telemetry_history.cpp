#include "model/telemetry_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "model/format.h"
#include "runtime/telemetry/telemetry.h"

namespace poprt::inspector {
namespace {

using runtime::QueueSnapshot;
using runtime::TelemetrySnapshot;

constexpr size_t kMostEvents = 1000, kMostSeries = 256, kMostMarks = 100;
constexpr double kRateWindow = 0.99;  // seconds
constexpr uint64_t kLongestRecordingLine = uint64_t{1} << 24;
// The rate of stalls is averaged over this number of samples.
constexpr size_t kStallWindow = 20;

uint64_t more(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

using Histogram = std::array<uint64_t, runtime::telemetry::kBuckets>;

// Upper end of the bucket with the q-quantile; negative if there are no counts.
double quantile(const Histogram& counts, double q) {
  uint64_t total = 0;
  for (const uint64_t n : counts) total += n;
  if (total == 0) return -1;
  const auto rank = static_cast<uint64_t>(std::ceil(q * static_cast<double>(total)));
  uint64_t so_far = 0;
  size_t bucket = 0;
  for (; bucket + 1 < counts.size(); bucket++) {
    so_far += counts[bucket];
    if (so_far >= std::max<uint64_t>(rank, 1)) break;
  }
  return static_cast<double>(
      runtime::telemetry::bucket_begin(std::min(bucket + 1, runtime::telemetry::kBuckets - 1)));
}

void count(Histogram& counts, const TelemetrySample& sample) {
  for (const auto& [bucket, n] : sample.latencies) counts[bucket] += n;
}

void add_event(TelemetrySeries& series, double time, std::string text) {
  series.events.push_back({time, std::move(text)});
  if (series.events.size() > kMostEvents) series.events.pop_front();
}

// Computes rates and latencies over the last second of this process. The sample is already in the
// series.
void add_rates(TelemetrySeries& series) {
  TelemetrySample& now = series.samples.back();
  if (now.first) {
    now.p50_ns = now.p90_ns = now.p99_ns = -1;
    return;
  }
  Histogram counts{};
  size_t from = series.samples.size() - 1;
  do {
    count(counts, series.samples[from]);
    from--;
  } while (from > 0 && !series.samples[from].first &&
           series.samples[from].time > now.time - kRateWindow);
  const TelemetrySample& before = series.samples[from];
  const double elapsed = std::max(now.time - before.time, 1e-6);
  const auto rate = [&](uint64_t after, uint64_t earlier) {
    return static_cast<double>(more(after, earlier)) / elapsed;
  };
  now.requests_per_second = rate(now.all_completed, before.all_completed);
  now.runs_per_second = rate(now.all_runs, before.all_runs);
  now.busy = std::min(1.0, rate(now.all_busy_ns, before.all_busy_ns) / 1e9);
  if (now.generator && before.generator) {
    now.prompt_tokens_per_second =
        rate(now.generator->prompt_tokens, before.generator->prompt_tokens);
    now.decode_tokens_per_second =
        rate(now.generator->decode_tokens, before.generator->decode_tokens);
  }
  now.p50_ns = quantile(counts, 0.5);
  now.p90_ns = quantile(counts, 0.9);
  now.p99_ns = quantile(counts, 0.99);
}

void add_queues(TelemetrySeries& series, TelemetrySample& s, const TelemetrySnapshot& now,
                double elapsed) {
  const TelemetrySample* before = series.samples.empty() ? nullptr : &series.samples.back();
  const auto known = std::move(series.queues);
  series.queues.clear();
  for (size_t q = 0; q < std::min(now.queues.size(), kMostShownQueues); q++) {
    const QueueSnapshot& it = now.queues[q];
    series.queues.push_back({printable(it.name), it.is_output, it.capacity});
    QueueSample sample{it.fill, it.high_water, it.enqueued, it.stalls, 0};
    const bool goes_on = !s.first && before && q < before->queues.size() && q < known.size() &&
                         known[q].name == series.queues[q].name;
    const uint64_t stalls =
        more(it.stalls, q < series.last.queues.size() && series.last.queues[q].name == it.name
                            ? series.last.queues[q].stalls
                            : 0);
    s.stalls += stalls;
    sample.mean_fill = static_cast<float>(it.fill);
    if (goes_on) {
      // Smooths over about kStallWindow samples.
      const float part = 1.0f / static_cast<float>(kStallWindow);
      const auto rate = static_cast<float>(static_cast<double>(stalls) / std::max(elapsed, 1e-6));
      sample.stalls_per_second = before->queues[q].stalls_per_second * (1 - part) + rate * part;
      sample.mean_fill = before->queues[q].mean_fill * (1 - part) + sample.mean_fill * part;
    }
    s.queues.push_back(sample);
  }
}

void add_variants(TelemetrySeries& series, TelemetrySample& s, const TelemetrySnapshot& now) {
  series.variants.clear();
  const auto& before = series.last.variants;
  for (size_t i = 0; i < std::min(now.variants.size(), kMostShownQueues); i++) {
    const runtime::VariantSnapshot& it = now.variants[i];
    series.variants.push_back(printable(it.name));
    const bool known = i < before.size();
    s.variants.push_back({more(it.runs, known ? before[i].runs : 0),
                          more(it.busy_ns, known ? before[i].busy_ns : 0)});
  }
}

void add_sample(TelemetrySeries& series, double time, const TelemetrySnapshot& now, bool first) {
  const TelemetrySnapshot& before = series.last;
  const double elapsed =
      first || series.samples.empty() ? 1 : std::max(time - series.samples.back().time, 1e-6);
  TelemetrySample s;
  s.time = time;
  s.first = first;
  s.in_flight = now.in_flight;
  s.failed = more(now.failed, before.failed);
  s.all_completed = now.completed;
  s.all_failed = now.failed;
  s.all_runs = now.runs;
  s.all_busy_ns = now.busy_ns;
  s.generator = now.generator;
  for (size_t b = 0; b < runtime::telemetry::kBuckets; b++)
    if (const uint64_t n = more(now.histogram[b], before.histogram[b]); n > 0)
      s.latencies.emplace_back(static_cast<uint16_t>(b),
                               static_cast<uint32_t>(std::min<uint64_t>(n, UINT32_MAX)));
  add_queues(series, s, now, elapsed);
  add_variants(series, s, now);
  if (s.failed > 0) add_event(series, time, fmt::format("{} requests failed", s.failed));
  series.samples.push_back(std::move(s));
  if (series.samples.size() > kMostSamples) series.samples.pop_front();
  add_rates(series);
}

// Calls f with the name and the value of each field.
template <class Snapshot, class F>
void for_generator_fields(Snapshot& g, F&& f) {
  f("slots", g.slots);
  f("max_length", g.max_length);
  f("cache_bytes", g.cache_bytes);
  f("busy", g.busy);
  f("waiting", g.waiting);
  f("used", g.used);
  f("submitted", g.submitted);
  f("ended", g.ended);
  f("prompt_tokens", g.prompt_tokens);
  f("reused_tokens", g.reused_tokens);
  f("prompt_ns", g.prompt_ns);
  f("decode_tokens", g.decode_tokens);
  f("decode_steps", g.decode_steps);
  f("decode_ns", g.decode_ns);
}

nlohmann::json to_object(const TelemetrySnapshot& s) {
  nlohmann::json histogram = nlohmann::json::object();
  for (size_t b = 0; b < s.histogram.size(); b++)
    if (s.histogram[b] > 0) histogram[std::to_string(b)] = s.histogram[b];
  nlohmann::json queues = nlohmann::json::array();
  for (const QueueSnapshot& q : s.queues)
    queues.push_back({{"name", q.name},
                      {"output", q.is_output},
                      {"capacity", q.capacity},
                      {"fill", q.fill},
                      {"high_water", q.high_water},
                      {"enqueued", q.enqueued},
                      {"finished", q.finished},
                      {"stalls", q.stalls}});
  nlohmann::json variants = nlohmann::json::array();
  for (const runtime::VariantSnapshot& b : s.variants)
    variants.push_back({{"name", b.name}, {"runs", b.runs}, {"busy", b.busy_ns}});
  nlohmann::json object = {{"name", s.name},
                           {"branches", std::move(variants)},
                           {"pid", s.pid},
                           {"started", s.started_ns},
                           {"replica", s.replica},
                           {"alive", s.alive},
                           {"submitted", s.submitted},
                           {"completed", s.completed},
                           {"failed", s.failed},
                           {"in_flight", s.in_flight},
                           {"latency_max", s.latency_max_ns},
                           {"runs", s.runs},
                           {"busy", s.busy_ns},
                           {"histogram", std::move(histogram)},
                           {"queues", std::move(queues)}};
  if (s.generator)
    for_generator_fields(
        *s.generator, [&](const char* key, uint64_t value) { object["generator"][key] = value; });
  return object;
}

TelemetrySnapshot from_object(const nlohmann::json& o) {
  TelemetrySnapshot s;
  s.name = printable(o.at("name").get<std::string>());
  s.pid = o.at("pid");
  s.started_ns = o.at("started");
  s.replica = o.at("replica");
  s.alive = o.at("alive");
  s.submitted = o.at("submitted");
  s.completed = o.at("completed");
  s.failed = o.at("failed");
  s.in_flight = o.at("in_flight");
  s.latency_max_ns = o.at("latency_max");
  s.runs = o.at("runs");
  s.busy_ns = o.at("busy");
  for (const auto& [bucket, count] : o.at("histogram").items())
    s.histogram.at(std::stoul(bucket)) = count;
  for (const auto& q : o.at("queues")) {
    if (s.queues.size() == kMostShownQueues) break;
    s.queues.push_back({printable(q.at("name").get<std::string>()), q.at("output"),
                        q.at("capacity"), q.at("fill"), q.at("high_water"), q.at("enqueued"),
                        q.at("finished"), q.at("stalls")});
  }
  if (const auto found = o.find("branches"); found != o.end())  // older recordings do not have it
    for (const auto& b : *found) {
      if (s.variants.size() == kMostShownQueues) break;
      s.variants.push_back(
          {printable(b.at("name").get<std::string>()), b.at("runs"), b.at("busy")});
    }
  if (const auto found = o.find("generator"); found != o.end()) {
    runtime::GeneratorSnapshot g;
    for_generator_fields(g, [&](const char* key, uint64_t& value) { value = found->at(key); });
    s.generator = g.limited();
  }
  return s;
}

}  // namespace

std::string TelemetrySeries::title() const {
  return fmt::format("{} · replica {} · pid {}", name, replica, pid);
}

double QueueState::part(const QueueSample& sample) const {
  return capacity == 0
             ? 0
             : std::min(1.0, static_cast<double>(sample.fill) / static_cast<double>(capacity));
}

const TelemetrySample* TelemetrySeries::at(double time) const {
  const auto after =
      std::upper_bound(samples.begin(), samples.end(), time,
                       [](double t, const TelemetrySample& s) { return t < s.time; });
  if (after == samples.begin()) return nullptr;
  const TelemetrySample& found = *std::prev(after);
  const bool ends = after == samples.end() ? !alive : after->first;
  return ends && time > found.time ? nullptr : &found;
}

uint64_t TelemetrySeries::direct(const TelemetrySample& sample) const {
  uint64_t enqueued = 0;
  for (const QueueSample& q : sample.queues) enqueued = std::max(enqueued, q.enqueued);
  return queues.empty() ? 0 : more(sample.all_completed + sample.all_failed, enqueued);
}

int TelemetrySeries::starving_queue(const TelemetrySample& sample) const {
  // Up to two elements are in use or being copied and do not wait.
  constexpr float kWaiting = 0.1f;
  const auto has_work = [&](size_t q) {
    return sample.queues[q].mean_fill >
           std::max(2.0f, kWaiting * static_cast<float>(queues[q].capacity));
  };
  int worst = -1;
  for (size_t q = 0; q < std::min(queues.size(), sample.queues.size()); q++)
    if (!queues[q].is_output && !has_work(q) && sample.queues[q].stalls_per_second > 0.5f &&
        (worst < 0 || sample.queues[q].stalls_per_second >
                          sample.queues[static_cast<size_t>(worst)].stalls_per_second))
      worst = static_cast<int>(q);
  return worst;
}

int TelemetrySeries::full_queue(const TelemetrySample& sample) const {
  for (size_t q = 0; q < std::min(queues.size(), sample.queues.size()); q++)
    if (queues[q].part(sample.queues[q]) >= kFull) return static_cast<int>(q);
  return -1;
}

double TelemetrySeries::latency(double from, double to, double q) const {
  Histogram counts{};
  for (const TelemetrySample& s : samples)
    if (s.time > from && s.time <= to) count(counts, s);
  return quantile(counts, q);
}

std::vector<VariantSample> TelemetrySeries::variant_use(double from, double to) const {
  std::vector<VariantSample> use(variants.size());
  for (const TelemetrySample& s : samples) {
    if (s.time <= from || s.time > to) continue;
    for (size_t i = 0; i < std::min(use.size(), s.variants.size()); i++) {
      use[i].runs += s.variants[i].runs;
      use[i].busy_ns += s.variants[i].busy_ns;
    }
  }
  return use;
}

double TelemetryHistory::first_time() const {
  double first = last_time_;
  for (const TelemetrySeries& s : series_)
    if (!s.samples.empty()) first = std::min(first, s.samples.front().time);
  return first;
}

// Returns the series of the same process, else one whose process has ended, else a new one if there
// is space.
TelemetrySeries* TelemetryHistory::series_of(const TelemetrySnapshot& s, double time) {
  TelemetrySeries* ended = nullptr;
  for (TelemetrySeries& it : series_) {
    if (it.name != s.name || it.replica != s.replica) continue;
    if (it.pid == s.pid && it.started_ns == s.started_ns) return &it;
    if (!it.alive && !ended) ended = &it;
  }
  if (!ended) {
    if (series_.size() >= kMostSeries) return nullptr;
    series_.emplace_back();
    ended = &series_.back();
  }
  const bool again = ended->pid != 0;
  ended->name = s.name;
  ended->replica = s.replica;
  ended->pid = s.pid;
  ended->started_ns = s.started_ns;
  ended->last = {};
  ended->last.name = s.name;
  add_event(*ended, time, fmt::format("{} (pid {})", again ? "began again" : "found", s.pid));
  return ended;
}

void TelemetryHistory::add(double time, const std::vector<TelemetrySnapshot>& snapshots) {
  std::vector<bool> seen(series_.size());
  for (const TelemetrySnapshot& s : snapshots) {
    if (!s.alive) continue;
    TelemetrySeries* const found = series_of(s, time);
    if (!found) continue;
    TelemetrySeries& series = *found;
    const auto index = static_cast<size_t>(&series - series_.data());
    if (index >= seen.size()) seen.resize(index + 1);
    if (seen[index]) continue;  // two segments with the same identity
    seen[index] = true;
    const bool first = !series.alive;
    series.alive = true;
    // The first sample has no rates, because the time since the process started is not a sample
    // interval.
    if (first) series.last = s;
    add_sample(series, time, s, first);
    series.last = s;
  }
  for (size_t i = 0; i < series_.size(); i++)
    if (series_[i].alive && (i >= seen.size() || !seen[i])) {
      series_[i].alive = false;
      add_event(series_[i], time, fmt::format("ended (pid {})", series_[i].pid));
    }
  last_time_ = time;
}

void TelemetryHistory::mark(double time, std::string text) {
  if (marks_.size() == kMostMarks) marks_.erase(marks_.begin());
  marks_.push_back({time, std::move(text)});
}

std::string mark_line(const TelemetryEvent& mark) {
  return json_text(nlohmann::json({{"mark", {{"time", mark.time}, {"text", mark.text}}}}));
}

std::string recording_line(double time, const std::vector<TelemetrySnapshot>& snapshots) {
  nlohmann::json segments = nlohmann::json::array();
  for (const TelemetrySnapshot& s : snapshots) segments.push_back(to_object(s));
  return json_text(nlohmann::json({{"time", time}, {"segments", std::move(segments)}}));
}

TelemetryHistory read_recording(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line) || line != kRecordingHead)
    fail(ErrorCode::data_loss, "{}: expected the first line of a recording, {}", path.string(),
         kRecordingHead);
  TelemetryHistory history;
  for (size_t number = 2; std::getline(file, line); number++) {
    if (line.empty()) continue;
    const bool unfinished = file.eof();
    try {
      if (line.size() > kLongestRecordingLine)
        fail(ErrorCode::data_loss, "the line has {} bytes", line.size());
      const auto object = parse_json(line);
      if (const auto mark = object.find("mark"); mark != object.end()) {
        history.mark(mark->at("time"), printable(mark->at("text").get<std::string>()));
        continue;
      }
      std::vector<TelemetrySnapshot> snapshots;
      for (const auto& s : object.at("segments")) snapshots.push_back(from_object(s));
      const double time = object.at("time");
      if (!std::isfinite(time) || time < history.last_time())
        fail(ErrorCode::data_loss, "time {} comes after {}", time, history.last_time());
      history.add(time, snapshots);
    } catch (const std::exception& e) {
      if (unfinished) {
        log().warn("{}:{}: the recording ends within this line, which is ignored", path.string(),
                   number);
        break;
      }
      fail(ErrorCode::data_loss, "{}:{}: invalid line of a recording: {}", path.string(), number,
           e.what());
    }
  }
  return history;
}

TelemetryWatcher::TelemetryWatcher(std::filesystem::path folder, double interval,
                                   std::function<void()> wake)
    : folder_(std::move(folder)), interval_(interval), wake_(std::move(wake)) {
  try {
    if (folder_.empty()) folder_ = runtime::telemetry_dir();
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception& e) {  // for example no folder, or no thread
    error_ = printable(e.what());
  }
}

TelemetryWatcher::~TelemetryWatcher() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
}

void TelemetryWatcher::run() {
  using namespace std::chrono;
  auto next = steady_clock::now();
  while (!stop_.load()) {
    look();
    next += duration_cast<steady_clock::duration>(duration<double>(interval_));
    next = std::max(next, steady_clock::now());
    // Sleeps for short times, so that the destructor waits for one of them only.
    while (!stop_.load() && steady_clock::now() < next)
      std::this_thread::sleep_for(std::min<steady_clock::duration>(next - steady_clock::now(),
                                                                   std::chrono::milliseconds(100)));
  }
}

void TelemetryWatcher::look() {
  std::vector<TelemetrySnapshot> found;
  std::string problem;
  for (const runtime::SegmentName& name : runtime::list_segments(folder_)) {
    try {
      found.push_back(runtime::read_segment(name.path));
    } catch (const Error& e) {
      if (e.code() != ErrorCode::not_found)
        problem = printable(e.what());  // not_found is ignored: a segment may disappear at any time
    }
  }
  const double time =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const bool alive = std::any_of(found.begin(), found.end(), [](const auto& s) { return s.alive; });
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    history_.add(std::max(time, history_.last_time()), found);
    sample_count_++;
    error_ = problem;
    if (recording_.load(std::memory_order_relaxed)) {
      file_ << recording_line(time, found) << '\n';
      file_.flush();
    }
    wakes = alive || was_alive_;
    was_alive_ = alive;
  }
  if (wakes && wake_) wake_();
}

std::string TelemetryWatcher::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void TelemetryWatcher::record(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  file_.close();
  file_.clear();
  file_.open(path, std::ios::trunc);
  file_ << kRecordingHead << '\n';
  if (!file_.flush()) fail(ErrorCode::permission_denied, "cannot write {}", path.string());
  recording_.store(true);
}

void TelemetryWatcher::mark(double time) {
  const std::lock_guard lock(mutex_);
  history_.mark(time, fmt::format("mark {}", ++marks_));
  if (recording_.load(std::memory_order_relaxed))
    file_ << mark_line(history_.marks().back()) << std::endl;
}

void TelemetryWatcher::stop_recording() {
  const std::lock_guard lock(mutex_);
  recording_.store(false);
  file_.close();
}

}  // namespace poprt::inspector
