#include "views/input_queue.h"

#include <imgui.h>

#include "views/ui.h"

namespace poprt::inspector {
namespace {

bool is_modifier(int key) { return key >= ui::kLeftShift && key <= ui::kRightSuper; }

}  // namespace

void InputQueue::key(int key, bool down) {
  if (key >= 0 && key < IM_ARRAYSIZE(ImGuiIO::KeysDown)) events_.push_back({key, down, 0});
}

void InputQueue::character(unsigned code) { events_.push_back({-1, false, code}); }

void InputQueue::feed() {
  ImGuiIO& io = ImGui::GetIO();
  bool changed = false;
  while (!events_.empty()) {
    const Event e = events_.front();
    if (e.key < 0) {
      io.AddInputCharacter(e.character);
    } else {
      if (changed) break;
      io.KeysDown[e.key] = e.down;
      changed = !is_modifier(e.key);
    }
    events_.pop_front();
  }
  const auto either = [&](int left, int right) { return io.KeysDown[left] || io.KeysDown[right]; };
  io.KeyShift = either(ui::kLeftShift, ui::kRightShift);
  io.KeyCtrl = either(ui::kLeftControl, ui::kRightControl);
  io.KeyAlt = either(ui::kLeftAlt, ui::kRightAlt);
  io.KeySuper = either(ui::kLeftSuper, ui::kRightSuper);
}

}  // namespace poprt::inspector
