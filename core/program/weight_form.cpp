#include "program/weight_form.h"

#include <algorithm>
#include <cstring>

namespace poprt::program {
namespace {

// The fingerprint reads about this number of pieces of a tensor, and all bytes of a smaller one.
constexpr uint64_t kPieces = 64;
constexpr uint64_t kPieceBytes = 8;

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

uint64_t fingerprint_of(const Tensor& tensor) {
  const uint64_t bytes = tensor.bytes();
  uint64_t hash = mix(bytes, static_cast<uint64_t>(tensor.dtype()));
  const uint64_t step = std::max(bytes / kPieces, kPieceBytes);
  for (uint64_t at = 0; at < bytes; at += step) {
    uint64_t piece = 0;
    std::memcpy(&piece, static_cast<const std::byte*>(tensor.data()) + at,
                std::min(kPieceBytes, bytes - at));
    hash = mix(hash, piece);
  }
  return hash;
}

}  // namespace

WeightForm WeightForm::plain(const Tensor& tensor) {
  const auto owner = std::make_shared<const Tensor>(tensor);
  const Tensor bytes = Tensor::view(DType::u8, {static_cast<int64_t>(tensor.bytes())},
                                    owner->data(), tensor.bytes(), owner);
  return WeightForm({bytes}, [](Sources from, Bytes to) {
    if (!to.empty()) std::memcpy(to.data(), from[0].data(), to.size());
  });
}

bool WeightForm::operator==(const WeightForm& other) const {
  return make_->equals(*other.make_) &&
         std::equal(from_.begin(), from_.end(), other.from_.begin(), other.from_.end(),
                    [](const Tensor& a, const Tensor& b) { return a.same_as(b); });
}

uint64_t WeightForm::fingerprint() const {
  uint64_t hash = make_->type.hash_code();
  for (const Tensor& t : from_) hash = mix(hash, fingerprint_of(t));
  return hash;
}

}  // namespace poprt::program
