#include "program/shards.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/checked.h"
#include "base/json.h"

namespace poprt::program {
namespace {

constexpr int64_t kMostIpus = 1024;
// A limit for the anchors, transfers and kernels of all shards together: a small file may declare a
// thousand shards, and program_of() copies all anchors, transfers and kernels for each shard.
constexpr uint64_t kMostInAll = uint64_t{1} << 20;

template <class... Args>
void check(bool ok, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) fail(ErrorCode::data_loss, text, std::forward<Args>(args)...);
}

class Reader {
 public:
  explicit Reader(const Program& p) : p_(p) {}

  Shards read() {
    for (size_t i = 0; i < p_.main.size(); i++) {
      const Instruction& in = p_.main[i];
      const std::string_view kernel = p_.kernels.at(in.kernel);
      if (kernel == kControlTransfer)
        transfer(in);
      else if (kernel == kControlShard)
        i = shard(in, i);
      else
        check(false, "main instruction {} ({}) belongs to no IPU", i, kernel);
    }
    finish();
    return std::move(out_);
  }

 private:
  // verify() has checked the number of operands and integers.
  void transfer(const Instruction& in) {
    const int64_t from = decode_transfer(in).from;
    check(from >= 0 && from < static_cast<int64_t>(kMostShards),
          "control.transfer '{}' comes from shard {}", in.name, from);
    check(in.operands[0] < p_.buffers.size(), "control.transfer '{}' has no place", in.name);
    check(out_.shards.empty(), "control.transfer '{}' follows a shard, but must precede all shards",
          in.name);
    const Buffer& b = p_.buffers.at(in.operands[0]);
    check(b.space == Space::arena && b.offset == align_up(out_.transfers_end, 64),
          "transfer '{}' does not directly follow the previous one", in.name);
    out_.transfers.push_back(
        {in.name, b.dtype, b.shape, b.offset, b.bytes, static_cast<uint32_t>(from), {}});
    out_.transfers_end = align_up(checked_add(b.offset, b.bytes), 64);
  }

  // Returns the position of the end of the region.
  size_t shard(const Instruction& in, size_t at) {
    const ControlShard c = decode_shard(in);
    check(c.ipu >= 0 && c.ipu < kMostIpus && c.stage >= -1 &&
              c.stage < static_cast<int64_t>(kMostShards) &&
              std::min({c.arena_begin, c.arena_bytes, c.state_bytes}) >= 0,
          "control.shard: a number is out of range");
    Shard s{c.ipu,
            c.stage,
            static_cast<uint64_t>(c.arena_begin),
            static_cast<uint64_t>(c.arena_bytes),
            static_cast<uint64_t>(c.state_bytes),
            at + 1,
            0};
    const uint64_t free = out_.shards.empty()
                              ? out_.transfers_end
                              : out_.shards.back().arena_begin + out_.shards.back().arena_bytes;
    check(s.arena_begin >= free && checked_add(s.arena_begin, s.arena_bytes) <= p_.arena_bytes &&
              s.state_bytes <= s.arena_bytes && s.arena_begin % 64 == 0,
          "control.shard: its memory is not its own");
    size_t depth = 1, i = at + 1;
    for (; i < p_.main.size(); i++) {
      const std::string_view kernel = p_.kernels.at(p_.main[i].kernel);
      check(kernel != kControlShard && kernel != kControlTransfer, "a shard has another in it");
      if (kernel == kControlEnd) {
        if (--depth == 0) break;
      } else if (control_of(kernel)) {
        depth++;
      }
    }
    check(i < p_.main.size(), "control.shard: its control.end is missing");
    s.end = i;
    check(out_.shards.size() < kMostShards, "more than {} shards", kMostShards);
    out_.shards.push_back(s);
    return i;
  }

  void finish() {
    out_.ipus = 1;
    out_.pipelined = !out_.shards.empty() && out_.shards[0].stage >= 0;
    for (size_t s = 0; s < out_.shards.size(); s++) {
      const Shard& shard = out_.shards[s];
      out_.ipus = std::max(out_.ipus, shard.ipu + 1);
      check(shard.stage == (out_.pipelined ? static_cast<int64_t>(s) : -1), "shard {} is stage {}",
            s, shard.stage);
      for (size_t i = shard.begin; i < shard.end; i++)
        for (const uint32_t id : p_.main[i].operands) use(id, static_cast<uint32_t>(s));
    }
    check(p_.load.empty() && p_.save.empty(), "load and save programs belong to no IPU");
    const uint64_t each =
        p_.inputs.size() + p_.outputs.size() + 2 * out_.transfers.size() + p_.kernels.size();
    check(each * out_.shards.size() <= kMostInAll,
          "{} shards with {} anchors and kernels each are more than {}", out_.shards.size(), each,
          kMostInAll);
    for (const Transfer& t : out_.transfers)
      check(t.from < out_.shards.size(), "transfer '{}' comes from nowhere", t.name);
  }

