#include "views/repaint.h"

#include <functional>
#include <string_view>

namespace poprt::inspector {
namespace {

// ImGui reacts to input one frame later, and scrolling and wrapping use the sizes of the previous
// frame. The upper limit ends drawing if the picture never stops changing.
constexpr int kLeastFrames = 3, kMostFrames = 60;

void mix(uint64_t& hash, const void* bytes, size_t size) {
  const uint64_t more = std::hash<std::string_view>()({static_cast<const char*>(bytes), size});
  hash = (hash ^ more) * 0x9e3779b97f4a7c15u + (hash >> 29);
}

uint64_t picture(const ImDrawData& data) {
  uint64_t hash = 1;
  mix(hash, &data.DisplaySize, sizeof data.DisplaySize);
  for (int i = 0; i < data.CmdListsCount; i++) {
    const ImDrawList& list = *data.CmdLists[i];
    mix(hash, list.VtxBuffer.Data, static_cast<size_t>(list.VtxBuffer.size_in_bytes()));
    mix(hash, list.IdxBuffer.Data, static_cast<size_t>(list.IdxBuffer.size_in_bytes()));
    for (const ImDrawCmd& command : list.CmdBuffer) {
      mix(hash, &command.ClipRect, sizeof command.ClipRect);
      mix(hash, &command.ElemCount, sizeof command.ElemCount);
    }
  }
  return hash;
}

}  // namespace

bool Repaint::should_draw() {
  if (woken_.exchange(false, std::memory_order_acquire)) {
    least_ = kLeastFrames;
    most_ = kMostFrames;
  }
  return most_ > 0;
}

bool Repaint::drawn(const ImDrawData& data) {
  const uint64_t now = picture(data);
  const bool same = now == shown_;
  shown_ = now;
  most_--;
  if (least_ > 0) least_--;
  if (same && least_ == 0) most_ = 0;
  return !same;
}

}  // namespace poprt::inspector
