#include "model/palette.h"

#include <array>

namespace poprt::inspector {
namespace {

constexpr std::array<uint32_t, 24> kHues = {
    0x4e8fdf, 0xd9744a, 0x3fae8a, 0xb565c9, 0xc9a227, 0xd4587e, 0x5aa845, 0x7c74d8,
    0x2fa3bd, 0xb07b4f, 0x8b9a3b, 0xa0617d, 0x2f63c4, 0xe0a070, 0x1d7f63, 0x8c3fa8,
    0xe3d06a, 0xa8324f, 0x9fd67f, 0x4a45a8, 0x7fd0e0, 0x7a5230, 0x5d6b1c, 0xe29ac0};
// Chosen so that operators which often occur together have different colours; a test checks this.
constexpr uint32_t kSalt = 938270;

}  // namespace

uint32_t hue_of(std::string_view name) {
  uint32_t hash = 2166136261u ^ kSalt;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hue_at(hash ^ (hash >> 15));
}

uint32_t hue_at(size_t index) { return kHues[index % kHues.size()]; }

}  // namespace poprt::inspector
