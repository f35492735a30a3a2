#include "codecs/capnp_message.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

static_assert(std::endian::native == std::endian::little, "messages are little-endian");

namespace poprt::capnp_message {
namespace {

constexpr int kMaxDepth = 16;
constexpr uint64_t kEmptyElements = 1024;
constexpr uint64_t kMaxCount = (1u << 29) - 1;  // of list elements, and of words

// The low two bits of a pointer, and the size codes of lists.
constexpr uint64_t kStruct = 0, kList = 1;
constexpr unsigned kBytes = 2, kPointers = 6, kComposite = 7;
constexpr unsigned kElementBits[] = {0, 1, 8, 16, 32, 64, 64, 64};

// Bits 2 to 31 of a pointer: the number of words from its end to its target.
int64_t offset_of(uint64_t pointer) {
  return static_cast<int32_t>(static_cast<uint32_t>(pointer)) >> 2;
}

struct StructSize {
  uint32_t data, pointers;
};
StructSize struct_size(uint64_t pointer) {
  return {static_cast<uint32_t>(pointer >> 32 & 0xffff), static_cast<uint32_t>(pointer >> 48)};
}

}  // namespace

Message::Message(std::span<const std::byte> bytes, const char* what)
    : bytes_(bytes), what_(what), budget_(bytes.size() / 8 * 2 + kEmptyElements) {
  if (bytes.empty() || bytes.size() % 8 != 0)
    throw_broken(fmt::format("{} bytes is not a whole number of 8-byte words", bytes.size()));
}

void Message::throw_broken(std::string_view why) const {
  fail(ErrorCode::data_loss, "{}: {}", what_, why);
}

uint64_t Message::word(uint64_t index) const {
  uint64_t value;
  std::memcpy(&value, bytes_.data() + index * 8, sizeof value);
  return value;
}

void Message::traverse(uint64_t words) {
  if (words > budget_) throw_broken("too much of the message is there more than once");
  budget_ -= words;
}

Struct::Struct(Message& root) : Struct(at_pointer(root, 0, 0)) {}

// Here and below, `where` is the index of the word of the pointer, which is inside the message.
Struct Struct::at_pointer(Message& message, uint64_t where, int depth) {
  const uint64_t pointer = message.word(where);
  if (pointer == 0) return {message, 0, 0, 0, depth};
  if ((pointer & 3) != kStruct)
    message.throw_broken(
        fmt::format("expected a struct at word {}, found pointer {:#x}", where, pointer));
  if (depth >= kMaxDepth) message.throw_broken(fmt::format("nested more than {} deep", kMaxDepth));
  const StructSize size = struct_size(pointer);
  const uint64_t words = uint64_t{size.data} + size.pointers;
  const int64_t at = static_cast<int64_t>(where) + 1 + offset_of(pointer);
  const uint64_t total = message.bytes_.size() / 8;
  if (at < 0 || static_cast<uint64_t>(at) > total || words > total - static_cast<uint64_t>(at))
    message.throw_broken(fmt::format("the struct of word {} lies outside", where));
  message.traverse(words);
  return {message, static_cast<uint64_t>(at), size.data, size.pointers, depth + 1};
}

Struct::List Struct::list_at(Message& message, uint64_t where) {
  const uint64_t pointer = message.word(where);
  if (pointer == 0) return {};
  if ((pointer & 3) != kList)
    message.throw_broken(
        fmt::format("expected a list at word {}, found pointer {:#x}", where, pointer));
  const auto size = static_cast<unsigned>(pointer >> 32 & 7);
  const uint64_t count = pointer >> 35;
  // The count of a composite list is in words, without the tag word at its beginning.
  const uint64_t words = (count * kElementBits[size] + 63) / 64 + (size == kComposite);
  const int64_t at = static_cast<int64_t>(where) + 1 + offset_of(pointer);
  const uint64_t total = message.bytes_.size() / 8;
  if (at < 0 || static_cast<uint64_t>(at) > total || words > total - static_cast<uint64_t>(at))
    message.throw_broken(fmt::format("the list of word {} lies outside", where));
  message.traverse(words);
  return {static_cast<uint64_t>(at), count, size};
}

std::string Struct::text_at(Message& message, uint64_t where) {
  const List list = list_at(message, where);
  if (list.size == 0 && list.count == 0) return {};
  const auto* chars = reinterpret_cast<const char*>(message.bytes_.data() + list.at * 8);
  if (list.size != kBytes || list.count == 0 || chars[list.count - 1] != 0)
    message.throw_broken(fmt::format("the list of word {} is not a text", where));
  return {chars, list.count - 1};
}

std::string Struct::text(uint32_t pointer) const {
  return has_pointer_field(pointer) ? text_at(*message_, where(pointer)) : std::string();
}

std::vector<std::string> Struct::texts(uint32_t pointer) const {
  if (!has_pointer_field(pointer)) return {};
  const List list = list_at(*message_, where(pointer));
  if (list.count == 0) return {};
  if (list.size != kPointers)
    message_->throw_broken(fmt::format("the list of word {} is not one of texts", where(pointer)));
  std::vector<std::string> values;
  values.reserve(list.count);
  for (uint64_t i = 0; i < list.count; i++) values.push_back(text_at(*message_, list.at + i));
  return values;
}

std::span<const std::byte> Struct::plain_list(uint32_t pointer, unsigned size) const {
  if (!has_pointer_field(pointer)) return {};
  const List list = list_at(*message_, where(pointer));
  if (list.count == 0) return {};
  if (list.size != size)
    message_->throw_broken(fmt::format("the list of word {} has elements of {} bits, expected {}",
                                       where(pointer), kElementBits[list.size],
                                       kElementBits[size]));
  return message_->bytes_.subspan(list.at * 8, list.count * kElementBits[size] / 8);
}

Struct Struct::structure(uint32_t pointer) const {
  if (!has_pointer_field(pointer)) return {*message_, 0, 0, 0, depth_};
  return at_pointer(*message_, where(pointer), depth_);
}

Structs Struct::structs(uint32_t pointer) const {
  const Structs none(Struct(*message_, 0, 0, 0, depth_), 0);
  if (!has_pointer_field(pointer)) return none;
  const List list = list_at(*message_, where(pointer));
  if (list.count == 0 && list.size != kComposite) return none;
  const auto throw_broken = [&](std::string_view why) {
    message_->throw_broken(fmt::format("the list of word {} {}", where(pointer), why));
  };
  if (list.size != kComposite) throw_broken("is not one of structs");
  if (depth_ >= kMaxDepth) throw_broken("is nested too deep");
  // The tag word is a struct pointer whose offset is the number of elements.
  const uint64_t tag = message_->word(list.at);
  const StructSize size = struct_size(tag);
  const uint64_t count = static_cast<uint32_t>(tag) >> 2;
  const uint64_t each = uint64_t{size.data} + size.pointers;
  if ((tag & 3) != kStruct || count * each > list.count) throw_broken("is longer than its bytes");
  if (each == 0) message_->traverse(count);
  return {Struct(*message_, list.at + 1, size.data, size.pointers, depth_ + 1), count};
}

StructBuilder::Pointer& StructBuilder::pointer(size_t index) {
  if (index >= pointers_.size()) pointers_.resize(index + 1);
  return pointers_[index];
}

void StructBuilder::set_plain(uint32_t at, unsigned size, size_t count,
                              std::span<const std::byte> bytes) {
  Pointer& p = pointer(at);
  p.kind = Pointer::Kind::plain;
  p.size = static_cast<uint8_t>(size);
  p.count = count;
  p.bytes.assign(bytes.begin(), bytes.end());
}

void StructBuilder::set_text(uint32_t at, std::string_view text) {
  set_plain(at, kBytes, text.size() + 1, std::as_bytes(std::span(text)));
  pointer(at).bytes.push_back(std::byte{0});
}

void StructBuilder::set_texts(uint32_t at, std::span<const std::string> texts) {
  StructBuilder list;
  for (size_t i = 0; i < texts.size(); i++) list.set_text(static_cast<uint32_t>(i), texts[i]);
  Pointer& p = pointer(at);
  p.kind = Pointer::Kind::texts;
  p.elements = std::move(list.pointers_);
}

StructBuilder& StructBuilder::init_struct(uint32_t at) {
  Pointer& p = pointer(at);
  p.kind = Pointer::Kind::structure;
  p.structs.resize(1);
  return p.structs[0];
}

std::vector<StructBuilder>& StructBuilder::init_structs(uint32_t at, size_t count) {
  Pointer& p = pointer(at);
  p.kind = Pointer::Kind::structs;
  p.structs.resize(count);
  return p.structs;
}

// Canonical form: objects are in preorder, and the data and the pointers of a struct do not end
// with zero words.
struct StructBuilder::Writer {
  std::vector<uint64_t> words;

