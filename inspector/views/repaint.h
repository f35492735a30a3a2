// When to draw: after input and background results until the picture stands still, then not at all.
#pragma once

#include <imgui.h>

#include <atomic>
#include <cstdint>

namespace poprt::inspector {

class Repaint {
 public:
  // Something happened. From any thread.
  void wake() { woken_.store(true, std::memory_order_release); }
  // The window has lost what was in it.
  void lose() {
    shown_ = 0;
    wake();
  }
  // A frame is to be drawn now.
  bool wanted();
  // Takes note of a frame; false when it looks as the one before it, which the window shows.
  bool drawn(const ImDrawData& data);

 private:
  std::atomic<bool> woken_{true};
  int least_ = 0, most_ = 0;  // frames still to draw
  uint64_t shown_ = 0;
};

}  // namespace poprt::inspector
