// The view of running processes over the last minutes: queue occupancy, throughput, latency and
// stalls; of a generator of texts its slots, tokens per second and caches.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/telemetry_history.h"
#include "views/plot.h"
#include "views/ui.h"

namespace poprt::inspector {

class QueuesView {
 public:
  // Draws a live history, or a recording (`live` is false; its time does not advance).
  void draw(const TelemetryHistory& history, bool live, ImVec2 size, bool keys = true);

  // Seconds that the plots show. They end at the newest sample unless they are frozen.
  double span = 60;
  bool frozen() const { return frozen_; }
  void freeze(bool on);
  // kAll shows all series, one line each.
  static constexpr int kAll = -1;
  int selected_series() const { return series_; }
  void select_series(int series) { series_ = series; }
  // Returns the time at which the user set a mark; negative: none.
  double take_mark() { return std::exchange(mark_, -1.0); }
  // Whether a click requested to start or stop a recording.
  bool take_record() { return std::exchange(record_, false); }
  bool recording = false;  // whether a recording is active, for the button
  // The anchor whose queue is highlighted; empty: none.
  std::string anchor;
  std::string status(const TelemetryHistory& history) const;

 private:
  void draw_nothing(bool live);
  void draw_bar(const TelemetryHistory& history, bool live);
  void handle_keys(const TelemetryHistory& history);
  void draw_processes(const TelemetryHistory& history, bool live, float width);
  void draw_process(const TelemetryHistory& history, size_t i, float width);
  void draw_now(const TelemetryHistory& history, bool live);
  void draw_variants(const TelemetrySeries& series) const;
  void draw_plots(const TelemetryHistory& history, const TelemetrySeries& series, ImVec2 size);
  void draw_generator(const TelemetryHistory& history, const TelemetrySeries& series, ImVec2 size);
  void draw_all(const TelemetryHistory& history, ImVec2 size);
  void plot(const TelemetryHistory& history, const char* title, ImVec2 size,
            const std::vector<ui::PlotLine>& lines,
            const std::function<std::string(double)>& y_text,
            const std::vector<ui::PlotMarker>& markers, float least_top = 0,
            ui::Axis axis = ui::Axis::linear);
  std::vector<ui::PlotMarker> markers_of(const TelemetryHistory& history,
                                         const TelemetrySeries& series) const;
  void draw_events(const TelemetryHistory& history, const TelemetrySeries& series);
  float x_of(double time) const { return static_cast<float>(time - end_); }
  void draw_queues(const TelemetrySeries& series, ImVec2 size);
  void move(const TelemetryHistory& history, double seconds);

  int series_ = 0;
  bool frozen_ = false;
  double end_ = 0;
  double mark_ = -1;
  bool record_ = false;
  ui::TableState state_;
};

}  // namespace poprt::inspector
