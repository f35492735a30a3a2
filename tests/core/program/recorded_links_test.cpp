// Linked and cut programs, recorded with all fields: the programs that link_graphs and link_buckets
// make from small models (with state, data of inputs, narrow weights, on one IPU and on several),
// the program of each shard, and the messages for a sharded program with a slightly different
// number.
//
//   POPRT_WRITE_RECORDS=1 test_program --gtest_filter='RecordedLinks*'   # then read the diff
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "base/error.h"
#include "program/link.h"
#include "program/shards.h"
#include "support/recorded_lines.h"

namespace poprt::program {
namespace {

using test::RecordedLines;

void list_anchors(const std::vector<Anchor>& anchors, const char* what,
                  std::vector<std::string>& to) {
  for (const Anchor& a : anchors)
    to.push_back(fmt::format("{} {} {} {}{}", what, a.name, dtype_name(a.dtype),
                             shape_string(a.shape),
                             a.data == kNoData ? "" : fmt::format(" data at {}", a.data)));
}

void list_instructions(const Program& p, const std::vector<Instruction>& list, const char* flow,
                       std::vector<std::string>& to) {
  for (const Instruction& in : list) {
    std::string s = fmt::format("{} {} '{}'", flow, p.kernels.at(in.kernel), in.name);
    for (const uint32_t id : in.operands) s += id == kNoBuffer ? " -" : fmt::format(" b{}", id);
    for (const int64_t n : in.ints) s += fmt::format(" {}", n);
    to.push_back(s);
  }
}

std::vector<std::string> whole(const Program& p) {
  std::vector<std::string> lines = {
      fmt::format("arena {} state {} weights {}", p.arena_bytes, p.state_bytes, p.weights_bytes)};
  list_anchors(p.inputs, "input", lines);
  list_anchors(p.outputs, "output", lines);
  for (size_t i = 0; i < p.buffers.size(); i++) {
    const Buffer& b = p.buffers[i];
    lines.push_back(fmt::format("b{} space {} index {} at {} of {} {} {}", i,
                                static_cast<int>(b.space), b.index, b.offset, b.bytes,
                                dtype_name(b.dtype), shape_string(b.shape)));
  }
  list_instructions(p, p.load, "load", lines);
  list_instructions(p, p.main, "main", lines);
  list_instructions(p, p.save, "save", lines);
  return lines;
}

void record(RecordedLines& to, const std::string& heading, const std::vector<std::string>& lines) {
  for (size_t i = 0; i < lines.size(); i++)
    to[heading].insert(fmt::format("{:03} {}", i, lines[i]));
}

std::string refusal_of(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    return fmt::format("{}: {}", error_code_name(e.code()), e.what());
  }
  return "taken";
}

// The options of a model, which copies "x" to "y" through the arena.
struct Form {
  int64_t n = 2;
  int mark = 1;                    // the first byte of the weights
  uint64_t state = 0;              // bytes
  bool data = false;               // x has a value in the weights
  bool save = false;               // whether there are programs to load and save
  std::vector<int64_t> ipus = {};  // one shard on each
  bool pipelined = false;
  DType dtype = DType::f32;
  std::string second = {};  // another input that nothing reads
};

class LinkedModel {
 public:
  explicit LinkedModel(const Form& form) : form_(form) {
    const auto bytes = static_cast<uint64_t>(form.n) * 4;
    const Shape shape = {form.n};
    x_ = b_.add_input({"x", form.dtype, shape});
    if (!form.second.empty()) b_.add_input({form.second, DType::s64, {3}});
    y_ = b_.add_output({"y", form.dtype, shape});
    // The size of the weights is no multiple of eight bytes, and a buffer refers to a part of one.
    const BufferId own =
        b_.weights(bytes + 5, DType::u8, {static_cast<int64_t>(bytes) + 5}, fill(form.mark));
    const BufferId shared = b_.weights(64, DType::u8, {64}, fill(99));
    b_.program().buffers.push_back({Space::weights, 0, 8, 4, DType::f32, {1}});
    const BufferId from = b_.input(x_, 0, bytes, form.dtype, shape);
    const BufferId to = b_.output(y_, 0, bytes, form.dtype, shape);
    if (form.ipus.empty())
      plain(from, to, bytes);
    else
      sharded(from, to, bytes);
    emit("copy", {own, kNoBuffer, shared});
    if (!form.ipus.empty()) std::iter_swap(main().rbegin(), main().rbegin() + 1);
    if (form.data) b_.program().inputs[0].data = 0;
    if (form.save) {
      b_.program().load = {main()[0]};
      b_.program().save = {main()[0], main()[0]};
    }
    loaded = load_in_memory(b_.program(), b_.weight_records());
  }
  Variant variant(std::string prefix = "") const {
    return {&loaded.program, loaded.weights, prefix};
  }
  const Program& program() const { return loaded.program; }

