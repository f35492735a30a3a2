#include "plugins/registry.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <type_traits>

#include "base/error.h"
#include "base/first_use.h"
#include "base/fork_mutex.h"
#include "plugins/registration.h"

namespace poprt::plugins {
namespace {

struct Registry {
  ForkMutex mutex;
  std::vector<std::unique_ptr<const Library>> all;
  std::atomic<size_t> count = 0;  // all.size(), so that an empty registry needs no lock
};

Registry& registry() {
  static constinit FirstUse<Registry> made;
  return made.get();
}

// Throws failed_precondition in a process that was forked while another thread of the parent had
// the lock, because that thread may have been in the middle of a change.
std::unique_lock<ForkMutex> lock_of(Registry& r) {
  std::unique_lock lock(r.mutex);
  if (r.mutex.abandoned())
    fail(ErrorCode::failed_precondition,
         "process {} was forked while another thread of its parent used the list of plug-ins: it "
         "cannot use plug-ins",
         this_process());
  return lock;
}

const char* text_or_empty(const char* text) { return text ? text : ""; }

std::string quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      json += {'\\', c};
    else
      json += u < 0x20 ? fmt::format("\\u{:04x}", u) : std::string(1, c);
  }
  return json + '"';
}

template <class Rows, class Text>
std::string list_json(const Rows& rows, Text&& text) {
  std::string json = "[";
  for (const auto& row : rows) json += (json.size() > 1 ? ", " : "") + text(row);
  return json + "]";
}

template <class Row>
std::string name_json(const Row& row) {
  return quoted(row.name);
}

// Names of one kind are unique among all libraries.
template <class Row, class Same>
void refuse_taken(const std::vector<std::unique_ptr<const Library>>& all,
                  std::vector<Row> Library::* rows, const Row& row, std::string_view what,
                  Same&& same) {
  for (const auto& library : all)
    for (const Row& other : library.get()->*rows)
      if (same(row, other))
        fail(ErrorCode::already_exists, "{} is there already, from plug-in '{}' ({})", what,
             library->name, library->path);
}

void refuse_taken(const std::vector<std::unique_ptr<const Library>>& all, const Library& library) {
  const auto same_name = [](const auto& a, const auto& b) { return !std::strcmp(a.name, b.name); };
  for (const poprt_operator& op : library.operators)
    refuse_taken(all, &Library::operators, op, fmt::format("operator {}.{}", op.domain, op.name),
                 is_same_operator);
  for (const poprt_pass& pass : library.passes)
    refuse_taken(all, &Library::passes, pass, fmt::format("pass '{}'", pass.name), same_name);
  for (const poprt_pattern& pattern : library.patterns)
    refuse_taken(all, &Library::patterns, pattern, fmt::format("pattern '{}'", pattern.name),
                 same_name);
  for (const poprt_transform& transform : library.transforms)
    refuse_taken(all, &Library::transforms, transform,
                 fmt::format("transform '{}'", transform.name), same_name);
}

}  // namespace

poprt_plugin_contents Library::contents() const {
  return {name.c_str(),     version.c_str(),  path.c_str(),      hash.c_str(),
          operators.data(), operators.size(), passes.data(),     passes.size(),
          patterns.data(),  patterns.size(),  transforms.data(), transforms.size()};
}

const Library* find_path(std::string_view path) {
  Registry& r = registry();
  const auto lock = lock_of(r);
  for (const auto& library : r.all)
    if (library->path == path) return library.get();
  return nullptr;
}

void add(std::unique_ptr<const Library> library) {
  Registry& r = registry();
  const auto lock = lock_of(r);
  for (const auto& other : r.all)
    if (other->path == library->path) return;  // adopt() was called before for this plug-in
  refuse_taken(r.all, *library);
  r.all.push_back(std::move(library));
  r.count.store(r.all.size(), std::memory_order_release);
}

void adopt(const poprt_plugin_contents& c) {
  auto library = std::make_unique<Library>();
  library->name = text_or_empty(c.name);
  library->version = text_or_empty(c.version);
  library->path = text_or_empty(c.path);
  library->hash = text_or_empty(c.hash);
  library->operators.assign(c.operators, c.operators + c.operator_count);
  library->passes.assign(c.passes, c.passes + c.pass_count);
  library->patterns.assign(c.patterns, c.patterns + c.pattern_count);
  library->transforms.assign(c.transforms, c.transforms + c.transform_count);
  add(std::move(library));
}

std::vector<const Library*> libraries() {
  Registry& r = registry();
  std::vector<const Library*> list;
  if (r.count.load(std::memory_order_acquire) == 0) return list;
  const auto lock = lock_of(r);
  for (const auto& library : r.all) list.push_back(library.get());
  return list;
}

OperatorRef find_operator(std::string_view domain, std::string_view name) {
  for (const Library* library : libraries())
    for (const poprt_operator& op : library->operators)
      if (op.domain == domain && op.name == name) return {&op, library};
  return {};
}

std::string to_json() {
  return list_json(libraries(),
                   [](const Library* l) {
                     return fmt::format(
                         "{{\"name\": {}, \"version\": {}, \"path\": {}, \"operators\": {}, "
                         "\"passes\": {}, "
                         "\"patterns\": {}, \"transforms\": {}}}",
                         quoted(l->name), quoted(l->version), quoted(l->path),
                         list_json(l->operators,
                                   [](const poprt_operator& op) {
                                     return fmt::format(
                                         "{{\"domain\": {}, \"name\": {}, \"version\": {}}}",
                                         quoted(op.domain), quoted(op.name), op.version);
                                   }),
                         list_json(l->passes, name_json<poprt_pass>),
                         list_json(l->patterns, name_json<poprt_pattern>),
                         list_json(l->transforms, name_json<poprt_transform>));
                   }) +
         "\n";
}

}  // namespace poprt::plugins
