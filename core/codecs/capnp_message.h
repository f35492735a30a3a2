// The part of Cap'n Proto that our files use: messages in canonical form, that is, in one segment
// without a segment table. They consist of structs, texts, and lists of numbers, texts and structs
// (https://capnproto.org/encoding.html). The *.capnp files declare the fields; their positions are
// those that `capnp compile -ocapnp FILE` prints, with bits[a, b) at byte a / 8.
//
// The project has its own reader because a process that only serves models starts twice as fast
// without the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace poprt::capnp_message {

class Structs;

// A message from untrusted bytes of any alignment, and the budget of words that may still be read
// from it. Several pointers may refer to the same bytes, so a small message could take forever to
// traverse; the budget is twice the size of the message plus 8 KiB for list elements without bytes,
// and a well-formed message whose pointers are read once needs half of it. The constructor throws
// data_loss if the bytes are empty or not whole words of 8. Every read of a pointer throws
// data_loss, with `what` at the beginning of the text, if it refers to memory outside the message
// or to another type, if the budget is used up, or if structs are nested more than 16 deep.
class Message {
 public:
  Message(std::span<const std::byte> bytes, const char* what);
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

 private:
  friend class Struct;
  friend class Structs;
  uint64_t word(uint64_t index) const;
  void traverse(uint64_t words);
  [[noreturn]] void throw_broken(std::string_view why) const;

  std::span<const std::byte> bytes_;
  const char* what_;
  uint64_t budget_;  // words
};

// One struct, which must not outlive its Message. A field that the writer did not know reads as
// zero or empty.
class Struct {
 public:
  explicit Struct(Message& root);

  template <class T>
  T get(uint32_t byte) const {
    T value{};
    if (byte + sizeof(T) <= uint64_t{data_words_} * 8)
      std::memcpy(&value, message_->bytes_.data() + at_ * 8 + byte, sizeof(T));
    return value;
  }
  bool get_bit(uint32_t bit) const { return get<uint8_t>(bit / 8) >> bit % 8 & 1; }
  // The parameter of the following functions is the index of a pointer.
  std::string text(uint32_t pointer) const;
  std::vector<std::string> texts(uint32_t pointer) const;
  template <class T>
  std::vector<T> numbers(uint32_t pointer) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    const std::span<const std::byte> list = plain_list(pointer, sizeof(T) == 4 ? 4 : 5);
    std::vector<T> values(list.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), list.data(), list.size());
    return values;
  }
  Struct structure(uint32_t pointer) const;
  Structs structs(uint32_t pointer) const;

 private:
  friend class Structs;
  struct List {
    uint64_t at = 0, count = 0;  // index of the first word; number of elements
    unsigned size = 0;           // size code of the encoding
  };
  Struct(Message& message, uint64_t at, uint32_t data_words, uint32_t pointers, int depth)
      : message_(&message), at_(at), data_words_(data_words), pointers_(pointers), depth_(depth) {}
  static Struct at_pointer(Message& message, uint64_t where, int depth);
  static List list_at(Message& message, uint64_t where);
  static std::string text_at(Message& message, uint64_t where);
  bool has_pointer_field(uint32_t pointer) const { return pointer < pointers_; }
  uint64_t where(uint32_t pointer) const { return at_ + data_words_ + pointer; }
  std::span<const std::byte> plain_list(uint32_t pointer, unsigned size) const;

  Message* message_;
  uint64_t at_;
  uint32_t data_words_, pointers_;
  int depth_;
};

class Structs {
 public:
  size_t size() const { return count_; }
  Struct operator[](size_t i) const {
    return {*first_.message_, first_.at_ + i * (first_.data_words_ + first_.pointers_),
            first_.data_words_, first_.pointers_, first_.depth_};
  }

 private:
  friend class Struct;
  Structs(Struct first, size_t count) : first_(first), count_(count) {}
  Struct first_;
  size_t count_;
};

// A struct to be written. Fields are set in any order, each at most once.
class StructBuilder {
 public:
  template <class T>
  void set(uint32_t byte, T value) {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    std::memcpy(reinterpret_cast<std::byte*>(&word(byte / 8)) + byte % 8, &value, sizeof(T));
  }
  void set_bit(uint32_t bit, bool value) { word(bit / 64) |= uint64_t{value} << bit % 64; }
  void set_text(uint32_t pointer, std::string_view text);
  void set_texts(uint32_t pointer, std::span<const std::string> texts);
  template <class T>
  void set_numbers(uint32_t pointer, const std::vector<T>& values) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    set_plain(pointer, sizeof(T) == 4 ? 4 : 5, values.size(), std::as_bytes(std::span(values)));
  }
  // The references are valid until another pointer of this struct is set.
  StructBuilder& init_struct(uint32_t pointer);
  std::vector<StructBuilder>& init_structs(uint32_t pointer, size_t count);

  // Returns the message with this struct as its root. Equal content gives equal bytes. Throws
  // invalid_argument if a list or the message is longer than the encoding allows.
  std::vector<std::byte> canonical_bytes() const;

 private:
  struct Pointer;
  struct Writer;
  uint64_t& word(size_t index);
  Pointer& pointer(size_t index);
  void set_plain(uint32_t pointer, unsigned size, size_t count, std::span<const std::byte> bytes);

  std::vector<uint64_t> data_;
  std::vector<Pointer> pointers_;
};

struct StructBuilder::Pointer {
  enum class Kind : uint8_t { null, structure, plain, texts, structs };
  Kind kind = Kind::null;
  uint8_t size = 0;                    // size code of a plain list
  size_t count = 0;                    // elements of a plain list
  std::vector<std::byte> bytes;        // contents of a plain list
  std::vector<Pointer> elements;       // elements of a list of texts
  std::vector<StructBuilder> structs;  // elements of a list of structs; one element for a structure
};

inline uint64_t& StructBuilder::word(size_t index) {
  if (index >= data_.size()) data_.resize(index + 1);
  return data_[index];
}

}  // namespace poprt::capnp_message
