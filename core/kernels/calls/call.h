// The arguments of a kernel call in addition to its operands, by name.
//
// A program stores a list of integers and a list of floats for each instruction. calls/foo.h names
// them: a struct that the operator fills and the kernel `foo` reads, with one function that lists
// its fields in the order of the file. Writing and reading both use that list, so they agree:
//
//   // det: operands [x [matrices, n, n], y [matrices]], ...
//   struct Det {
//     static constexpr std::string_view kKernel = "det";
//     int64_t matrices = 0;
//     int64_t n = 0;  // rows and columns of each
//     void fields(Fields& f) {
//       f.size("matrices", matrices);
//       f.size("n", n);
//     }
//   };
//
//   ctx.emit(calls::Det{.matrices = 4, .n = 3}, {x, y});      // the operator: ints [4, 3]
//   const auto c = calls::decode<calls::Det>(call);           // the kernel
//
// A program may be hostile. decode() refuses every integer outside the range that fields() states,
// a list of another length, and violations of require(), so a kernel does not repeat these checks.
// It still checks its operands against the sizes.
//
// The order is part of the file format, and fields are added only at the end. A field that was
// added later is read only if has_optional() returns true, because older files do not contain it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

namespace poprt::kernels::calls {

// Limits for a whole tensor, in elements, and for one axis, a window or a step of it.
inline constexpr int64_t kMostSize = (int64_t{1} << 40) - 1;
inline constexpr int64_t kMostExtent = (int64_t{1} << 31) - 1;

// Visits the fields of a call in order, to write them, to read them, or (in tests) to generate
// them.
class Fields {
 public:
  virtual ~Fields() = default;

  // An integer from `least` to `most`, inclusive.
  void integer(std::string_view name, int64_t& value,
               int64_t least = std::numeric_limits<int64_t>::min(),
               int64_t most = std::numeric_limits<int64_t>::max()) {
    visit(name, value, least, most);
  }
  void size(std::string_view name, int64_t& value, int64_t least = 0, int64_t most = kMostSize) {
    visit(name, value, least, most);
  }
  void extent(std::string_view name, int64_t& value, int64_t least = 1) {
    visit(name, value, least, kMostExtent);
  }
  // 0 or 1; other values are reserved for later versions.
  void flag(std::string_view name, bool& value) {
    int64_t integer = value;
    visit(name, integer, 0, 1);
    value = integer != 0;
  }
  // An enumerator from 0 to `last`.
  template <class E>
    requires std::is_enum_v<E>
  void choice(std::string_view name, E& value, E last) {
    auto integer = static_cast<int64_t>(value);
    visit(name, integer, 0, static_cast<int64_t>(last));
    value = static_cast<E>(integer);
  }
  // Any float, including NaN and infinities.
  void real(std::string_view name, float& value) { visit(name, value); }

  // The number of items in `list`. The items follow later, with at least one integer each.
  template <class T>
  void length(std::string_view name, std::vector<T>& list, int64_t least, int64_t most) {
    auto count = static_cast<int64_t>(list.size());
    visit(name, count, least, most);
    list.resize(items(name, static_cast<size_t>(count)));
  }
  // Resizes `list` to `count` items, a number that other fields determine. At least one integer
  // follows for each item.
  template <class T>
  void items(std::string_view name, std::vector<T>& list, int64_t count) {
    list.resize(items(name, static_cast<size_t>(count)));
  }
  // The rest of the integers (or floats) is a list of at most `most` items of `each` numbers. Its
  // length is not stored.
  template <class T>
  void rest(std::string_view name, std::vector<T>& list, size_t each = 1,
            size_t most = static_cast<size_t>(kMostExtent)) {
    list.resize(rest_items(name, list.size(), each, most));
  }
  void rest(std::string_view name, std::vector<float>& list,
            size_t most = static_cast<size_t>(kMostExtent)) {
    list.resize(rest_floats(name, list.size(), most));
    for (float& value : list) visit(name, value);
  }
  // Sizes, one for each item that length(), items() or rest() created.
  void sizes(std::string_view name, std::vector<int64_t>& list) {
    for (int64_t& value : list) size(name, value);
  }

