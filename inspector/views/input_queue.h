// A queue of key events. ImGui reads the state of keys once per frame, so it would miss a key that
// is pressed and released between two frames, and two presses would look like one.
#pragma once

#include <deque>

namespace poprt::inspector {

class InputQueue {
 public:
  void key(int key, bool down);
  void character(unsigned code);
  // Called before each frame: gives ImGui the next change of a key, with the preceding changes of
  // modifiers and the resulting text.
  void feed();
  bool empty() const { return events_.empty(); }

 private:
  struct Event {
    int key = -1;  // negative for a character
    bool down = false;
    unsigned character = 0;
  };
  std::deque<Event> events_;
};

}  // namespace poprt::inspector
