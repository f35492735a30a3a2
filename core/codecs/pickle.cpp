// Reads pickled dicts of NumPy arrays (arrays_file.h). A pickle is a program for a stack machine
// that may call any function of Python. This reader accepts only the functions in kKnown and never
// runs them: a call builds a value. The opcodes are described at
// https://docs.python.org/3/library/pickletools.html.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "codecs/arrays_file.h"
#include "codecs/npy.h"

namespace poprt {
namespace {

struct Value;
using Ref = std::shared_ptr<Value>;

// The values that arrays are made from. Lists and dicts may change while they are on the stack.
enum class Kind : uint8_t {
  none,
  mark,
  number,    // int, bool
  text,      // str
  bytes,     // bytes, bytearray
  sequence,  // tuple, list
  dict,      // alternating keys and values
  callee,    // a function of the allowed set
  dtype,
  array,
};

// The functions with which NumPy pickles arrays, and the one that encodes bytes in protocol 2.
enum class Callee : uint8_t { reconstruct, ndarray, dtype, from_buffer, encode, scalar };

struct Value {
  Kind kind = Kind::none;
  int depth = 0;  // nesting depth of the contents
  int64_t number = 0;
  std::string text;
  std::span<const std::byte> bytes;
  std::vector<Ref> items;
  Callee callee = Callee::reconstruct;
  DType dtype = DType::undefined;
  bool big_endian = false;
  Tensor array;
  std::shared_ptr<std::vector<std::byte>> owned;  // for `bytes` that were encoded from a text
};

struct Known {
  std::string_view module, name;
  Callee callee;
};
constexpr Known kKnown[] = {
    {"numpy.core.multiarray", "_reconstruct", Callee::reconstruct},
    {"numpy._core.multiarray", "_reconstruct", Callee::reconstruct},
    {"numpy", "ndarray", Callee::ndarray},
    {"numpy", "dtype", Callee::dtype},
    {"numpy.core.numeric", "_frombuffer", Callee::from_buffer},
    {"numpy._core.numeric", "_frombuffer", Callee::from_buffer},
    {"numpy.core.multiarray", "scalar", Callee::scalar},
    {"numpy._core.multiarray", "scalar", Callee::scalar},
    {"_codecs", "encode", Callee::encode},
};

std::optional<DType> dtype_of_code(std::string_view code) {
  for (int i = 0; i < kDTypeCount; i++) {
    const auto dtype = static_cast<DType>(i);
    if (!npy_code(dtype).empty() && npy_code(dtype) == code) return dtype;
  }
  return std::nullopt;
}

// Text of protocol 0: Latin-1, with \uXXXX for line feeds, backslashes and other characters up to
// U+FFFF, and \UXXXXXXXX for those beyond. Returns nothing if the digits are not such a number.
std::optional<std::string> utf8_of(const std::string& line) {
  std::string out;
  for (size_t i = 0; i < line.size(); i++) {
    unsigned c = static_cast<uint8_t>(line[i]);
    const size_t count = line.compare(i, 2, "\\u") == 0   ? 4
                         : line.compare(i, 2, "\\U") == 0 ? 8
                                                          : 0;
    if (count > 0) {
      const char* const digits = line.data() + i + 2;
      if (i + 2 + count > line.size() ||
          std::from_chars(digits, digits + count, c, 16).ptr != digits + count || c > 0x10ffff)
        return std::nullopt;
      i += 1 + count;
    }
    const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xc0 | c >> 6);
      tail(0);
    } else if (c < 0x10000) {
      out += static_cast<char>(0xe0 | c >> 12);
      tail(6);
      tail(0);
    } else {
      out += static_cast<char>(0xf0 | c >> 18);
      tail(12);
      tail(6);
      tail(0);
    }
  }
  return out;
}

class Unpickler {
 public:
  Unpickler(std::span<const std::byte> bytes, const std::string& what)
      : bytes_(bytes), what_(what) {}
  // A pickle may define lists that contain themselves. They would keep each other alive.
  ~Unpickler() {
    for (const Ref& v : made_) v->items.clear();
  }
  Unpickler(const Unpickler&) = delete;
  Unpickler& operator=(const Unpickler&) = delete;

