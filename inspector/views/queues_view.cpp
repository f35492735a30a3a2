#include "views/queues_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/format.h"
#include "model/stable_order.h"
#include "views/plot.h"

namespace poprt::inspector {
namespace {

constexpr double kLeastSpan = 2, kMostSpan = 600;
// More lines than this in one plot cannot be distinguished.
constexpr size_t kMostLines = 12;

std::string clock_text(double time) {
  return fmt::format("{:%H:%M:%S}", fmt::localtime(static_cast<std::time_t>(time)));
}

}  // namespace

void QueuesView::freeze(bool on) { frozen_ = on; }

std::string QueuesView::status(const TelemetryHistory& history) const {
  const auto alive = std::count_if(history.series().begin(), history.series().end(),
                                   [](const auto& s) { return s.alive; });
  return fmt::format("{}, {} running · {:.0f} s shown{}",
                     counted(history.series().size(), "replica"), alive, span,
                     frozen_ ? " · frozen" : "");
}

void QueuesView::move(const TelemetryHistory& history, double seconds) {
  frozen_ = true;
  end_ = std::clamp(end_ + seconds, std::min(history.first_time() + span / 4, history.last_time()),
                    history.last_time());
}

void QueuesView::handle_keys(const TelemetryHistory& history) {
  if (ui::pressed(' ')) frozen_ = !frozen_;
  if (ui::pressed(ui::kLeft)) move(history, -span / 4);
  if (ui::pressed(ui::kRight)) move(history, span / 4);
  if (ui::pressed(ui::kEnd)) frozen_ = false;
  if (ui::pressed('M')) mark_ = end_;
  if (ui::pressed('=')) span = std::max(kLeastSpan, span / 1.5);
  if (ui::pressed('-')) span = std::min(kMostSpan, span * 1.5);
}

void QueuesView::draw_nothing(bool live) {
  ui::text(live ? "No process publishes telemetry yet." : "This recording has no samples.");
  if (!live) return;
  ImGui::PushTextWrapPos(0);
  ui::dim_text(
      "Start one with POPRT_TELEMETRY=1 in its environment, or SessionConfig::telemetry; it "
      "appears here by itself:");
  ImGui::PopTextWrapPos();
  ImGui::PushFont(ui::fixed_font());
  ui::text("POPRT_TELEMETRY=1 poprt_exec bench MODEL.popef --seconds 600");
  ImGui::PopFont();
}

void QueuesView::draw_bar(const TelemetryHistory& history, bool live) {
  if (ui::button(frozen_ ? "Follow" : "Freeze", "Space: pause; drag to see earlier samples",
                 frozen_))
    frozen_ = !frozen_;
  ImGui::SameLine();
  if (live &&
      ui::button(recording ? "Stop recording" : "Record",
                 "Records all published samples in a file that can be opened like any other",
                 recording))
    record_ = true;
  if (live) ImGui::SameLine();
  if (ui::button("Mark", "M: marks this time in the plots, the events and a recording"))
    mark_ = end_;
  ImGui::SameLine();
  for (const double seconds : {10.0, 60.0, 300.0, 600.0}) {
    if (ui::button(fmt::format("{:.0f} s", seconds).c_str(),
                   "Seconds that the plots show; the wheel over a plot zooms, dragging scrubs",
                   std::abs(span - seconds) < 0.5))
      span = seconds;
    ImGui::SameLine();
  }
  const double first = history.first_time(), last = history.last_time();
  auto back = static_cast<float>(last - end_);
  ImGui::SetNextItemWidth(std::min(260 * ui::scale(), ImGui::GetContentRegionAvail().x));
  const std::string label = clock_text(end_);
  if (ImGui::SliderFloat("##scrub", &back, static_cast<float>(std::max(0.1, last - first)), 0,
                         label.c_str())) {
    frozen_ = true;
    end_ = last - static_cast<double>(back);
  }
  ui::mark("scrub");
  ui::tooltip("Moves through the last minutes; also Left and Right");
}

void QueuesView::draw(const TelemetryHistory& history, bool live, ImVec2 size, bool keys) {
  if (!frozen_) end_ = history.last_time();
  if (keys) handle_keys(history);
  if (history.series().empty()) {
    draw_nothing(live);
    return;
  }
  series_ = std::clamp(series_, history.series().size() > 1 ? kAll : 0,
                       static_cast<int>(history.series().size()) - 1);
  draw_bar(history, live);
  const float list = ui::panel("processes", std::min(290.0f, size.x / ui::scale() * 0.25f),
                               140 * ui::scale(), size.x * 0.6f);
  const ImVec2 rest = ImGui::GetContentRegionAvail();
  ImGui::BeginChild("processes", {list, rest.y}, true);
  draw_processes(history, live, list);
  ImGui::EndChild();
  ui::splitter("processes", rest.y);
  ImGui::BeginChild("plots", {0, rest.y}, false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoBackground);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (series_ == kAll) {
    draw_all(history, room);
  } else {
    const TelemetrySeries& series = history.series()[static_cast<size_t>(series_)];
    if (series.last.generator && series.queues.empty()) {
      draw_generator(history, series, room);
      ImGui::EndChild();
      return;
    }
    const float line = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
    const float table =
        std::min(line * static_cast<float>(series.queues.size() + 1) + 4, room.y * 0.34f);
    draw_plots(history, series, {room.x, room.y - table - ImGui::GetStyle().ItemSpacing.y});
    draw_queues(series, {room.x, table});
  }
  ImGui::EndChild();
}

void QueuesView::draw_process(const TelemetryHistory& history, size_t i, float width) {
  const ui::Colours& c = ui::colours();
  const TelemetrySeries& s = history.series()[i];
  ImGui::PushID(static_cast<int>(i));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = ImGui::GetTextLineHeight() * 3 + 14 * ui::scale();
  if (ImGui::Selectable("##series", series_ == static_cast<int>(i), 0, {0, height}))
    series_ = static_cast<int>(i);
  ui::mark("series " + std::to_string(i));
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const float x = at.x + 18 * ui::scale(), y = at.y + 4 * ui::scale(),
              step = ImGui::GetTextLineHeight() + 2 * ui::scale();
  draw->AddCircleFilled({at.x + 8 * ui::scale(), y + step / 2}, 4 * ui::scale(),
                        s.alive ? c.good : c.dim);
  const float room = at.x + width - 20 * ui::scale() - x;
  const bool chosen = series_ == static_cast<int>(i);
  const ImU32 back = chosen ? ui::mixed(c.panel, c.accent, 0.3f) : c.panel;
  const auto line = [&](float y_of_line, ImU32 colour, const std::string& text) {
    ui::label(draw, {x, y_of_line}, ui::readable(colour, back),
              ui::fitted(text, room, ui::Cut::end));
  };
  line(y, c.text, s.name);
  line(y + step, c.dim,
       fmt::format("pid {} · replica {}{}", s.pid, s.replica, s.alive ? "" : " · ended"));
  const TelemetrySample* now = s.at(end_);
  const int starving = now ? s.starving_queue(*now) : -1, full = now ? s.full_queue(*now) : -1;
  std::string rate = !now             ? "-"
                     : now->generator ? fmt::format("{:.0f} tokens/s · {} of {} slots",
                                                    now->decode_tokens_per_second,
                                                    now->generator->busy, now->generator->slots)
                                      : rate_text(now->requests_per_second);
  if (starving >= 0)
    rate += " · starves: " + s.queues[static_cast<size_t>(starving)].name;
  else if (full >= 0)
    rate += " · full: " + s.queues[static_cast<size_t>(full)].name;
  line(y + 2 * step, starving >= 0 || full >= 0 ? c.warn : c.dim, rate);
  ui::mark(rate, {x, y + 2 * step}, {at.x + width, at.y + height});
  ImGui::PopID();
}

void QueuesView::draw_processes(const TelemetryHistory& history, bool live, float width) {
  if (history.series().size() > 1) {
    if (ImGui::Selectable(fmt::format("All {} side by side", history.series().size()).c_str(),
                          series_ == kAll))
      series_ = kAll;
    ui::mark("all series");
  }
  for (size_t i = 0; i < history.series().size(); i++) draw_process(history, i, width);
  if (series_ == kAll) return;
  draw_now(history, live);
  draw_events(history, history.series()[static_cast<size_t>(series_)]);
}

// Shows the state at the end of the plots.
void QueuesView::draw_now(const TelemetryHistory& history, bool live) {
  const TelemetrySeries& s = history.series()[static_cast<size_t>(series_)];
  ui::heading(live && !frozen_ ? "Now" : "At " + clock_text(end_));
  const TelemetrySample* now = s.at(end_);
  const auto warn = [&](int queue, const char* what) {
    if (queue < 0) return;
    ImGui::PushTextWrapPos(0);
    ui::coloured_text(ui::colours().warn,
                      fmt::format("{} '{}'", what, s.queues[static_cast<size_t>(queue)].name));
    ImGui::PopTextWrapPos();
  };
  if (now) {
    warn(s.starving_queue(*now), "Starving: the device waits for");
    warn(s.full_queue(*now), "Full: the writer waits for the device:");
  } else {
    ui::dim_text("no process published at this time");
  }
  const auto value = [&](const char* name, auto&& text) { ui::row(name, now ? text(*now) : "-"); };
  using Sample = const TelemetrySample&;
  if (const uint64_t direct = now ? s.direct(*now) : 0; direct > 0) {
    ui::row("direct", std::to_string(direct));
    ui::tooltip("Requests that ran in the thread of their caller, without a queue");
  }
  if (now && now->generator) {
    const runtime::GeneratorSnapshot& g = *now->generator;
    ui::row("slots", fmt::format("{} of {} busy", g.busy, g.slots));
    ui::row("waiting", counted(g.waiting, "text"));
    ui::row("decoding", fmt::format("{:.1f} tokens/s", now->decode_tokens_per_second));
    ui::row("prompts", fmt::format("{:.1f} tokens/s", now->prompt_tokens_per_second));
    ui::row("cache", fmt::format("{:.0f} % of {}", g.used_part() * 100, bytes_text(g.cache_bytes)));
    ui::tooltip("The part of the places for tokens that texts in slots use");
  }
  value("completed", [](Sample t) { return std::to_string(t.all_completed); });
  value("failed", [](Sample t) { return std::to_string(t.all_failed); });
  value("throughput", [](Sample t) { return rate_text(t.requests_per_second); });
  value("in flight", [](Sample t) { return std::to_string(t.in_flight); });
  value("busy", [](Sample t) { return fmt::format("{:.0f} %", t.busy * 100); });
  ui::heading(fmt::format("Latency in these {:.0f} s", span));
  for (const auto& [name, q] :
       {std::pair("p50", 0.5), std::pair("p90", 0.9), std::pair("p99", 0.99)})
    ui::row(name, duration_text(s.latency(end_ - span, end_, q)));
  draw_variants(s);
}

// Lists the models or shapes that runs selected, most frequent first.
void QueuesView::draw_variants(const TelemetrySeries& s) const {
  if (s.variants.empty()) return;
  const auto use = s.variant_use(end_ - span, end_);
  uint64_t all = 0;
  std::vector<size_t> order;
  for (size_t i = 0; i < use.size(); i++) {
    all += use[i].runs;
    order.push_back(i);
  }
  stable_order(order, [&](size_t a, size_t b) { return use[a].runs > use[b].runs; });
  ui::heading(fmt::format("Runs in these {:.0f} s", span));
  for (const size_t i : order) {
    const auto runs = static_cast<double>(use[i].runs);
    ui::text(s.variants[i]);
    ui::dim_text(use[i].runs == 0
                     ? "    none"
                     : fmt::format("    {}, {:.0f} %, {} each", use[i].runs,
                                   100 * runs / static_cast<double>(all),
                                   duration_text(static_cast<double>(use[i].busy_ns) / runs)));
  }
}

// Lists events and marks, newest first.
void QueuesView::draw_events(const TelemetryHistory& history, const TelemetrySeries& s) {
  constexpr size_t kMostListed = 60;
  ui::heading("Events");
  std::vector<const TelemetryEvent*> events;
  for (const TelemetryEvent& e : s.events) events.push_back(&e);
  for (const TelemetryEvent& e : history.marks()) events.push_back(&e);
  stable_order(events, [](const auto* a, const auto* b) { return a->time > b->time; });
  if (events.size() > kMostListed) events.resize(kMostListed);
  for (size_t i = 0; i < events.size(); i++) {
    const std::string line = clock_text(events[i]->time) + "  " + events[i]->text;
    if (ImGui::Selectable(
            fmt::format("{}##{}", ui::fitted(line, ImGui::GetContentRegionAvail().x), i).c_str())) {
      frozen_ = true;
      end_ = std::min(events[i]->time + span / 2, history.last_time());
    }
    ui::mark(line);
    ui::tooltip(line + "\nClick to see it in the plots");
  }
}

std::vector<ui::PlotMarker> QueuesView::markers_of(const TelemetryHistory& history,
                                                   const TelemetrySeries& s) const {
  const ui::Colours& c = ui::colours();
  std::vector<ui::PlotMarker> markers;
  for (const TelemetryEvent& e : s.events)
    markers.push_back({x_of(e.time), e.text.starts_with("ended") ? c.gone : c.dim, e.text});
  for (const TelemetryEvent& e : history.marks())
    markers.push_back({x_of(e.time), c.accent, e.text});
  std::sort(markers.begin(), markers.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  return markers;
}

// The wheel zooms around the pointer, dragging scrolls, and a double click follows the newest
// samples again.
void QueuesView::plot(const TelemetryHistory& history, const char* title, ImVec2 size,
                      const std::vector<ui::PlotLine>& lines,
                      const std::function<std::string(double)>& y_text,
                      const std::vector<ui::PlotMarker>& markers, float least_top, ui::Axis axis) {
  const double end = end_;
  const ui::PlotInput input = ui::plot(
      title, size, lines, static_cast<float>(-span), 0, y_text,
      [end](double x) { return clock_text(end + x); }, markers, least_top, axis);
  if (input.wheel != 0) {
    const double wanted =
        std::clamp(span * std::pow(1.2, -static_cast<double>(input.wheel)), kLeastSpan, kMostSpan);
    // The time under the pointer stays in place. At the newest sample the plot continues to follow.
    if (frozen_) move(history, static_cast<double>(input.at) * (1 - wanted / span));
    span = wanted;
  }
  if (input.drag != 0) move(history, -static_cast<double>(input.drag));
  if (input.double_click) frozen_ = false;
}

namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

std::string whole_text(double y) { return number_text(y); }

// Calls f(sample, x) for the visible samples, and gap(x) for times without a publishing process.
template <class F, class G>
void for_samples(const TelemetrySeries& s, double end, double span, F&& f, G&& gap) {
  double before = 0;
  for (const TelemetrySample& sample : s.samples) {
    if (sample.time < end - span - 2 || sample.time > end + 1) continue;
    const auto x = static_cast<float>(sample.time - end);
    if (before > 0 && (sample.first || sample.time - before > 2)) gap(x);
    before = sample.time;
    f(sample, x);
  }
}

float latency_of(double ns) { return ns < 0 ? kNothing : static_cast<float>(ns); }

}  // namespace

// Draws four plots, two by two.
void QueuesView::draw_plots(const TelemetryHistory& history, const TelemetrySeries& s,
                            ImVec2 size) {
  const ui::Colours& c = ui::colours();
  ui::PlotLine requests{"requests", c.accent, {}, true, true}, p50{"p50", c.good, {}},
      p90{"p90", c.warn, {}}, p99{"p99", c.gone, {}}, stalls{"stalls", c.warn, {}, true},
      failed{"failed", c.bad, {}}, flight{"in flight", c.accent, {}};
  const size_t count = std::min(s.queues.size(), kMostLines);
  std::vector<ui::PlotLine> queues;
  for (size_t q = 0; q < count; q++) {
    const bool emphasised = anchor.empty() || anchor == s.queues[q].name;
    const ImU32 hue = ui::colour_at(q);
    queues.push_back({s.queues[q].name,
                      emphasised ? hue : ui::with_alpha(hue, 0.3f),
                      {},
                      !anchor.empty() && emphasised,
                      false,
                      // Wider lines remain visible below the lines that cover them.
                      1.6f + 1.4f * static_cast<float>(std::min<size_t>(count - 1 - q, 3))});
  }
  for_samples(
      s, end_, span,
      [&](const TelemetrySample& sample, float x) {
        requests.points.push_back({x, static_cast<float>(sample.requests_per_second)});
        p50.points.push_back({x, latency_of(sample.p50_ns)});
        p90.points.push_back({x, latency_of(sample.p90_ns)});
        p99.points.push_back({x, latency_of(sample.p99_ns)});
        stalls.points.push_back({x, static_cast<float>(sample.stalls)});
        failed.points.push_back({x, static_cast<float>(sample.failed)});
        flight.points.push_back({x, static_cast<float>(sample.in_flight)});
        for (size_t q = 0; q < count; q++)
          queues[q].points.push_back(
              {x, q < sample.queues.size()
                      ? static_cast<float>(s.queues[q].part(sample.queues[q])) * 100
                      : kNothing});
      },
      [&](float x) {
        for (auto* l : {&requests, &p50, &p90, &p99, &stalls, &failed, &flight})
          l->points.push_back({x, kNothing});
        for (auto& l : queues) l.points.push_back({x, kNothing});
      });
  const auto markers = markers_of(history, s);
  const float gap = 6 * ui::scale();
  const ImVec2 each = {(size.x - gap) / 2, std::max(70.0f, (size.y - gap) / 2 - gap)};
  plot(
      history, "Queue occupancy", each, queues, [](double y) { return fmt::format("{:.0f} %", y); },
      markers, 100);
  ImGui::SameLine(0, gap);
  plot(history, "Throughput", each, {requests}, rate_text, markers);
  plot(history, "Latency", each, {p99, p90, p50}, duration_text, markers, 0, ui::Axis::logarithmic);
  ImGui::SameLine(0, gap);
  plot(history, "Stalls and failures", each, {flight, stalls, failed}, whole_text, markers);
}

// Draws four plots of a generator of texts, two by two.
void QueuesView::draw_generator(const TelemetryHistory& history, const TelemetrySeries& s,
                                ImVec2 size) {
  const ui::Colours& c = ui::colours();
  ui::PlotLine busy{"busy", c.accent, {}, true, true}, waiting{"waiting", c.warn, {}, true},
      decoding{"decoding", c.accent, {}, true, true}, prompts{"prompts", c.good, {}, true},
      used{"used", c.accent, {}, true, true}, p50{"p50", c.good, {}}, p99{"p99", c.gone, {}};
  for_samples(
      s, end_, span,
      [&](const TelemetrySample& sample, float x) {
        const auto add = [&](ui::PlotLine& line, double y) {
          line.points.push_back({x, sample.generator ? static_cast<float>(y) : kNothing});
        };
        const runtime::GeneratorSnapshot g =
            sample.generator.value_or(runtime::GeneratorSnapshot());
        add(busy, static_cast<double>(g.busy));
        add(waiting, static_cast<double>(g.waiting));
        add(decoding, sample.decode_tokens_per_second);
        add(prompts, sample.prompt_tokens_per_second);
        add(used, g.used_part() * 100);
        p50.points.push_back({x, latency_of(sample.p50_ns)});
        p99.points.push_back({x, latency_of(sample.p99_ns)});
      },
      [&](float x) {
        for (auto* l : {&busy, &waiting, &decoding, &prompts, &used, &p50, &p99})
          l->points.push_back({x, kNothing});
      });
  const auto markers = markers_of(history, s);
  const float gap = 6 * ui::scale();
  const ImVec2 each = {(size.x - gap) / 2, std::max(70.0f, (size.y - gap) / 2 - gap)};
  plot(history, "Slots", each, {busy, waiting}, whole_text, markers,
       static_cast<float>(s.last.generator->slots));
  ImGui::SameLine(0, gap);
  plot(history, "Tokens per second", each, {decoding, prompts}, whole_text, markers);
  plot(
      history, "Cache occupancy", each, {used}, [](double y) { return fmt::format("{:.0f} %", y); },
      markers, 100);
  ImGui::SameLine(0, gap);
  plot(history, "Duration of a text", each, {p99, p50}, duration_text, markers, 0,
       ui::Axis::logarithmic);
}

// Draws one line for each replica of each process.
void QueuesView::draw_all(const TelemetryHistory& history, ImVec2 size) {
  std::vector<ui::PlotLine> requests, p99, full, stalls;
  std::vector<ui::PlotMarker> markers;
  for (size_t i = 0; i < history.series().size(); i++) {
    const TelemetrySeries& s = history.series()[i];
    const std::string name = s.replica ? fmt::format("{} {}", s.name, s.replica) : s.name;
    for (auto* lines : {&requests, &p99, &full, &stalls})
      lines->push_back({name, ui::colour_at(i), {}, false, lines == &requests});
    for_samples(
        s, end_, span,
        [&](const TelemetrySample& sample, float x) {
          requests[i].points.push_back({x, static_cast<float>(sample.requests_per_second)});
          p99[i].points.push_back({x, latency_of(sample.p99_ns)});
          float most = 0;
          for (size_t q = 0; q < std::min(s.queues.size(), sample.queues.size()); q++)
            most = std::max(most, static_cast<float>(s.queues[q].part(sample.queues[q])));
          full[i].points.push_back({x, most * 100});
          stalls[i].points.push_back({x, static_cast<float>(sample.stalls + sample.failed)});
        },
        [&](float x) {
          for (auto* lines : {&requests, &p99, &full, &stalls})
            (*lines)[i].points.push_back({x, kNothing});
        });
    // Draws the marks of the history once.
    static const TelemetryHistory kNoMarks;
    for (const ui::PlotMarker& m : markers_of(i == 0 ? history : kNoMarks, s)) markers.push_back(m);
  }
  std::sort(markers.begin(), markers.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  const float gap = 6 * ui::scale();
  const ImVec2 each = {(size.x - gap) / 2, std::max(70.0f, (size.y - gap) / 2)};
  plot(history, "Throughput", each, requests, rate_text, markers);
  ImGui::SameLine(0, gap);
  plot(history, "Latency p99", each, p99, duration_text, markers, 0, ui::Axis::logarithmic);
  plot(
      history, "Fullest queue", each, full, [](double y) { return fmt::format("{:.0f} %", y); },
      markers, 100);
  ImGui::SameLine(0, gap);
  plot(history, "Stalls and failures", each, stalls, whole_text, markers);
}

void QueuesView::draw_queues(const TelemetrySeries& s, ImVec2 size) {
  const ui::Colours& c = ui::colours();
  const TelemetrySample* const now = s.at(end_);
  const auto sample = [&](size_t r) {
    return now && r < now->queues.size() ? &now->queues[r] : nullptr;
  };
  const auto full = [&](size_t r) { return sample(r) && s.queues[r].part(*sample(r)) >= kFull; };
  const auto waits = [&](size_t r) { return sample(r) && sample(r)->stalls_per_second > 0.5f; };
  ui::table(
      "queues",
      {{"Queue", 3},
       {"Direction", 1},
       {"Fill", 1.2f, true},
       {"Capacity", 1, true},
       {"High water", 1, true},
       {"Enqueued", 1.8f, true},
       {"Stalls", 1, true},
       {"Stalls/s", 1, true}},
      s.queues.size(),
      [&](size_t r, int col) -> std::string {
        const QueueState& q = s.queues[r];
        if (col == 0) return q.name;
        if (col == 1) return q.is_output ? "output" : "input";
        if (col == 3) return std::to_string(q.capacity);
        const QueueSample* it = sample(r);
        if (!it) return "-";
        const uint64_t direct = now ? s.direct(*now) : 0;
        if (col == 2 && it->enqueued == 0 && direct > 0) return "not used";
        if (col == 5 && direct > 0) return fmt::format("{} + {} direct", it->enqueued, direct);
        if (col == 2)
          return fmt::format("{} ({:.0f} %{})", it->fill, 100 * q.part(*it),
                             full(r) ? ", full" : "");
        if (col == 7) return fmt::format("{:.1f}", static_cast<double>(it->stalls_per_second));
        return std::to_string(col == 4 ? it->high_water : col == 5 ? it->enqueued : it->stalls);
      },
      [&](size_t r) { return s.queues[r].name == anchor; },
      [&](size_t r) { anchor = anchor == s.queues[r].name ? "" : s.queues[r].name; }, state_, size,
      [&](size_t r, int col) {
        if (col == 0) return s.queues[r].name == anchor ? c.text : ui::colour_at(r);
        return (col == 7 && waits(r)) || (col == 2 && full(r)) ? c.warn : c.text;
      });
}

}  // namespace poprt::inspector
