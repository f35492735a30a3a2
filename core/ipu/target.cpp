#include "ipu/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>

#include "base/json.h"

namespace poprt::ipu {
namespace {

struct OtherName {
  std::string_view other, name;
};
constexpr OtherName kOtherNames[] = {{"ipu1", "mk1"},    {"gc2", "mk1"},     {"ipu2", "mk2"},
                                     {"gc200", "mk2"},   {"m2000", "mk2"},   {"ipu21", "c600"},
                                     {"bow2000", "bow"}, {"bow-2000", "bow"}};

Target mk1() {
  Target t;
  t.name = "mk1";
  t.architecture = "ipu1";
  t.tiles = 1216;
  t.bytes_per_tile = 256 * 1024;
  t.plain_bytes = 128 * 1024;
  t.clock_ghz = 1.6;
  t.half_units = 8;
  t.float_units = 8;
  t.quarter = false;
  return t;
}

Target mk2(std::string_view name, double clock) {
  Target t;
  t.name = name;
  t.architecture = "ipu2";
  t.clock_ghz = clock;
  t.quarter = false;
  return t;
}

const std::array<Target, 4>& table() {
  static const std::array<Target, 4> all = {mk1(), mk2("mk2", 1.33), mk2("bow", 1.85), Target{}};
  return all;
}

// Calls `visit` with the name of each field and the field.
template <class T, class F>
void each_field(T& t, F&& visit) {
  visit("name", t.name);
  visit("architecture", t.architecture);
  visit("tiles", t.tiles);
  visit("workers", t.workers);
  visit("bytes_per_tile", t.bytes_per_tile);
  visit("plain_bytes", t.plain_bytes);
  visit("clock_ghz", t.clock_ghz);
  visit("exchange_bytes", t.exchange_bytes);
  visit("memcpy_bytes", t.memcpy_bytes);
  visit("data_path_bytes", t.data_path_bytes);
  visit("load_bytes", t.load_bytes);
  visit("half_units", t.half_units);
  visit("half_float_units", t.half_float_units);
  visit("float_units", t.float_units);
  visit("quarter", t.quarter);
  visit("link_gbytes", t.link_gbytes);
  visit("links", t.links);
  visit("global_sync", t.global_sync);
  visit("sync", t.sync);
  visit("host_gbytes", t.host_gbytes);
  visit("call_milliseconds", t.call_milliseconds);
}

void check_size(const char* field, double value) {
  if (!(value > 0) || value > 1e12)
    fail(ErrorCode::invalid_argument, "target: {} is {}; it must be above 0 and at most 1e12",
         field, value);
}
void check_size(const char*, bool) {}
void check_size(const char*, const std::string&) {}

template <class T>
void read_field(const char* field, const nlohmann::json& json, T& value) {
  const bool fits = std::is_same_v<T, std::string> ? json.is_string()
                    : std::is_same_v<T, bool>      ? json.is_boolean()
                    : std::is_same_v<T, double>    ? json.is_number()
                                                   : json.is_number_integer();
  if (!fits)
    fail(ErrorCode::invalid_argument, "target: {} has a value of another type, {}", field,
         json_text(json));
  value = json.get<T>();
  if constexpr (std::is_same_v<T, int64_t>)
    check_size(field, static_cast<double>(value));
  else
    check_size(field, value);
}

}  // namespace

std::span<const Target> targets() { return table(); }

const Target& target_of(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const OtherName& other : kOtherNames)
    if (other.other == lower) lower = other.name;
  std::string names;
  for (const Target& t : table()) {
    if (t.name == lower) return t;
    names += (names.empty() ? "" : ", ") + t.name;
  }
  fail(ErrorCode::invalid_argument, "there is no target '{}'; targets are {}", name, names);
}

Target target_from_json(const nlohmann::json& json) {
  if (!json.is_object()) fail(ErrorCode::invalid_argument, "target: expected a JSON object");
  Target target;
  if (const auto base = json.find("base"); base != json.end()) {
    if (!base->is_string()) fail(ErrorCode::invalid_argument, "target: base is not a text");
    target = target_of(base->get<std::string>());
  }
  for (const auto& [key, value] : json.items()) {
    std::string fields = "base";
    bool found = key == "base";
    each_field(target, [&](const char* field, auto& into) {
      fields += std::string(" ") + field;
      if (key != field) return;
      read_field(field, value, into);
      found = true;
    });
    if (!found)
      fail(ErrorCode::invalid_argument, "target: there is no field '{}'; expected one of {}", key,
           fields);
  }
  // A chip that differs has another name, so that its estimate does not look like that of the chip.
  if (!json.contains("name") && target != target_of(target.name)) target.name += " (changed)";
  if (target.tiles > (1 << 20) || target.workers > 64)
    fail(ErrorCode::invalid_argument, "target: at most 1048576 tiles and 64 workers are possible");
  return target;
}

nlohmann::ordered_json target_json(const Target& target) {
  nlohmann::ordered_json json;
  each_field(target, [&](const char* field, const auto& value) { json[field] = value; });
  return json;
}

int64_t chip_bytes(DType type, int64_t count) {
  switch (type) {
    case DType::s64:
    case DType::u64:
    case DType::f64: return 4 * count;
    case DType::undefined:
    case DType::string: return 0;
    default: return static_cast<int64_t>(dtype_bytes(type, count));
  }
}

int64_t vector_width(const Target& target, DType type) {
  return std::max<int64_t>(1, target.data_path_bytes / std::max<int64_t>(1, chip_bytes(type, 1)));
}

}  // namespace poprt::ipu
