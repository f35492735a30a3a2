// Keys on their way to ImGui, which looks at the state of keys once a frame: what goes down and up
// between two frames would be lost, and two presses would be one that is held.
#pragma once

#include <deque>

namespace poprt::inspector {

class InputQueue {
 public:
  void key(int key, bool down);
  void character(unsigned code);
  // Before each frame: gives ImGui the next change of a key, with the modifiers that change before
  // it and the text that it made.
  void feed();
  bool empty() const { return events_.empty(); }

 private:
  struct Event {
    int key = -1;  // negative: a character
    bool down = false;
    unsigned character = 0;
  };
  std::deque<Event> events_;
};

}  // namespace poprt::inspector
