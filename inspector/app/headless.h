// OpenGL without a display: EGL's surfaceless platform.
#pragma once

#include <cstdint>
#include <vector>

namespace poprt::inspector {

class HeadlessContext {
 public:
  // Makes a context of that size current. Throws Error(unavailable) when this machine's OpenGL
  // cannot.
  HeadlessContext(int width, int height);
  ~HeadlessContext();
  HeadlessContext(const HeadlessContext&) = delete;
  HeadlessContext& operator=(const HeadlessContext&) = delete;

  void clear();
  std::vector<uint8_t> pixels() const;  // RGBA, from the bottom up

 private:
  void* display_ = nullptr;
  void* context_ = nullptr;
  void* surface_ = nullptr;
  int width_, height_;
};

// What the present context has drawn.
std::vector<uint8_t> read_pixels(int width, int height);

}  // namespace poprt::inspector
