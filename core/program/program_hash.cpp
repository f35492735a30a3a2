#include "program/program_hash.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "codecs/sha256.h"

namespace poprt::program {
namespace {

template <class T>
void add_list(Sha256& hash, const std::vector<T>& list) {
  hash.add_sized(std::as_bytes(std::span(list)));
}

void add_numbers(Sha256& hash, std::initializer_list<uint64_t> numbers) {
  hash.add(std::as_bytes(std::span(numbers)));
}

void add_anchors(Sha256& hash, const std::vector<Anchor>& anchors) {
  for (const Anchor& a : anchors) {
    hash.add_sized(a.name);
    add_numbers(hash, {static_cast<uint64_t>(a.dtype), a.data});
    add_list(hash, a.shape);
  }
}

}  // namespace

std::string program_hash(const Program& p, std::span<const std::string> texts) {
  Sha256 hash;
  add_numbers(hash, {texts.size()});
  for (const std::string& text : texts) hash.add_sized(text);
  add_numbers(hash,
              {p.arena_bytes, p.state_bytes, p.weights_bytes, p.kernels.size(), p.buffers.size(),
               p.load.size(), p.main.size(), p.save.size(), p.inputs.size(), p.outputs.size()});
  for (const std::string& kernel : p.kernels) hash.add_sized(kernel);
  for (const Buffer& b : p.buffers) {
    add_numbers(hash, {static_cast<uint64_t>(b.space), b.index, b.offset, b.bytes,
                       static_cast<uint64_t>(b.dtype)});
    add_list(hash, b.shape);
  }
  for (const auto* list : {&p.load, &p.main, &p.save})
    for (const Instruction& in : *list) {
      add_numbers(hash, {in.kernel});
      add_list(hash, in.operands);
      add_list(hash, in.ints);
      add_list(hash, in.floats);
      hash.add_sized(in.name);
    }
  add_anchors(hash, p.inputs);
  add_anchors(hash, p.outputs);
  return hash.finish();
}

}  // namespace poprt::program
