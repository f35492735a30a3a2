#include "compiler/branches.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "program/link.h"
#include "program/serialize.h"

namespace poprt::compiler {
namespace {

using Json = nlohmann::ordered_json;

// Weights of branches in memory: equal bytes are found by comparing them.
using Loaded = std::shared_ptr<std::vector<program::LoadedProgram>>;

Loaded load(const std::vector<Executable>& parts) {
  auto loaded = std::make_shared<std::vector<program::LoadedProgram>>();
  for (const Executable& e : parts)
    loaded->push_back(program::load_in_memory(e.program, e.weights));
  return loaded;
}

std::vector<program::Branch> branches_of(const Loaded& loaded) {
  std::vector<program::Branch> branches;
  for (const program::LoadedProgram& l : *loaded) branches.push_back({&l.program, l.weights, ""});
  return branches;
}

// The linked program, whose weights keep those of the branches.
Executable finish(program::Linked linked, const Loaded& loaded) {
  Executable e;
  e.program = std::move(linked.program);
  for (program::Weight& w : linked.weights)
    e.weights.push_back(
        {w.offset, w.bytes,
         [fill = std::move(w.fill), loaded](std::span<std::byte> to) { fill(to); }});
  return e;
}

}  // namespace

Executable link_graphs(const std::vector<Executable>& parts,
                       const std::vector<std::string>& names) {
  const Loaded loaded = load(parts);
  Executable e = finish(program::link_graphs(branches_of(loaded)), loaded);
  for (const Executable& part : parts) e.notes.insert(part.notes.begin(), part.notes.end());
  e.notes[kBranches] = Json{{"kind", "graphs"}, {"graphs", names}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
  return e;
}

}  // namespace poprt::compiler