  static void widen(StructSize& size, const StructBuilder& s) {
    size_t data = s.data_.size(), pointers = s.pointers_.size();
    while (data > 0 && s.data_[data - 1] == 0) data--;
    while (pointers > 0 && s.pointers_[pointers - 1].kind == Pointer::Kind::null) pointers--;
    size.data = std::max(size.data, static_cast<uint32_t>(data));
    size.pointers = std::max(size.pointers, static_cast<uint32_t>(pointers));
  }

  uint64_t allocate(uint64_t count) {
    const uint64_t at = words.size();
    check(at + count);
    words.resize(at + count);
    return at;
  }
  static void check(uint64_t count) {
    if (count > kMaxCount)
      fail(ErrorCode::invalid_argument, "{} elements or words in a message, at most {}", count,
           kMaxCount);
  }
  static uint64_t struct_pointer(uint64_t offset, StructSize size) {
    return (offset << 2 & 0xffffffffu) | uint64_t{size.data} << 32 | uint64_t{size.pointers} << 48;
  }
  void list_pointer(uint64_t where, uint64_t at, unsigned size, uint64_t count) {
    check(count);
    words[where] = kList | (at - where - 1) << 2 | uint64_t{size} << 32 | count << 35;
  }

  void put_data(const StructBuilder& s, uint64_t at, StructSize size) {
    const size_t count = std::min<size_t>(s.data_.size(), size.data);
    std::copy_n(s.data_.begin(), count, words.begin() + static_cast<ptrdiff_t>(at));
  }
  void put_pointers(std::span<const Pointer> pointers, uint64_t at, uint64_t count) {
    for (uint64_t i = 0; i < std::min<uint64_t>(pointers.size(), count); i++)
      put(pointers[i], at + i);
  }