  LoadedProgram loaded;

 private:
  static std::function<void(std::span<std::byte>)> fill(int first) {
    return [first](std::span<std::byte> to) {
      for (size_t i = 0; i < to.size(); i++)
        to[i] = std::byte((static_cast<size_t>(first) + i) & 0xff);
    };
  }
  std::vector<Instruction>& main() { return b_.program().main; }
  void emit(const char* kernel, const std::vector<BufferId>& operands,
            const std::vector<int64_t>& ints = {}) {
    b_.emit(kernel, operands, ints, {}, fmt::format("{}{}", kernel, main().size()));
  }
  void plain(BufferId from, BufferId to, uint64_t bytes) {
    if (form_.state) b_.arena(0, form_.state, DType::u8, {static_cast<int64_t>(form_.state)});
    const BufferId middle = b_.arena(form_.state, bytes, form_.dtype, {form_.n});
    emit("copy", {from, middle});
    emit("copy", {middle, to});
    b_.program().state_bytes = form_.state;
  }
  // Each IPU transfers its value to the next one.
  void sharded(BufferId from, BufferId to, uint64_t bytes) {
    uint64_t at = 0;
    std::vector<BufferId> places;
    for (size_t i = 0; i + 1 < form_.ipus.size(); i++) {
      places.push_back(b_.arena(at, bytes, form_.dtype, {form_.n}));
      at = b_.program().arena_bytes;
      emit("control.transfer", {places.back()}, {static_cast<int64_t>(i)});
    }
    for (size_t i = 0; i < form_.ipus.size(); i++) {
      const auto size = static_cast<int64_t>(64 + form_.state + bytes / 64 * 64);
      const auto begin = static_cast<int64_t>(at);
      const auto state = static_cast<int64_t>(form_.state);
      emit("control.shard", {},
           {form_.ipus[i], form_.pipelined ? static_cast<int64_t>(i) : -1, begin, size, state});
      const BufferId own = b_.arena(at + form_.state, bytes, form_.dtype, {form_.n});
      emit("copy", {i ? places[i - 1] : from, own});
      emit("copy", {own, i + 1 < form_.ipus.size() ? places[i] : to});
      if (form_.state) emit("copy", {b_.arena(at, form_.state / 2, DType::u8, {1}), own});
      emit("control.end", {});
      at += static_cast<uint64_t>(size);
    }
    b_.program().arena_bytes = at;
  }