  std::map<std::string, Tensor> run();

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorCode::invalid_argument, "'{}' is no pickle of arrays by name: {}", what_, why);
  }

  // -- bytes
  std::span<const std::byte> take(uint64_t size) {
    if (size > bytes_.size() - at_)
      fail(ErrorCode::data_loss, "'{}' is no pickle of arrays by name: it ends early", what_);
    const auto part = bytes_.subspan(at_, size);
    at_ += size;
    return part;
  }
  template <class T>
  T take_number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string take_text(uint64_t size) {
    const auto part = take(size);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  std::string take_line() {
    const auto* first = reinterpret_cast<const char*>(bytes_.data()) + at_;
    const auto* end = static_cast<const char*>(std::memchr(first, '\n', bytes_.size() - at_));
    if (!end) take(bytes_.size());
    std::string line = take_text(static_cast<uint64_t>(end - first));
    take(1);
    return line;
  }

  // -- stack
  Ref make(Kind kind) {
    const Ref v = made_.emplace_back(std::make_shared<Value>());
    v->kind = kind;
    return v;
  }
  Ref make_number(int64_t n) {
    const Ref v = make(Kind::number);
    v->number = n;
    return v;
  }
  void push(Ref v) { stack_.push_back(std::move(v)); }
  Ref pop() {
    if (stack_.empty()) refuse("its stack is empty where a value is needed");
    Ref v = stack_.back();
    stack_.pop_back();
    return v;
  }
  Value& top() {
    if (stack_.empty()) refuse("its stack is empty where a value is needed");
    return *stack_.back();
  }
  std::vector<Ref> pop_mark() {
    const auto mark = std::find_if(stack_.rbegin(), stack_.rend(),
                                   [](const Ref& v) { return v->kind == Kind::mark; });
    if (mark == stack_.rend()) refuse("a mark is missing");
    std::vector<Ref> items(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return items;
  }

  bool simple(char op);
  bool containers(char op);
  bool memo(char op);
  void push_text(std::string text) {
    push(make(Kind::text));
    top().text = std::move(text);
  }
  void push_bytes(uint64_t size) {
    push(make(Kind::bytes));
    top().bytes = take(size);
  }
  // Refuses values that are nested deep. A container that grows after it was put into another is
  // not counted again; that is safe, because no function recurses into values. A cycle only keeps
  // its memory, which the destructor frees.
  void hold(Value& to, std::vector<Ref> items) {
    constexpr int kMostDepth = 32;
    for (const Ref& v : items) to.depth = std::max(to.depth, v->depth + 1);
    if (to.depth > kMostDepth) refuse("its values are nested more than 32 deep");
    to.items.insert(to.items.end(), items.begin(), items.end());
  }
  void push_sequence(std::vector<Ref> items) {
    push(make(Kind::sequence));
    hold(top(), std::move(items));
  }
  void push_tuple(size_t size) {
    std::vector<Ref> items(size);
    for (size_t i = size; i-- > 0;) items[i] = pop();
    push_sequence(std::move(items));
  }
  void push_long(uint64_t size);
  void push_callee(const std::string& module, const std::string& name);
  void remember(uint64_t key) {
    if (stack_.empty()) refuse("its stack is empty where a value is needed");
    memo_[key] = stack_.back();
  }
  void recall(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) refuse("it names a value that it has not made");
    push(found->second);
  }
  uint64_t take_key() {
    const std::string line = take_line();
    uint64_t key = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), key);
    if (error != std::errc() || end != line.data() + line.size()) refuse("a number is damaged");
    return key;
  }
  void append(std::vector<Ref> items, Kind kind) {
    Value& to = top();
    if (to.kind != kind) refuse("a value is added to what is no container");
    hold(to, std::move(items));
  }

  // -- arrays
  // Counts bytes of a new value. A pickle may use one text or bytes object for many values, but the
  // writers of arrays do not: each byte of the file is copied at most twice, to decode a text and
  // to fill an array.
  void count_copied(uint64_t bytes) {
    if (bytes > 2 * uint64_t{bytes_.size()} - copied_)
      refuse("it makes many arrays from the same bytes");
    copied_ += bytes;
  }
  void reduce();
  void build();
  Ref call(Callee callee, const std::vector<Ref>& arguments);
  Ref make_dtype(const std::vector<Ref>& arguments);
  void fill_array(Value& array, const Ref& shape, const Value& dtype, bool columns_first,
                  const Value& data);
  const Value& argument(const std::vector<Ref>& arguments, size_t i, Kind kind) const {
    if (i >= arguments.size() || arguments[i]->kind != kind)
      refuse("an array is described in a way that NumPy does not");
    return *arguments[i];
  }

  std::span<const std::byte> bytes_;
  const std::string& what_;
  size_t at_ = 0;
  uint64_t copied_ = 0;
  std::vector<Ref> made_, stack_;
  std::map<uint64_t, Ref> memo_;
};

