// Decides when to draw: after input and background results until the picture does not change.
#pragma once

#include <imgui.h>

#include <atomic>
#include <cstdint>

namespace poprt::inspector {

class Repaint {
 public:
  // Requests a frame. May be called from any thread.
  void wake() { woken_.store(true, std::memory_order_release); }
  // Must be called if the contents of the window were lost. Requests a frame.
  void invalidate() {
    shown_ = 0;
    wake();
  }
  // Whether a frame must be drawn now.
  bool should_draw();
  // Records a frame. Returns false if it is equal to the previous one, which the window shows.
  bool drawn(const ImDrawData& data);

 private:
  std::atomic<bool> woken_{true};
  int least_ = 0, most_ = 0;  // number of frames that are still to be drawn
  uint64_t shown_ = 0;
};

}  // namespace poprt::inspector
