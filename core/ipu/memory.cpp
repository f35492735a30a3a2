#include "ipu/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "ipu/first_fit.h"
#include "ipu/numbers.h"

namespace poprt::ipu {
namespace {

// Sizes for which no public data exists (docs/chip.md): bytes on each tile.
constexpr int64_t kCodeOfVertex = 700;      // of one type of vertex
constexpr int64_t kControlOfStep = 48;      // of one superstep
constexpr int64_t kExchangeOfStep = 64;     // of one exchange, without its pieces
constexpr int64_t kBytesOfPiece = 2048;     // of an exchange for each 4 bytes of its code
constexpr int64_t kStateOfVertex = 48;      // of one vertex
constexpr int64_t kStack = 6 * 512 + 1024;  // of six workers and the supervisor
constexpr int64_t kFixed = 6 * 1024;        // of the run time system

size_t at(Category c) { return static_cast<size_t>(c); }

uint64_t hash_of(std::string_view name) {
  uint64_t h = 1469598103934665603ull;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h ^ (h >> 29);
}

// Calls visit(tile) for each tile of a tensor on one IPU.
template <class F>
void each_tile(const ChipTensor& t, int64_t tiles, F&& visit) {
  const int64_t start = first_tile(t, tiles);
  for (int64_t i = 0; i < std::min(t.tiles, tiles); i++)
    visit(static_cast<size_t>((start + i) % tiles));
}

bool is_on(const ChipTensor& t, int64_t tile, int64_t tiles) {
  bool found = false;
  each_tile(t, tiles, [&](size_t i) { found |= static_cast<int64_t>(i) == tile; });
  return found;
}

bool exists_always(const ChipTensor& t) { return t.kind == TensorKind::weight; }

class Count {
 public:
  Count(const ChipProgram& program, const Target& target, const ChipOptions& options, int64_t ipu)
      : program_(program),
        options_(options),
        plain_(target.plain_bytes < target.bytes_per_tile ? target.plain_bytes
                                                          : target.bytes_per_tile / 3),
        tiles_(std::max<int64_t>(1, target.tiles - options.num_io_tiles)) {
    m_.ipu = ipu;
    m_.available = target.bytes_per_tile;
  }

  std::vector<int64_t> bytes_at(size_t op);
  std::vector<LargestTensor> tensors_at(size_t op, int64_t tile);

  TileMemory run() {
    find_tensors();
    count_code();
    count_always();
    count_live();
    explain();
    return std::move(m_);
  }

 private:
  void find_tensors();
  void count_code();
  void count_always();
  void count_live();
  void explain();
  int64_t highest_address() const;
  int64_t fixed() const {
    return code_ + exchange_code_ + state_ + kStack + (options_.num_io_tiles ? 0 : io_);
  }