void Unpickler::push_long(uint64_t size) {
  const auto part = take(size);
  if (size > 8) refuse("a number has more than 64 bits");
  int64_t value = size > 0 && (static_cast<uint8_t>(part.back()) & 0x80) ? -1 : 0;
  if (size > 0) std::memcpy(&value, part.data(), size);
  push(make_number(value));
}

void Unpickler::push_callee(const std::string& module, const std::string& name) {
  for (const Known& k : kKnown)
    if (module == k.module && name == k.name) {
      push(make(Kind::callee));
      top().callee = k.callee;
      return;
    }
  refuse(fmt::format("it wants to call '{}.{}', which arrays do not need, and nothing is run",
                     module, name));
}

// Handles the opcodes that push one value. Returns false for others.
bool Unpickler::simple(char op) {
  switch (op) {
    case 'N': push(make(Kind::none)); return true;
    case '\x88': push(make_number(1)); return true;
    case '\x89': push(make_number(0)); return true;
    case 'K': push(make_number(take_number<uint8_t>())); return true;
    case 'M': push(make_number(take_number<uint16_t>())); return true;
    case 'J': push(make_number(take_number<int32_t>())); return true;
    case '\x8a': push_long(take_number<uint8_t>()); return true;
    case '\x8b': push_long(take_number<uint32_t>()); return true;
    case 'G':
      take(8);  // skips a float, which arrays do not contain
      push(make(Kind::none));
      return true;
    case 'I':
    case 'L': {
      std::string line = take_line();
      if (line.ends_with('L')) line.pop_back();
      int64_t value = 0;
      const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
      if (error != std::errc() || end != line.data() + line.size()) refuse("a number is damaged");
      push(make_number(value));
      return true;
    }
    case 'X': push_text(take_text(take_number<uint32_t>())); return true;
    case '\x8c': push_text(take_text(take_number<uint8_t>())); return true;
    case '\x8d': push_text(take_text(take_number<uint64_t>())); return true;
    case 'V': {
      const auto decoded = utf8_of(take_line());
      if (!decoded) refuse("its text has a number that is no character of Unicode");
      push_text(*decoded);
      return true;
    }
    case 'B':
    case 'T': push_bytes(take_number<uint32_t>()); return true;
    case 'C':
    case 'U': push_bytes(take_number<uint8_t>()); return true;
    case '\x8e':
    case '\x96': push_bytes(take_number<uint64_t>()); return true;
    default: return false;
  }
}

bool Unpickler::containers(char op) {
  switch (op) {
    case '(': push(make(Kind::mark)); return true;
    case ')': push_sequence({}); return true;
    case ']': push_sequence({}); return true;
    case '}': push(make(Kind::dict)); return true;
    case '\x85': push_tuple(1); return true;
    case '\x86': push_tuple(2); return true;
    case '\x87': push_tuple(3); return true;
    case 't':
    case 'l': push_sequence(pop_mark()); return true;
    case 'd': {
      std::vector<Ref> items = pop_mark();
      push(make(Kind::dict));
      hold(top(), std::move(items));
      return true;
    }
    case 'a': {
      Ref v = pop();
      append({v}, Kind::sequence);
      return true;
    }
    case 'e': {
      std::vector<Ref> items = pop_mark();
      append(std::move(items), Kind::sequence);
      return true;
    }
    case 's': {
      Ref value = pop(), key = pop();
      append({key, value}, Kind::dict);
      return true;
    }
    case 'u': {
      std::vector<Ref> items = pop_mark();
      append(std::move(items), Kind::dict);
      return true;
    }
    case '0': pop(); return true;
    case '1': pop_mark(); return true;
    case '2': push(Ref(stack_.empty() ? pop() : stack_.back())); return true;
    default: return false;
  }
}

