// OpenGL without a display, by EGL's surfaceless platform.
#pragma once

#include <cstdint>
#include <vector>

namespace poprt::inspector {

class HeadlessContext {
 public:
  // Makes a context of the given size current. Throws Error(unavailable) if this machine's OpenGL
  // does not support it.
  HeadlessContext(int width, int height);
  ~HeadlessContext();
  HeadlessContext(const HeadlessContext&) = delete;
  HeadlessContext& operator=(const HeadlessContext&) = delete;

  void clear();
  std::vector<uint8_t> pixels() const;  // RGBA rows, bottom row first

 private:
  void* display_ = nullptr;
  void* context_ = nullptr;
  void* surface_ = nullptr;
  int width_, height_;
};

// Returns the pixels that the current context has drawn.
std::vector<uint8_t> read_pixels(int width, int height);

}  // namespace poprt::inspector