  const ChipProgram& program_;
  const ChipOptions& options_;
  // Bytes of a tile that are not interleaved; a third of the tile if the target's plain_bytes is
  // not below its bytes_per_tile.
  const int64_t plain_;
  int64_t tiles_;
  TileMemory m_;
  std::vector<const ChipTensor*> tensors_;  // of this IPU, without views
  std::vector<int64_t> weights_;            // by tile
  int64_t code_ = 0, exchange_code_ = 0, state_ = 0, io_ = 0;
  int64_t peak_temporary_ = 0;
  int64_t highest_ = 0;  // address, because of interleaved memory
};

// Bytes of an operation that must be in interleaved memory.
int64_t interleaved_bytes(const ChipOp& op, const ChipOptions& options) {
  if (!op.cost.plan) return 0;
  const PlanCost& c = op.cost.plan->cost;
  const bool wide = options.use_128bit_conv_unit_load && c.weight_exchange > 0;
  return c.partial_bytes + (wide ? c.weight_bytes : 0);
}

void Count::find_tensors() {
  if (!tensors_.empty()) return;
  // A view has the memory of its tensor, which may be written on another IPU. Then this IPU has a
  // copy of the tensor.
  std::set<size_t> used;
  for (const ChipOp& op : program_.ops)
    if (op.ipu == m_.ipu)
      for (const auto* list : {&op.inputs, &op.outputs})
        for (const size_t t : *list) {
          const int64_t alias = program_.tensors[t].alias_of;
          used.insert(alias >= 0 ? static_cast<size_t>(alias) : t);
        }
  for (const size_t i : used)
    if (program_.tensors[i].bytes > 0) tensors_.push_back(&program_.tensors[i]);
}

// Operations with equal programs share their code, if outlining is on.
void Count::count_code() {
  std::set<std::string_view> types;
  for (const ChipOp& op : program_.ops) {
    if (op.ipu != m_.ipu) continue;
    types.insert(op.cost.vertices.begin(), op.cost.vertices.end());
    const bool outlined = op.same_as != SIZE_MAX;
    for (const Superstep& s : op.cost.steps) {
      if (outlined) continue;
      code_ += kControlOfStep;
      if (s.exchange_bytes > 0)
        exchange_code_ += kExchangeOfStep + 4 * ceil_div(s.exchange_bytes, kBytesOfPiece);
      state_ += kStateOfVertex;
    }
    if (outlined) code_ += 16;
  }
  code_ += static_cast<int64_t>(types.size()) * kCodeOfVertex + kFixed;
  const int64_t depth = options_.overlap ? 2 : 1;
  io_ = depth * ceil_div(program_.input_bytes + program_.output_bytes,
                         options_.num_io_tiles ? options_.num_io_tiles : tiles_);
}

void Count::count_always() {
  weights_.assign(static_cast<size_t>(tiles_), 0);
  for (const ChipTensor* t : tensors_)
    if (exists_always(*t)) each_tile(*t, tiles_, [&](size_t i) { weights_[i] += t->share; });
}

void Count::count_live() {
  std::vector<int64_t> now(static_cast<size_t>(tiles_), 0);
  m_.by_tile.assign(static_cast<size_t>(tiles_), 0);
  std::vector<std::vector<const ChipTensor*>> starts(program_.ops.size() + 1),
      ends(program_.ops.size() + 1);
  for (const ChipTensor* t : tensors_)
    if (!exists_always(*t)) {
      starts[std::min(t->first, program_.ops.size())].push_back(t);
      ends[std::min(t->last, program_.ops.size())].push_back(t);
    }
  int64_t live = 0;
  for (size_t i = 0; i < program_.ops.size(); i++) {
    for (const ChipTensor* t : starts[i]) {
      each_tile(*t, tiles_, [&](size_t k) { now[k] += t->share; });
      live += t->share * t->tiles;
    }
    const ChipOp& op = program_.ops[i];
    const int64_t temporary = op.ipu == m_.ipu ? op.cost.temporary_bytes : 0;
    m_.liveness.push_back(live + temporary * tiles_);
    const int64_t interleaved = op.ipu == m_.ipu ? interleaved_bytes(op, options_) : 0;
    for (size_t k = 0; k < now.size(); k++) {
      const int64_t need = fixed() + weights_[k] + now[k] + temporary;
      m_.by_tile[k] = std::max(m_.by_tile[k], need);
      if (interleaved > 0)
        highest_ = std::max(highest_, interleaved + std::max(plain_, need - interleaved));
      if (need > m_.bytes) {
        m_.bytes = need;
        m_.tile = static_cast<int64_t>(k);
        m_.peak_op = i;
        peak_temporary_ = temporary;
        m_.always = fixed() + weights_[k];
      }
    }
    for (const ChipTensor* t : ends[i]) {
      each_tile(*t, tiles_, [&](size_t k) { now[k] -= t->share; });
      live -= t->share * t->tiles;
    }
  }
  for (const int64_t b : m_.by_tile) m_.total += b;
}

// Addresses by first fit on the busiest tile. Returns the bytes up to the highest address.
int64_t Count::highest_address() const {
  struct Block {
    int64_t bytes;
    size_t first, last;
  };
  // The largest ones first, as the chip's allocator does.
  const size_t end = program_.ops.size();  // the greatest number of a last operation
  std::vector<Block> wanted;
  for (const ChipTensor* t : tensors_)
    if (!exists_always(*t) && is_on(*t, m_.tile, tiles_))
      wanted.push_back({t->share, std::min(t->first, end), std::min(t->last, end)});
  for (size_t i = 0; i < end; i++)
    if (program_.ops[i].ipu == m_.ipu && program_.ops[i].cost.temporary_bytes > 0)
      wanted.push_back({program_.ops[i].cost.temporary_bytes, i, i});
  std::ranges::sort(wanted, [](const Block& a, const Block& b) {
    return std::tuple(-a.bytes, a.first, a.last) < std::tuple(-b.bytes, b.first, b.last);
  });
  FirstFit memory(end + 1);
  int64_t highest = 0;
  for (const Block& b : wanted)
    highest = std::max(highest, memory.place(b.first, b.last, b.bytes) + round_up(b.bytes, 8));
  return highest;
}

std::vector<int64_t> Count::bytes_at(size_t i) {
  find_tensors();
  count_code();
  count_always();
  const int64_t temporary =
      program_.ops[i].ipu == m_.ipu ? program_.ops[i].cost.temporary_bytes : 0;
  std::vector<int64_t> bytes = weights_;
  for (int64_t& b : bytes) b += fixed() + temporary;
  for (const ChipTensor* t : tensors_)
    if (!exists_always(*t) && t->first <= i && i <= t->last)
      each_tile(*t, tiles_, [&](size_t k) { bytes[k] += t->share; });
  return bytes;
}

std::vector<LargestTensor> Count::tensors_at(size_t op, int64_t tile) {
  find_tensors();
  std::vector<LargestTensor> found;
  for (const ChipTensor* t : tensors_) {
    const bool live = exists_always(*t) || (t->first <= op && op <= t->last);
    if (live && is_on(*t, tile, tiles_)) found.push_back({t->name, t->share});
  }
  std::ranges::sort(found, [](const LargestTensor& a, const LargestTensor& b) {
    return std::tie(b.bytes, a.name) < std::tie(a.bytes, b.name);
  });
  return found;
}

void Count::explain() {
  auto& c = m_.by_category;
  if (m_.bytes == 0) {  // a program without operations
    m_.bytes = m_.always = code_ + kStack;
  } else {
    c[at(Category::weights)] = weights_[static_cast<size_t>(m_.tile)];
    c[at(Category::temporaries)] = peak_temporary_;
    c[at(Category::io_buffers)] = options_.num_io_tiles ? 0 : io_;
    c[at(Category::activations)] = m_.bytes - m_.always - peak_temporary_;
  }
  c[at(Category::code)] = code_;
  c[at(Category::exchange_code)] = exchange_code_;
  c[at(Category::vertex_state)] = state_;
  c[at(Category::stack)] = kStack;
  auto& all = m_.total_by_category;
  for (const Category k : {Category::code, Category::exchange_code, Category::vertex_state,
                           Category::stack, Category::temporaries})
    all[at(k)] = c[at(k)] * tiles_;
  for (const int64_t w : weights_) all[at(Category::weights)] += w;
  all[at(Category::io_buffers)] = io_ * (options_.num_io_tiles ? options_.num_io_tiles : tiles_);
  all[at(Category::activations)] = std::max<int64_t>(
      0, m_.liveness.empty()
             ? 0
             : *std::ranges::max_element(m_.liveness) - all[at(Category::temporaries)]);
  if (options_.num_io_tiles) m_.io_tile = io_ + kFixed + kStack;
  if (!program_.ops.empty()) m_.bytes_with_gaps = m_.always + highest_address();
  m_.bytes_with_gaps = std::max({m_.bytes_with_gaps, m_.bytes, highest_});
  m_.code = code_ + exchange_code_;
  m_.code_available = plain_;
  m_.largest = tensors_at(m_.peak_op, m_.tile);
  if (m_.largest.size() > 10) m_.largest.resize(10);
}

}  // namespace

std::string_view category_name(Category category) {
  constexpr std::string_view names[] = {
      "weights", "vertexCode",          "internalExchangeCode", "vertexInstanceState",
      "stack",   "hostExchangeBuffers", "activations",          "temporaries"};
  return names[static_cast<size_t>(category)];
}

std::vector<TileMemory> memory_of(const ChipProgram& program, const Target& target,
                                  const ChipOptions& options) {
  std::vector<TileMemory> all;
  for (int64_t i = 0; i < options.num_ipus; i++)
    all.push_back(Count(program, target, options, i).run());
  return all;
}

int64_t first_tile(const ChipTensor& t, int64_t tiles) {
  return t.tiles >= tiles ? 0
                          : static_cast<int64_t>(hash_of(t.name) % static_cast<uint64_t>(tiles));
}

std::vector<int64_t> bytes_at(const ChipProgram& program, const Target& target,
                              const ChipOptions& options, int64_t ipu, size_t op) {
  return Count(program, target, options, ipu).bytes_at(op);
}

std::vector<LargestTensor> tensors_at(const ChipProgram& program, const Target& target,
                                      const ChipOptions& options, int64_t ipu, size_t op,
                                      int64_t tile) {
  return Count(program, target, options, ipu).tensors_at(op, tile);
}

std::vector<std::string> out_of_memory(const TileMemory& m, const ChipProgram& program) {
  std::vector<std::string> lines;
  if (m.fits()) return lines;
  if (m.io_tile > m.available)
    lines.push_back(fmt::format(
        "Memory allocation error : Out of memory on the I/O tiles: {} bytes used but tiles only "
        "have {} bytes of memory; more I/O tiles have smaller parts of the inputs and outputs",
        m.io_tile, m.available));
  if (m.code > m.code_available)
    lines.push_back(fmt::format(
        "Memory allocation error : Out of memory for code: {} bytes of code, but tiles only have "
        "{} bytes that can hold it (_poplar_start must be 0); outlining shares the code of equal "
        "operations",
        m.code, m.code_available));
  if (m.bytes_with_gaps <= m.available) return lines;
  lines.push_back(fmt::format(
      "Memory allocation error : Out of memory on tile {}: {} bytes used but tiles only have {} "
      "bytes of memory",
      m.tile, m.bytes_with_gaps, m.available));
  if (m.bytes - m.always > 0 && m.always > m.available)
    lines.emplace_back("Out of memory: Cannot fit all variable data onto one or more tiles");
  const auto category =
      static_cast<size_t>(std::ranges::max_element(m.by_category) - m.by_category.begin());
  lines.push_back(fmt::format("IPU {}: the largest category is {} with {} bytes", m.ipu,
                              category_name(static_cast<Category>(category)),
                              m.by_category[category]));
  for (size_t i = 0; i < std::min<size_t>(3, m.largest.size()); i++)
    lines.push_back(fmt::format("largest variable {}: {} bytes on the tile", m.largest[i].name,
                                m.largest[i].bytes));
  if (m.peak_op >= program.ops.size()) return lines;
  const ChipOp& op = program.ops[m.peak_op];
  lines.push_back(fmt::format("most memory is needed at {} '{}'", op.type, op.name));
  // The operands and results exist together, on the IPU of the operation.
  int64_t bytes = op.cost.temporary_bytes;
  std::set<size_t> own;
  for (const auto* list : {&op.inputs, &op.outputs})
    for (const size_t t : *list) {
      const int64_t alias = program.tensors[t].alias_of;
      own.insert(alias >= 0 ? static_cast<size_t>(alias) : t);
    }
  for (const size_t t : own) bytes += program.tensors[t].share;
  if (bytes > m.available)
    lines.push_back(fmt::format(
        "this operation needs {} bytes of a tile for its own operands, results and temporary data; "
        "an operation is on one IPU, so more IPUs do not help it: make it smaller",
        bytes));
  return lines;
}

}  // namespace poprt::ipu