  void use(uint32_t id, uint32_t shard) {
    if (id == kNoBuffer) return;
    check(id < p_.buffers.size(), "an operand is out of range");
    const Buffer& b = p_.buffers[id];
    const Shard& s = out_.shards[shard];
    if (b.space != Space::arena || b.bytes == 0) return;
    const uint64_t end = checked_add(b.offset, b.bytes);
    if (b.offset >= s.arena_begin && end <= s.arena_begin + s.arena_bytes) return;
    const auto after = std::ranges::upper_bound(out_.transfers, b.offset, {}, &Transfer::offset);
    check(after != out_.transfers.begin(), "shard {} reaches memory of another", shard);
    Transfer& t = *std::prev(after);
    check(end <= t.offset + t.bytes && t.from <= shard, "shard {} reaches memory of another",
          shard);
    if (t.from != shard && (t.to.empty() || t.to.back() != shard)) t.to.push_back(shard);
  }

  const Program& p_;
  Shards out_;
};

}  // namespace

bool has_shards(const Program& program) {
  return std::ranges::find(program.kernels, kControlShard) != program.kernels.end();
}

Shards shards_of(const Program& program) {
  if (!has_shards(program)) return {};
  return Reader(program).read();
}

int64_t ipus_of(const Program& program) { return shards_of(program).ipus; }

uint64_t weight_bytes_read_by(const Program& program, const Shard& shard) {
  std::map<uint64_t, uint64_t> sizes;  // by offset
  for (size_t i = shard.begin; i < shard.end; i++)
    for (const uint32_t id : program.main[i].operands) {
      if (id == kNoBuffer || program.buffers[id].space != Space::weights) continue;
      uint64_t& size = sizes[program.buffers[id].offset];
      size = std::max(size, program.buffers[id].bytes);
    }
  uint64_t sum = 0;
  for (const auto& [offset, size] : sizes) sum += size;
  return sum;
}

Program program_of(const Program& program, const Shards& shards, size_t shard) {
  const Shard& s = shards.shards.at(shard);
  Program out;
  out.kernels = program.kernels;
  out.inputs = program.inputs;
  out.outputs = program.outputs;
  out.weights_bytes = program.weights_bytes;
  out.arena_bytes = s.arena_bytes;
  out.state_bytes = s.state_bytes;
  for (const Transfer& t : shards.transfers) {
    out.inputs.push_back({t.name, t.dtype, t.shape});
    out.outputs.push_back({t.name, t.dtype, t.shape});
  }
  std::unordered_map<uint32_t, uint32_t> moved;
  const auto buffer = [&](uint32_t id) {
    if (id == kNoBuffer) return id;
    const auto [it, added] = moved.emplace(id, static_cast<uint32_t>(out.buffers.size()));
    if (!added) return it->second;
    Buffer b = program.buffers.at(id);
    if (b.space == Space::arena) {
      if (b.offset >= s.arena_begin) {
        b.offset -= s.arena_begin;
      } else if (b.bytes == 0) {
        b.offset = 0;
      } else {
        const auto after =
            std::ranges::upper_bound(shards.transfers, b.offset, {}, &Transfer::offset);
        const auto t = std::prev(after);
        const auto number = static_cast<uint32_t>(t - shards.transfers.begin());
        const bool mine = t->from == shard;
        b.space = mine ? Space::output : Space::input;
        b.index =
            static_cast<uint32_t>(mine ? program.outputs.size() : program.inputs.size()) + number;
        b.offset -= t->offset;
      }
    }
    out.buffers.push_back(std::move(b));
    return it->second;
  };
  for (size_t i = s.begin; i < s.end; i++) {
    Instruction in = program.main[i];
    for (uint32_t& id : in.operands) id = buffer(id);
    out.main.push_back(std::move(in));
  }
  verify(out);
  return out;
}

std::string note_of_shards(const Program& p) {
  using Json = nlohmann::ordered_json;
  const Shards all = shards_of(p);
  Json shards = Json::array(), transfers = Json::array();
  for (const Shard& s : all.shards) {
    Json row{{"ipu", s.ipu}};
    if (s.stage >= 0) row["stage"] = s.stage;
    row["instructions"] = s.end - s.begin;
    row["weights_bytes"] = weight_bytes_read_by(p, s);
    row["arena_bytes"] = s.arena_bytes;
    shards.push_back(row);
  }
  for (const Transfer& t : all.transfers) {
    Json to = Json::array();
    for (const uint32_t shard : t.to) to.push_back(shard);
    transfers.push_back({{"name", t.name},
                         {"dtype", dtype_name(t.dtype)},
                         {"shape", t.shape},
                         {"bytes", t.bytes},
                         {"from", t.from},
                         {"to", to}});
  }
  return json_text(Json{{"ipus", all.ipus},
                        {"pipelined", all.pipelined},
                        {"shards", shards},
                        {"transfers", transfers}});
}

std::vector<int64_t> encode(const Shard& s) {
  const auto number = [](uint64_t n) { return static_cast<int64_t>(n); };
  return encode(ControlShard{s.ipu, s.stage, number(s.arena_begin), number(s.arena_bytes),
                             number(s.state_bytes)})
      .ints;
}

std::vector<int64_t> encode(const Transfer& t) {
  return encode(ControlTransfer{static_cast<int64_t>(t.from)}).ints;
}

}  // namespace poprt::program