bool Unpickler::memo(char op) {
  switch (op) {
    case '\x94': remember(memo_.size()); return true;
    case 'q': remember(take_number<uint8_t>()); return true;
    case 'r': remember(take_number<uint32_t>()); return true;
    case 'p': remember(take_key()); return true;
    case 'h': recall(take_number<uint8_t>()); return true;
    case 'j': recall(take_number<uint32_t>()); return true;
    case 'g': recall(take_key()); return true;
    default: return false;
  }
}

void Unpickler::reduce() {
  const Ref arguments = pop(), callee = pop();
  if (callee->kind != Kind::callee || arguments->kind != Kind::sequence)
    refuse("it calls what is no function");
  push(call(callee->callee, arguments->items));
}

Ref Unpickler::make_dtype(const std::vector<Ref>& arguments) {
  Ref v = make(Kind::dtype);
  if (arguments.empty()) refuse("a dtype has no name");
  const Value& name = *arguments[0];
  std::string code =
      name.kind == Kind::bytes
          ? std::string(reinterpret_cast<const char*>(name.bytes.data()), name.bytes.size())
          : argument(arguments, 0, Kind::text).text;
  if (!code.empty() && (code[0] == '<' || code[0] == '>' || code[0] == '|' || code[0] == '=')) {
    v->big_endian = code[0] == '>';
    code.erase(0, 1);
  }
  const auto dtype = dtype_of_code(code);
  if (!dtype) refuse(fmt::format("an array is of the type '{}', which is no number", code));
  v->dtype = *dtype;
  return v;
}

Ref Unpickler::call(Callee callee, const std::vector<Ref>& arguments) {
  switch (callee) {
    case Callee::reconstruct: return make(Kind::array);
    case Callee::dtype: return make_dtype(arguments);
    case Callee::encode: {  // encodes text as Latin-1; protocol 2 has no bytes
      const std::string& text = argument(arguments, 0, Kind::text).text;
      count_copied(text.size());
      Ref v = make(Kind::bytes);
      v->owned = std::make_shared<std::vector<std::byte>>();
      for (size_t i = 0; i < text.size(); i++) {
        const auto head = static_cast<uint8_t>(text[i]);
        const bool two = head >> 1 == 0x61 && i + 1 < text.size();  // U+0080 to U+00FF
        if (head >= 0x80 && !two) refuse("bytes are not as NumPy writes them");
        v->owned->push_back(static_cast<std::byte>(
            two ? (head & 3) << 6 | (static_cast<uint8_t>(text[++i]) & 0x3f) : head));
      }
      v->bytes = *v->owned;
      return v;
    }
    case Callee::from_buffer: {  // bytes, dtype, shape, order
      Ref v = make(Kind::array);
      const Value& order = argument(arguments, 3, Kind::text);
      argument(arguments, 2, Kind::sequence);
      fill_array(*v, arguments[2], argument(arguments, 1, Kind::dtype), order.text == "F",
                 argument(arguments, 0, Kind::bytes));
      return v;
    }
    case Callee::scalar: {  // dtype, bytes
      Ref v = make(Kind::array);
      fill_array(*v, make(Kind::sequence), argument(arguments, 0, Kind::dtype), false,
                 argument(arguments, 1, Kind::bytes));
      return v;
    }
    case Callee::ndarray: break;
  }
  refuse("it calls numpy.ndarray, which arrays do not need");
}