  void put(const StructBuilder& s, uint64_t where) {
    StructSize size{0, 0};
    widen(size, s);
    const uint64_t at = allocate(uint64_t{size.data} + size.pointers);
    // A struct without words points to itself, because a zero pointer would be null.
    words[where] = struct_pointer(size.data + size.pointers ? at - where - 1 : ~uint64_t{0}, size);
    put_data(s, at, size);
    put_pointers(s.pointers_, at + size.data, size.pointers);
  }

  void put(const Pointer& p, uint64_t where) {
    switch (p.kind) {
      case Pointer::Kind::null: return;
      case Pointer::Kind::structure: put(p.structs[0], where); return;
      case Pointer::Kind::plain: {
        const uint64_t at = allocate((p.bytes.size() + 7) / 8);
        list_pointer(where, at, p.size, p.count);
        if (!p.bytes.empty()) std::memcpy(&words[at], p.bytes.data(), p.bytes.size());
        return;
      }
      case Pointer::Kind::texts: {
        const uint64_t at = allocate(p.elements.size());
        list_pointer(where, at, kPointers, p.elements.size());
        put_pointers(p.elements, at, p.elements.size());
        return;
      }
      case Pointer::Kind::structs: {
        StructSize size{0, 0};
        for (const StructBuilder& s : p.structs) widen(size, s);
        const uint64_t each = uint64_t{size.data} + size.pointers;
        check(p.structs.size());
        const uint64_t at = allocate(1 + p.structs.size() * each);
        list_pointer(where, at, kComposite, p.structs.size() * each);
        words[at] = struct_pointer(p.structs.size(), size);
        for (size_t i = 0; i < p.structs.size(); i++)
          put_data(p.structs[i], at + 1 + i * each, size);
        for (size_t i = 0; i < p.structs.size(); i++)
          put_pointers(p.structs[i].pointers_, at + 1 + i * each + size.data, size.pointers);
        return;
      }
    }
  }
};

std::vector<std::byte> StructBuilder::canonical_bytes() const {
  Writer writer;
  writer.put(*this, writer.allocate(1));
  const auto bytes = std::as_bytes(std::span(writer.words));
  return {bytes.begin(), bytes.end()};
}

}  // namespace poprt::capnp_message