  Form form_;
  Builder b_;
  uint32_t x_ = 0, y_ = 0;
};

std::vector<std::string> whole(const Linked& linked) {
  std::vector<std::string> lines = whole(linked.program);
  for (const Weight& w : linked.weights) {
    std::vector<std::byte> bytes(w.bytes);
    w.fill(bytes);
    lines.push_back(fmt::format("weights at {} of {} begin with {}", w.offset, w.bytes,
                                static_cast<int>(bytes.at(0))));
  }
  for (const NarrowWeights& n : linked.narrow)
    lines.push_back(fmt::format("narrow at {} of {}", n.offset, n.bytes));
  return lines;
}

struct Together {
  const char* name;
  std::vector<Form> forms;
};

const std::vector<Together>& all_together() {
  static const std::vector<Together> all = {
      {"two sizes", {{.n = 2}, {.n = 40, .mark = 2}}},
      {"equal weights", {{.n = 8}, {.n = 8}, {.n = 8, .mark = 7}}},
      {"states", {{.n = 20, .state = 64}, {.n = 2, .state = 128}, {.n = 40}}},
      {"data", {{.data = true}, {.mark = 5, .data = true}}},
      {"equal data", {{.data = true}, {.data = true}}},
      {"load and save", {{.save = true}, {.n = 3}}},
      {"load and save of both", {{.save = true}, {.save = true}}},
      {"types", {{.n = 2}, {.n = 2, .dtype = DType::s32}}},
      {"one has more", {{.n = 2}, {.n = 3, .second = "z"}}},
      {"the first has more", {{.n = 2, .second = "z"}, {.n = 3}}},
      {"others", {{.n = 2, .second = "z"}, {.n = 3, .second = "a"}}},
      {"the index is taken", {{.n = 2, .second = "index"}, {.n = 3, .second = "poprt.bucket"}}},
      {"shards", {{.n = 4, .ipus = {0, 1}}, {.n = 40, .ipus = {0, 1}}}},
      {"shards of other IPUs", {{.n = 4, .ipus = {0, 1, 0}}, {.n = 40, .ipus = {1, 2}}}},
      {"shards and one", {{.n = 4, .ipus = {1, 0}}, {.n = 40}}},
      {"shards with state",
       {{.n = 4, .state = 64, .ipus = {0, 1}}, {.n = 2, .state = 128, .ipus = {1, 0}}}},
      {"shards of other types",
       {{.n = 4, .ipus = {0, 1}}, {.n = 4, .ipus = {0, 1}, .dtype = DType::s32}}},
      {"shards and save", {{.n = 4, .ipus = {0, 1}}, {.n = 4, .save = true}}},
      {"pipelines",
       {{.n = 4, .ipus = {0, 1}, .pipelined = true},
        {.n = 40, .ipus = {0, 1, 2}, .pipelined = true}}},
      {"a pipeline and one", {{.n = 4, .ipus = {0, 1}, .pipelined = true}, {.n = 4}}},
  };
  return all;
}

TEST(RecordedLinks, MatchTheRecord) {
  RecordedLines found;
  for (const Together& together : all_together()) {
    std::vector<std::unique_ptr<LinkedModel>> models;
    std::vector<Variant> graphs, buckets, same_names;
    std::vector<std::vector<NarrowWeights>> narrow;
    for (const Form& form : together.forms) {
      models.push_back(std::make_unique<LinkedModel>(form));
      const auto bytes = static_cast<uint64_t>(form.n) * 4 + 5;
      narrow.push_back({{0, bytes, DType::f16, 0},
                        {(bytes + 63) / 64 * 64, 64, DType::f16, 0},
                        {0, 4, DType::f16, 0}});
    }
    for (size_t i = 0; i < models.size(); i++) {
      graphs.push_back(models[i]->variant(fmt::format("g{}/", i)));
      graphs.back().narrow = narrow[i];
      buckets.push_back(models[i]->variant());
      same_names.push_back(models[i]->variant(fmt::format("g{}/", i / 2)));
    }
    for (const auto& [what, variants, link] :
         {std::tuple("graphs", &graphs, &link_graphs),
          std::tuple("buckets", &buckets, &link_buckets),
          std::tuple("graphs of one name", &same_names, &link_graphs)}) {
      const std::string heading = fmt::format("{}: {}", together.name, what);
      std::vector<std::string> lines;
      const std::string message = refusal_of([&] { lines = whole(link(*variants)); });
      if (message != "taken") lines = {message};
      record(found, heading, lines);
      // If `load` makes the weights when they are needed, the program is the same.
      std::vector<Variant> later = *variants;
      for (size_t i = 0; i < later.size(); i++) {
        later[i].weights = {};
        later[i].load = [&, i] { return models[i]->loaded; };
      }
      std::vector<std::string> again;
      const std::string other = refusal_of([&] { again = whole(link(later)); });
      if (other != "taken") again = {other};
      EXPECT_EQ(again, lines) << heading;
    }
  }
  test::expect_digests(found, POPRT_TEST_DATA "/program_links.txt",
                       "Programs of several models: recorded_links_test.cpp.");
}

TEST(RecordedLinks, WeightsThatAreNotAllThereAreRefused) {
  const LinkedModel m{Form{}};
  Variant b = m.variant("g/");
  b.weights = b.weights.first(b.weights.size() - 1);
  EXPECT_EQ(refusal_of([&] { link_graphs(std::vector{b}); }),
            "data_loss: a variant needs 128 bytes of weights, 127 are there");
}

// Messages of verify() and shards_of() for the program with each number changed a little.
void alter(Program p, const std::string& name, RecordedLines& found) {
  const auto message_for = [&] {
    return refusal_of([&] {
      verify(p);
      shards_of(p);
    });
  };
  ASSERT_EQ(message_for(), "taken") << name;
  const auto number = [&](const std::string& what, auto& place) {
    using T = std::remove_cvref_t<decltype(place)>;
    const T was = place;
    for (const int64_t by : {-64, -1, 1, 64, 100000}) {
      place = static_cast<T>(was + static_cast<T>(by));
      const std::string answer = message_for();
      const bool plain = answer == "taken";
      found[name].insert(fmt::format("{} {:+}: {}{}", what, by, answer,
                                     plain && has_shards(p) ? " " + note_of_shards(p) : ""));
    }
    place = was;
  };
  number("arena", p.arena_bytes);
  number("state", p.state_bytes);
  number("weights", p.weights_bytes);
  for (size_t i = 0; i < p.buffers.size(); i++) {
    number(fmt::format("offset of b{}", i), p.buffers[i].offset);
    number(fmt::format("bytes of b{}", i), p.buffers[i].bytes);
    if (p.buffers[i].space == Space::input || p.buffers[i].space == Space::output)
      number(fmt::format("index of b{}", i), p.buffers[i].index);
  }
  for (size_t i = 0; i < p.main.size(); i++) {
    Instruction& in = p.main[i];
    const Instruction was = in;
    const std::string where = fmt::format("main {} {}", i, p.kernels[in.kernel]);
    number(where + " kernel", in.kernel);
    for (size_t k = 0; k < in.ints.size(); k++)
      number(fmt::format("{} int {}", where, k), in.ints[k]);
    for (size_t k = 0; k < in.operands.size(); k++)
      number(fmt::format("{} operand {}", where, k), in.operands[k]);
    in.ints.push_back(0);
    found[name].insert(where + " with another int: " + message_for());
    in = was;
    in.operands.push_back(0);
    found[name].insert(where + " with another operand: " + message_for());
    in.operands.back() = kNoBuffer;
    found[name].insert(where + " with another operand that is none: " + message_for());
    in = was;
    p.main.erase(p.main.begin() + static_cast<std::ptrdiff_t>(i));
    found[name].insert("without " + where + ": " + message_for());
    p.main.insert(p.main.begin() + static_cast<std::ptrdiff_t>(i), 2, was);
    found[name].insert("twice " + where + ": " + message_for());
    p.main.erase(p.main.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

TEST(RecordedLinks, EveryNumberOfAShardedProgramIsLookedAt) {
  RecordedLines found;
  for (const auto& [name, form] :
       {std::pair("two shards", Form{.n = 4, .ipus = {0, 1}}),
        std::pair("three stages", Form{.n = 20, .ipus = {0, 2, 1}, .pipelined = true}),
        std::pair("with state", Form{.n = 4, .state = 64, .ipus = {0, 1}})}) {
    const Program p = LinkedModel(form).program();
    alter(p, name, found);
    const Shards shards = shards_of(p);
    for (size_t i = 0; i < shards.shards.size(); i++)
      record(found, fmt::format("{}: shard {}", name, i), whole(program_of(p, shards, i)));
    Program loads = p;
    loads.load = {p.main[3]};
    loads.load[0].operands.clear();
    found[name].insert("with a load program: " + refusal_of([&] { shards_of(loads); }));
  }
  // A program of one IPU with every kind of control flow.
  Builder b;
  const BufferId flag = b.arena(0, 1, DType::boolean, {}), index = b.arena(64, 8, DType::s64, {}),
                 word = b.arena(128, 4, DType::u32, {}), most = b.weights(8, DType::s64, {}, {});
  const auto emit = [&](const char* kernel, const std::vector<BufferId>& operands,
                        const std::vector<int64_t>& ints) {
    b.emit(kernel, operands, ints, {}, "n");
  };
  emit("control.loop", {most, flag, index}, {0});
  emit("control.if", {flag}, {1});
  emit("control.case", {word}, {int64_t{UINT32_MAX}});
  for (int i = 0; i < 3; i++) emit("control.end", {}, {});
  emit("control.loop", {kNoBuffer, kNoBuffer, index}, {kOldMostRounds});
  emit("control.end", {}, {});
  alter(b.program(), "control flow", found);
  test::expect_digests(found, POPRT_TEST_DATA "/program_numbers.txt",
                       "Messages for programs with other numbers: recorded_links_test.cpp.");
}

}  // namespace
}  // namespace poprt::program