void Unpickler::fill_array(Value& array, const Ref& shape, const Value& dtype, bool columns_first,
                           const Value& data) {
  Shape dims;
  for (const Ref& d : shape->items) {
    if (d->kind != Kind::number || d->number < 0) refuse("the shape of an array is damaged");
    dims.push_back(d->number);
  }
  constexpr size_t kMostDimensions = 64;
  if (dims.size() > kMostDimensions) refuse("an array has more than 64 dimensions");
  if (dtype.big_endian && dtype_bits(dtype.dtype) > 8)
    refuse("an array is big-endian; make it .astype(a.dtype.newbyteorder('<'))");
  uint64_t need = 0;
  try {
    need = dtype_bytes(dtype.dtype, element_count(dims));
  } catch (const Error&) {
    refuse("the shape of an array overflows");
  }
  if (need != data.bytes.size())
    refuse(fmt::format("an array {} of {} has {} bytes, expected {}", shape_string(dims),
                       dtype_name(dtype.dtype), data.bytes.size(), need));
  count_copied(need);
  Tensor t = Tensor::zeros(dtype.dtype, dims);
  auto* to = static_cast<std::byte*>(t.mutable_data());
  if (need && !(columns_first && dims.size() > 1)) {
    std::memcpy(to, data.bytes.data(), need);
  } else if (need) {
    const auto width = need / static_cast<uint64_t>(t.count());
    std::vector<int64_t> at(dims.size());
    for (uint64_t made = 0; made != need; made += width) {
      int64_t from = 0;
      for (size_t d = dims.size(); d-- > 0;) from = from * dims[d] + at[d];
      std::memcpy(to + made, data.bytes.data() + static_cast<uint64_t>(from) * width, width);
      for (size_t d = dims.size(); d-- > 0 && ++at[d] == dims[d];) at[d] = 0;
    }
  }
  array.array = std::move(t);
}

// Sets the state of an array (version, shape, dtype, whether it is in Fortran order, bytes) or of a
// dtype (version, byte order, and fields that simple types do not use).
void Unpickler::build() {
  const Ref state = pop();
  Value& to = top();
  if (state->kind != Kind::sequence) refuse("a value has a state that no array has");
  const std::vector<Ref>& s = state->items;
  if (to.kind == Kind::dtype) {
    if (s.size() > 1 && s[1]->kind == Kind::text) to.big_endian = s[1]->text == ">";
    if (s.size() > 1 && s[1]->kind == Kind::bytes)
      to.big_endian = s[1]->bytes.size() == 1 && s[1]->bytes[0] == std::byte{'>'};
    return;
  }
  if (to.kind != Kind::array) refuse("a value has a state that no array has");
  argument(s, 1, Kind::sequence);
  fill_array(to, s[1], argument(s, 2, Kind::dtype), argument(s, 3, Kind::number).number != 0,
             argument(s, 4, Kind::bytes));
}

std::map<std::string, Tensor> Unpickler::run() {
  for (;;) {
    if (at_ >= bytes_.size())
      fail(ErrorCode::data_loss, "'{}' is no pickle of arrays by name: {}", what_,
           bytes_.empty() ? "it is empty" : "it ends early");
    const auto place = at_;
    const auto op = static_cast<char>(take(1)[0]);
    if (op == '.') break;
    if (simple(op) || containers(op) || memo(op)) continue;
    switch (op) {
      case '\x80':
        if (take_number<uint8_t>() > 5) refuse("it is of a newer protocol than 5");
        break;
      case '\x95': take(8); break;  // skips the length of a frame
      case 'c': {
        const std::string module = take_line();
        push_callee(module, take_line());
        break;
      }
      case '\x93': {
        const Ref name = pop(), module = pop();
        push_callee(module->text, name->text);
        break;
      }
      case 'R': reduce(); break;
      case 'b': build(); break;
      default:
        refuse(fmt::format("byte {} is {:#04x}, which no pickle of arrays has there", place,
                           static_cast<uint8_t>(op)));
    }
  }
  const Ref result = pop();
  if (result->kind != Kind::dict || result->items.size() % 2 != 0)
    refuse("expected a dict, {'input': array}");
  std::map<std::string, Tensor> arrays;
  for (size_t i = 0; i < result->items.size(); i += 2) {
    const Value &key = *result->items[i], &value = *result->items[i + 1];
    if (key.kind != Kind::text) refuse("a key of the dict is no text");
    if (value.kind != Kind::array || !value.array.defined())
      refuse(fmt::format("'{}' is no NumPy array", key.text));
    arrays[key.text] = value.array;
  }
  return arrays;
}

}  // namespace

std::map<std::string, Tensor> parse_pickled_arrays(std::span<const std::byte> bytes,
                                                   const std::string& what) {
  return Unpickler(bytes, what).run();
}

}  // namespace poprt