  // A condition on several fields, stated after the last of them.
  virtual void require(bool holds, std::string_view what) = 0;
  // Whether optional fields follow, before `after` more integers. When writing, returns `wanted`;
  // when reading, whether there are enough integers.
  virtual bool has_optional(bool wanted, size_t after) = 0;
  bool has_optional(bool wanted) { return has_optional(wanted, 0); }
  // A flag that was added later. It is stored only if it is set.
  void later_flag(std::string_view name, bool& value) {
    if (!has_optional(value)) return;
    int64_t set = 1;
    visit(name, set, 1, 1);
    value = true;
  }

 protected:
  virtual void visit(std::string_view name, int64_t& value, int64_t least, int64_t most) = 0;
  virtual void visit(std::string_view name, float& value) = 0;
  virtual size_t items(std::string_view name, size_t count) = 0;
  virtual size_t rest_items(std::string_view name, size_t have, size_t each, size_t most) = 0;
  virtual size_t rest_floats(std::string_view name, size_t have, size_t most) = 0;
};

// The lists in the program file.
struct Encoded {
  std::vector<int64_t> ints;
  std::vector<float> floats;
  bool operator==(const Encoded&) const = default;
};

// Appends each field.
class Writer final : public Fields {
 public:
  using Fields::has_optional;
  Encoded take() { return std::move(encoded_); }
  void require(bool, std::string_view) override {}
  bool has_optional(bool wanted, size_t) override { return wanted; }

 private:
  void visit(std::string_view, int64_t& value, int64_t, int64_t) override {
    encoded_.ints.push_back(value);
  }
  void visit(std::string_view, float& value) override { encoded_.floats.push_back(value); }
  size_t items(std::string_view, size_t count) override { return count; }
  size_t rest_items(std::string_view, size_t have, size_t, size_t) override { return have; }
  size_t rest_floats(std::string_view, size_t have, size_t) override { return have; }

  Encoded encoded_;
};

// Reads each field, or throws invalid_argument naming the kernel and the field.
class Reader final : public Fields {
 public:
  using Fields::has_optional;
  Reader(std::string_view kernel, std::span<const int64_t> ints, std::span<const float> floats)
      : kernel_(kernel), ints_(ints), floats_(floats) {}
  // Checks that everything was read.
  void finish() const;
  void require(bool holds, std::string_view what) override { expect(holds, kernel_, what); }
  bool has_optional(bool, size_t after) override { return ints_.size() - next_int_ > after; }

 private:
  void visit(std::string_view name, int64_t& value, int64_t least, int64_t most) override;
  void visit(std::string_view name, float& value) override;
  size_t items(std::string_view name, size_t count) override;
  size_t rest_items(std::string_view name, size_t have, size_t each, size_t most) override;
  size_t rest_floats(std::string_view name, size_t have, size_t most) override;

  std::string_view kernel_;
  std::span<const int64_t> ints_;
  std::span<const float> floats_;
  size_t next_int_ = 0, next_float_ = 0;
};

// A struct of calls/*.h.
template <class C>
concept NamedCall = requires(C call, Fields& fields) {
  { C::kKernel } -> std::convertible_to<std::string_view>;
  call.fields(fields);
};

template <NamedCall C>
Encoded encode(C call) {
  Writer writer;
  call.fields(writer);
  return writer.take();
}

// Throws invalid_argument, naming the kernel, for a number outside the range of its field (with the
// field, the value and the range), a missing or surplus number, and a condition that is not true.
template <NamedCall C>
C decode(std::span<const int64_t> ints, std::span<const float> floats) {
  C call;
  Reader reader(C::kKernel, ints, floats);
  call.fields(reader);
  reader.finish();
  return call;
}
template <NamedCall C>
C decode(const Call& call) {
  return decode<C>(call.ints, call.floats);
}

}  // namespace poprt::kernels::calls
