// What running processes do: queue occupancy, throughput, latency, stalls over the last minutes.
#pragma once

#include <string>

#include "model/telemetry_history.h"
#include "views/ui.h"

namespace poprt::inspector {

class QueuesView {
 public:
  // Draws one history: live, or a recording (`live` false: time does not go on).
  void draw(const TelemetryHistory& history, bool live, ImVec2 size, bool keys = true);

  // Seconds that the plots show, and when they end; following means the newest.
  double span = 60;
  bool frozen() const { return frozen_; }
  void freeze(bool on);
  int selected_series() const { return series_; }
  void select_series(int series) { series_ = series; }
  // This anchor's queue is emphasised; empty: none.
  std::string anchor;
  std::string status(const TelemetryHistory& history) const;

 private:
  void draw_processes(const TelemetryHistory& history, float width);
  void draw_plots(const TelemetrySeries& series, double end, float width, float height);
  void draw_queues(const TelemetrySeries& series, ImVec2 size);
  void move(const TelemetryHistory& history, double seconds);

  int series_ = 0;
  bool frozen_ = false;
  double end_ = 0;
  ui::TableState state_;
};

}  // namespace poprt::inspector
