#include "plugins/record.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/error.h"

namespace poprt::plugins {
namespace {

class Writer {
 public:
  template <class T>
  void number(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view text) {
    number(static_cast<uint32_t>(text.size()));
    bytes.append(text);
  }
  template <class T>
  void numbers(const std::vector<T>& list) {
    number(static_cast<uint32_t>(list.size()));
    for (const T value : list) number(value);
  }
  std::string bytes;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::string_view raw(size_t count) {
    if (count > rest_.size())
      fail(ErrorCode::invalid_argument, "custom operator: its record ends too early");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, raw(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(raw(number<uint32_t>())); }
  // Reads a number of items, each of which has at least `each` bytes.
  size_t count(size_t each) {
    const size_t n = number<uint32_t>();
    if (n > rest_.size() / each)
      fail(ErrorCode::invalid_argument, "custom operator: its record ends too early");
    return n;
  }
  template <class T>
  std::vector<T> numbers() {
    std::vector<T> list(count(sizeof(T)));
    for (T& value : list) value = number<T>();
    return list;
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

void write(Writer& w, const AttributeValue& value) {
  w.number(static_cast<uint8_t>(value.index()));
  if (const auto* i = std::get_if<int64_t>(&value)) w.number(*i);
  if (const auto* f = std::get_if<float>(&value)) w.number(*f);
  if (const auto* s = std::get_if<std::string>(&value)) w.text(*s);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) w.numbers(*list);
  if (const auto* list = std::get_if<std::vector<float>>(&value)) w.numbers(*list);
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    w.number(static_cast<uint32_t>(list->size()));
    for (const std::string& s : *list) w.text(s);
  }
  if (const auto* t = std::get_if<Tensor>(&value)) {
    w.number(static_cast<uint8_t>(t->dtype()));
    w.numbers(t->shape());
    w.text({static_cast<const char*>(t->data()), t->bytes()});
  }
}

Tensor read_tensor(Reader& r) {
  const auto dtype = r.number<uint8_t>();
  Shape shape = r.numbers<int64_t>();
  const std::string_view data = r.raw(r.number<uint32_t>());
  const bool known = dtype > 0 && dtype < kDTypeCount && static_cast<DType>(dtype) != DType::string;
  if (!known || !is_static(shape) ||
      dtype_bytes(static_cast<DType>(dtype), element_count(shape)) != data.size())
    fail(ErrorCode::invalid_argument, "custom operator: a tensor of its record is none");
  Tensor t = Tensor::zeros(static_cast<DType>(dtype), std::move(shape));
  if (!data.empty()) std::memcpy(t.mutable_data(), data.data(), data.size());
  return t;
}

AttributeValue read_attribute(Reader& r) {
  switch (const auto kind = r.number<uint8_t>()) {
    case 0: return r.number<int64_t>();
    case 1: return r.number<float>();
    case 2: return r.text();
    case 3: return read_tensor(r);
    case 4: return r.numbers<int64_t>();
    case 5: return r.numbers<float>();
    case 6: {
      std::vector<std::string> list(r.count(sizeof(uint32_t)));
      for (std::string& s : list) s = r.text();
      return list;
    }
    default:
      fail(ErrorCode::invalid_argument,
           "custom operator: attribute of kind {}, made by a newer poprt?", kind);
  }
}

}  // namespace

std::string encode(const Record& record) {
  Writer w;
  for (const std::string* text :
       {&record.domain, &record.name, &record.plugin, &record.plugin_version, &record.node})
    w.text(*text);
  w.number(record.version);
  w.number(static_cast<uint32_t>(record.attributes.size()));
  for (const auto& [name, value] : record.attributes) {
    w.text(name);
    write(w, value);
  }
  return std::move(w.bytes);
}

Record decode(std::string_view bytes) {
  Reader r(bytes);
  Record record;
  for (std::string* text :
       {&record.domain, &record.name, &record.plugin, &record.plugin_version, &record.node})
    *text = r.text();
  record.version = r.number<int32_t>();
  const size_t count = r.count(sizeof(uint32_t) + 1);
  for (size_t i = 0; i < count; i++) {
    std::string name = r.text();
    record.attributes.insert_or_assign(std::move(name), read_attribute(r));
  }
  if (!r.done()) fail(ErrorCode::invalid_argument, "custom operator: its record goes on");
  return record;
}

OperatorRef operator_of(const Record& record) {
  load_environment();
  const OperatorRef found = find_operator(record.domain, record.name);
  if (!found)
    fail(
        ErrorCode::failed_precondition,
        "the model needs operator {}.{} (version {}) of plug-in '{}' {}, which is not loaded: name "
        "its library in POPRT_PLUGINS, or load it first (poprt_exec --plugins, poprt_plugin_load)",
        record.domain, record.name, record.version, record.plugin, record.plugin_version);
  if (found.op->version != record.version)
    fail(ErrorCode::failed_precondition,
         "the model needs version {} of operator {}.{}, plug-in '{}' ({}) has version {}: compile "
         "the model again, or load the plug-in that it was compiled with ('{}' {})",
         record.version, record.domain, record.name, found.library->name, found.library->path,
         found.op->version, record.plugin, record.plugin_version);
  return found;
}

}  // namespace poprt::plugins
