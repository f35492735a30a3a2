#include "runtime/runner/pack_runner.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>

#include "base/deadline.h"
#include "base/error.h"
#include "base/fork_mutex.h"
#include "base/half.h"
#include "base/log.h"
#include "program/batch_rows.h"
#include "runtime/queue/request_queue.h"
#include "runtime/runner/memory_overlaps.h"
#include "runtime/runner/pack_description.h"
#include "runtime/runner/runner_thread.h"
#include "runtime/session/anchor_lookup.h"

namespace poprt::runtime {
namespace {

using program::Anchor;

enum class Role : uint8_t {
  dynamic,   // as many places as the item has
  numbers,   // a dynamic mask that contains item numbers
  lengths,   // unpack_info
  per_item,  // one row of the first dimension
  fixed,     // from the model, or frozen
};

// Writes the small number `n` as an element of a mask. Returns false if the type is not supported
// for masks.
bool write_number(DType type, uint64_t n, std::byte* to) {
  const auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
  switch (type) {
    case DType::f32: put(static_cast<float>(n)); return true;
    case DType::f16: put(to_f16(static_cast<float>(n))); return true;
    case DType::f64: put(static_cast<double>(n)); return true;
    case DType::s32:
    case DType::u32: put(static_cast<uint32_t>(n)); return true;
    case DType::s64:
    case DType::u64: put(n); return true;
    case DType::s16:
    case DType::u16: put(static_cast<uint16_t>(n)); return true;
    case DType::s8:
    case DType::u8: put(static_cast<uint8_t>(n)); return true;
    case DType::boolean: put(static_cast<uint8_t>(n != 0)); return true;
    default: return false;
  }
}

// The greatest number of an item in a mask of the type: write_number() writes all numbers up to it
// differently, and 0 marks a place that has no item. The default is for types that have enough
// numbers for any pack. A boolean mask does not distinguish items, so it has no limit.
uint64_t greatest_number(DType type) {
  switch (type) {
    case DType::s8: return INT8_MAX;
    case DType::u8: return UINT8_MAX;
    case DType::s16: return INT16_MAX;
    case DType::u16: return UINT16_MAX;
    case DType::f16: return 2048;
    default: return UINT32_MAX;
  }
}

bool is_zero(const std::byte* data, uint64_t bytes) {
  return std::all_of(data, data + bytes, [](std::byte b) { return b == std::byte{0}; });
}

// The numbers of places of the dynamic inputs of one request. If padding is removed, an input
// outside of the padded group may have padding or not.
struct RequestPlaces {
  struct InputPlaces {
    std::string_view name;
    uint64_t count = 0;
  };
  InputPlaces padded, others[2];

  void add(std::string_view name, uint64_t count, bool is_padded) {
    if (is_padded) return set(padded, name, count);
    if (others[0].count && others[0].count != count) return set(others[1], name, count);
    others[0] = {name, count};
  }
  // Checks the inputs outside of the group, when the mask has determined the number of places
  // without padding.
  void check(uint64_t real) const {
    for (const InputPlaces& input : others)
      if (input.count && input.count != real && input.count != padded.count)
        fail(ErrorCode::invalid_argument,
             "input '{}' has {} places, but '{}' has {}, of which {} are not padding", input.name,
             input.count, padded.name, padded.count, real);
  }

 private:
  static void set(InputPlaces& input, std::string_view name, uint64_t count) {
    if (input.count && input.count != count)
      fail(ErrorCode::invalid_argument, "input '{}' has {} places, but '{}' has {}", name, count,
           input.name, input.count);
    input = {name, count};
  }
};

}  // namespace

// Shared by the runner, its thread, and the packs on the device.
struct PackRunner::State : std::enable_shared_from_this<State> {
  State(std::shared_ptr<const Model> model, PackRunnerConfig given);

  struct PackedRequest {
    Request* request;
    PackLayout::Place place;
  };
  struct Pack {
    std::vector<TensorMemory> inputs, outputs;
    std::vector<InputBinding> input_bindings;
    std::vector<OutputBinding> output_bindings;
    std::vector<PackedRequest> items;
    std::shared_ptr<State> state;  // set while it is on the device
  };

  uint64_t resolve(std::span<const InputBinding> in, std::span<const OutputBinding> out,
                   Request& request) const;
  void check_segments(const int32_t* lengths, uint64_t places) const;
  uint64_t places(std::span<const InputBinding> in) const;
  void check_left_out(size_t input) const;
  void check_one_item(const InputBinding& binding, const Anchor& anchor, uint64_t places) const;
  void start_thread();
  void serve() noexcept;
  void send() noexcept;
  void fill(Pack& pack);
  void done(Pack& pack, const Request& inner) noexcept;
  void finish(Request& request, ErrorCode code, Failure failure) noexcept;
  void end() noexcept;
  bool on_own_thread() const noexcept;
  void wait_for_thread() noexcept;

  // Parts of the constructor.
  void check_config() const;
  void lay_out(const std::vector<Anchor>& in);
  void take_unpack_info(const std::vector<Anchor>& in);
  void take_roles(const std::vector<Anchor>& in);
  void take_outputs(const std::vector<Anchor>& out);
  void require_separate_items() const;
  void make_packs(const std::vector<Anchor>& in, const std::vector<Anchor>& out);
  // Describes an anchor for requests: one row (or one dimension) with the places of the longest
  // item.
  void describe(DataDesc& d, uint64_t unit) const;
  uint64_t longest() const { return std::min(layout.longest(), most_places); }

  PackRunnerConfig config;
  std::vector<std::string> padded_names;
  std::optional<PackDescription> description;
  bool matrix = false;              // whether dynamic inputs are [rows, places, ...]
  uint64_t most_places = SIZE_MAX;  // maximum number of places of an item that the model unpacks
  size_t segments = 1;              // of an item, in unpack_info
  size_t lengths_input = SIZE_MAX;
  std::vector<Role> roles;
  std::vector<bool> is_padded;  // inputs with padding if it is removed, otherwise all inputs
  mutable std::vector<std::atomic<bool>> left_out;  // inputs that a warning has named
  std::vector<uint64_t> input_units, output_units;  // bytes of a place, or of an item
  std::vector<DataDesc> inputs, outputs;
  uint64_t max_items = 0;
  size_t mask = SIZE_MAX;
  size_t depth = 0;
  std::unique_ptr<ModelRunner> runner;
  PackLayout layout{1, 1, PackAlgorithm::next_fit, false, 0};

  Counters counters;
  std::unique_ptr<RequestQueue> queue;
  pid_t process = 0;
  std::atomic<bool> ended{false}, finished{true};
  Waiter finish_waiter;
  std::atomic<std::thread::id> thread_id{};

  std::vector<PackedRequest> open;  // used by the thread
  Request* next = nullptr;

  std::vector<std::unique_ptr<Pack>> packs;
  std::mutex free_mutex;
  std::vector<Pack*> free;
  std::atomic<size_t> free_count{0};
  Waiter freed;
};

PackRunner::State::State(std::shared_ptr<const Model> model, PackRunnerConfig given)
    : config(std::move(given)) {
  check_config();
  description = pack_description(*model);
  if (config.enable_padding_remove) {
    padded_names = config.dynamic_group;
    padded_names.push_back(config.mask_name);
  }
  complete(config, *model, description);
  const auto& in = model->inputs();
  const auto& out = model->outputs();
  runner = std::make_unique<ModelRunner>(model, config.runner);
  lay_out(in);
  if (!config.unpack_info_input_name.empty()) take_unpack_info(in);
  take_roles(in);
  take_outputs(out);
  require_separate_items();
  make_packs(in, out);
}

void PackRunner::State::check_config() const {
  if (config.timeout.count() <= 0)
    fail(ErrorCode::invalid_argument, "the pack timeout must be more than 0 microseconds, given {}",
         config.timeout.count());
  if (config.runner.batching_dim != std::numeric_limits<uint32_t>::max())
    fail(ErrorCode::invalid_argument, "packs are whole batches: leave `batching_dim` unset");
  if (config.enable_padding_remove && config.mask_name.empty())
    fail(ErrorCode::invalid_argument, "removing padding needs the name of a mask");
  if (config.max_valid_num > (uint64_t{1} << 20))
    fail(ErrorCode::invalid_argument, "`max_valid_num` must be 0 to {}, given {}", 1 << 20,
         config.max_valid_num);
}

// Determines rows and places.
void PackRunner::State::lay_out(const std::vector<Anchor>& in) {
  const Anchor& main = in[find_anchor(in, config.dynamic_input_name, 0, "input")];
  const Shape& s = main.shape;
  if (s.empty() || main.bytes() == 0)
    fail(ErrorCode::failed_precondition, "dynamic input '{}' has shape {}", main.name,
         shape_string(s));
  const int64_t b = config.compile_batch_size;
  if (b == 0 || b < -1)
    fail(ErrorCode::invalid_argument, "`compile_batch_size` must be positive or -1, given {}", b);
  matrix = s.size() > 1 && (b == -1 || s[0] == b || s[0] == 1);
  const auto places = static_cast<uint64_t>(matrix ? s[0] * s[1] : s[0]);
  const auto rows = static_cast<uint64_t>(b > 0 ? b : matrix ? s[0] : 1);
  if (places % rows != 0)
    fail(ErrorCode::failed_precondition, "dynamic input '{}' {} does not divide in {} rows",
         main.name, shape_string(s), rows);
  layout = PackLayout(rows, places / rows, config.algo, !config.disable_data_across_rows,
                      config.delimiter_num);
  max_items = config.max_valid_num ? config.max_valid_num : places;
}

void PackRunner::State::take_unpack_info(const std::vector<Anchor>& in) {
  lengths_input = find_anchor(in, config.unpack_info_input_name, 0, "input");
  const Anchor& a = in[lengths_input];
  const auto most = static_cast<uint64_t>(a.shape.empty() ? 0 : a.shape[0]);
  if (a.dtype != DType::s32 || most == 0 || a.shape.size() > 2 || a.bytes() == 0)
    fail(ErrorCode::failed_precondition,
         "unpack_info '{}' is {} {}, expected s32 [max_valid_num] or [max_valid_num, segments]",
         a.name, dtype_name(a.dtype), shape_string(a.shape));
  if (config.max_valid_num > most)
    fail(ErrorCode::failed_precondition, "unpack_info '{}' has room for {} items, not {}", a.name,
         most, config.max_valid_num);
  segments = static_cast<size_t>(element_count(a.shape)) / most;
  max_items = config.max_valid_num ? config.max_valid_num : most;
  if (!description) return;
  if (description->segment_max_size.size() != segments)
    fail(ErrorCode::failed_precondition, "unpack_info '{}' is {}, the model has {} segments",
         a.name, shape_string(a.shape), description->segment_max_size.size());
  most_places = 0;
  for (const uint64_t size : description->segment_max_size) most_places += size;
}

void PackRunner::State::describe(DataDesc& d, uint64_t unit) const {
  Shape& shape = d.anchor.shape;
  const bool rows = matrix && shape.size() > 1;
  const auto places = static_cast<int64_t>(longest());
  const uint64_t element = dtype_bytes(d.anchor.dtype, 1);
  d.size_in_bytes = longest() * unit;
  if (rows) {
    shape[0] = 1;
    shape[1] = places;
  } else {
    shape = {places};
    if (element && unit != element) shape.push_back(static_cast<int64_t>(unit / element));
  }
}

// Determines the role of each input. An input with the same rows and places as the dynamic one is
// packed with it, whether it is listed or not.
void PackRunner::State::take_roles(const std::vector<Anchor>& in) {
  roles.resize(in.size());
  input_units.resize(in.size());
  std::vector<bool> is_dynamic(in.size());
  const auto mark = [&](const std::string& name) {
    const size_t at = find_anchor(in, name, 0, "input");
    is_dynamic[at] = true;
    return at;
  };
  const Shape& main = in[mark(config.dynamic_input_name)].shape;
  for (const std::string& name : config.dynamic_group) mark(name);
  if (!config.mask_name.empty()) mask = mark(config.mask_name);
  if (lengths_input != SIZE_MAX && is_dynamic[lengths_input])
    fail(ErrorCode::invalid_argument, "input '{}' cannot be packed and have the lengths",
         in[lengths_input].name);
  is_padded.resize(in.size(), !config.enable_padding_remove);
  for (const std::string& name : padded_names) is_padded[find_anchor(in, name, 0, "input")] = true;
  left_out = std::vector<std::atomic<bool>>(in.size());
  const auto alike = [&](const Shape& s) {
    const size_t lead = matrix ? 2 : 1;
    return s.size() >= lead &&
           std::equal(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(lead), main.begin());
  };
  const auto items = static_cast<int64_t>(
      lengths_input != SIZE_MAX && !config.max_valid_num ? max_items : config.max_valid_num);
  const uint64_t places = layout.places();
  for (size_t i = 0; i < in.size(); i++) {
    const Anchor& a = in[i];
    DataDesc d = runner->execute_inputs()[i];
    if (d.popef_contains_tensor_data) {
      if (i == lengths_input || a.name == config.dynamic_input_name)
        fail(ErrorCode::failed_precondition,
             "input '{}' comes with the model or is frozen: a pack runner writes {} itself", a.name,
             i == lengths_input ? "the lengths of items" : "the items of requests");
      roles[i] = Role::fixed;
    } else if (i == lengths_input) {
      roles[i] = Role::lengths;
      input_units[i] = segments * sizeof(int32_t);
      if (segments == 1) continue;
      d.anchor.shape = {static_cast<int64_t>(segments)};
      d.size_in_bytes = input_units[i];
      inputs.push_back(d);
    } else if (is_dynamic[i] || alike(a.shape)) {
      roles[i] = i == mask && config.disable_data_across_rows ? Role::numbers : Role::dynamic;
      if (a.bytes() % places != 0)
        fail(ErrorCode::failed_precondition, "input '{}' {} does not divide in {} places", a.name,
             shape_string(a.shape), places);
      input_units[i] = a.bytes() / places;
      if (input_units[i] == 0)
        fail(ErrorCode::failed_precondition, "input '{}' {} has no elements", a.name,
             shape_string(a.shape));
      std::byte scratch[16];
      if (roles[i] == Role::numbers &&
          (!write_number(a.dtype, 1, scratch) || input_units[i] != dtype_bytes(a.dtype, 1)))
        fail(ErrorCode::failed_precondition,
             "mask '{}' is {} {}: item numbers need one number of a plain type per place", a.name,
             dtype_name(a.dtype), shape_string(a.shape));
      if (roles[i] == Role::numbers) max_items = std::min(max_items, greatest_number(a.dtype));
      describe(d, input_units[i]);
      inputs.push_back(d);
    } else if (!a.shape.empty() && items > 0 && a.shape[0] == items) {
      roles[i] = Role::per_item;
      input_units[i] = a.bytes() / static_cast<uint64_t>(items);
      d.anchor.shape.erase(d.anchor.shape.begin());
      d.size_in_bytes = input_units[i];
      inputs.push_back(d);
    } else {
      fail(ErrorCode::failed_precondition,
           "input '{}' {} cannot be packed: name it in `dynamic_group`, freeze it, or give it "
           "max_valid_num rows",
           a.name, shape_string(a.shape));
    }
  }
}

void PackRunner::State::take_outputs(const std::vector<Anchor>& out) {
  const bool unpacks = lengths_input != SIZE_MAX;
  const uint64_t places = layout.places();
  for (size_t i = 0; i < out.size(); i++) {
    const Anchor& a = out[i];
    const auto first = static_cast<uint64_t>(a.shape.empty() ? 0 : a.shape[0]);
    const uint64_t parts = unpacks ? first : places;
    const bool by_place = first == places || (a.shape.size() > 1 && first == layout.rows() &&
                                              first * static_cast<uint64_t>(a.shape[1]) == places);
    if (parts == 0 || a.bytes() % parts != 0 || (unpacks ? first < max_items : !by_place))
      fail(ErrorCode::failed_precondition,
           "output '{}' {} does not divide in {} {}; compile the model without it "
           "(remove_outputs){}",
           a.name, shape_string(a.shape), unpacks ? max_items : places,
           unpacks ? "items" : "places", unpacks ? "" : ", or with pack_args");
    output_units.push_back(a.bytes() / parts);
    DataDesc d = runner->execute_outputs()[i];
    if (unpacks) {
      d.anchor.shape[0] = 1;
      d.size_in_bytes = output_units[i];
    } else {
      describe(d, output_units[i]);
    }
    outputs.push_back(d);
  }
}

// Without unpack_info and item numbers, nothing separates the items of a row. Then no place may
// change the results of another one.
void PackRunner::State::require_separate_items() const {
  const bool numbered = mask != SIZE_MAX && roles[mask] == Role::numbers;
  const auto note = runner->model().opaque.find(program::kBatchRows);
  if (numbered || lengths_input != SIZE_MAX || note == runner->model().opaque.end()) return;
  for (const program::BatchRows& a : program::read_batch_rows(note->second))
    if (a.axis == (matrix ? 1 : 0) && !a.mixed.empty() &&
        std::ranges::count(a.inputs, config.dynamic_input_name))
      fail(ErrorCode::failed_precondition,
           "items of one pack would change each other's results: {}; compile the model with "
           "pack_args, or with pass insert_attention_mask for single-row mode",
           a.mixed);
}

void PackRunner::State::make_packs(const std::vector<Anchor>& in, const std::vector<Anchor>& out) {
  depth = std::max<size_t>(config.runner.queue_depth, std::min<uint64_t>(4 * max_items, 1 << 16));
  depth = std::max<size_t>(depth, 64);
  queue = std::make_unique<RequestQueue>(
      in.size(), out.size(), depth, config.runner.clock, true, [this](ErrorCode code) {
        Counters::add(code == ErrorCode::cancelled ? counters.cancelled : counters.timed_out);
      });
  open.reserve(max_items);
  for (int i = 0; i < (config.enable_prefetch_datastreams ? 2 : 1); i++) {
    auto p = std::make_unique<Pack>();
    p->items.reserve(max_items);
    for (size_t k = 0; k < in.size(); k++) {
      p->inputs.emplace_back(roles[k] == Role::fixed ? 0 : in[k].bytes());
      if (roles[k] != Role::fixed)
        p->input_bindings.push_back({{}, k, p->inputs[k].data(), in[k].bytes()});
    }
    for (size_t k = 0; k < out.size(); k++) {
      p->outputs.emplace_back(out[k].bytes());
      p->output_bindings.push_back({{}, k, p->outputs[k].data(), out[k].bytes()});
    }
    free.push_back(p.get());
    packs.push_back(std::move(p));
  }
  free_count = free.size();
}

// Returns the number of places of the item of a request: the smallest of its inputs of variable
// length, because some may have padding. resolve() checks them.
uint64_t PackRunner::State::places(std::span<const InputBinding> in) const {
  uint64_t least = layout.longest();
  for (size_t i = 0; i < in.size(); i++) {
    if (!in[i].name.data() && in[i].index >= inputs.size())
      fail(ErrorCode::not_found, "there is no input {}; the model has {}", in[i].index,
           inputs.size());
    const std::string_view name = in[i].name.data() ? in[i].name : inputs[in[i].index].anchor.name;
    const size_t at = find_anchor(runner->model().inputs(), name, i, "input");
    if (!in[i].data || (roles[at] != Role::dynamic && roles[at] != Role::numbers)) continue;
    least = std::min<uint64_t>(least, in[i].bytes / input_units[at]);
  }
  return least;
}

// Checks the segments of an item, which the caller provides.
void PackRunner::State::check_segments(const int32_t* lengths, uint64_t places) const {
  int64_t sum = 0;
  for (size_t i = 0; i < segments; i++) {
    int32_t n = 0;
    std::memcpy(&n, lengths + i, sizeof n);
    const bool known = description.has_value();
    if (n < 0 || (known && static_cast<uint64_t>(n) > description->segment_max_size[i]))
      fail(ErrorCode::invalid_argument, "unpack_info: segment {} has {} places, expected 0 to {}",
           i, n, known ? description->segment_max_size[i] : places);
    sum += n;
  }
  if (static_cast<uint64_t>(sum) != places)
    fail(ErrorCode::invalid_argument, "unpack_info: segments have {} places together, inputs {}",
         sum, places);
}

// Checks an input that a request leaves out. Dynamic inputs other than the main one are zeros then.
void PackRunner::State::check_left_out(size_t input) const {
  const Anchor& a = runner->model().inputs()[input];
  const bool needed = roles[input] == Role::per_item ||
                      (roles[input] == Role::lengths && segments > 1) ||
                      (roles[input] == Role::dynamic && a.name == config.dynamic_input_name) ||
                      (input == mask && config.enable_padding_remove);
  if (needed) fail(ErrorCode::invalid_argument, "input '{}' is missing", a.name);
  if (roles[input] == Role::dynamic && !left_out[input].exchange(true))
    log().warn("a request leaves out input '{}' of the pack runner: it is zeros", a.name);
}

// Checks that an input of variable length has the shape of one item: [places, ...] or
// [1, places, ...], if the caller gives a shape.
void PackRunner::State::check_one_item(const InputBinding& binding, const Anchor& anchor,
                                       uint64_t places) const {
  if (!binding.shape) return;
  std::span<const int64_t> shape(binding.shape, binding.rank);
  const Shape& whole = anchor.shape;
  // With the dimensions of the model, the first one is the number of rows.
  const bool has_rows = matrix && shape.size() == whole.size() && whole.size() > 1 &&
                        static_cast<uint64_t>(whole[0] * whole[1]) == layout.places();
  bool one = !has_rows || shape[0] == 1;
  while (one && shape.size() > 1 && static_cast<uint64_t>(shape[0]) != places) {
    one = shape[0] == 1;
    shape = shape.subspan(1);
  }
  if (!one)
    fail(ErrorCode::invalid_argument,
         "input '{}': a request is one item, and [{},...] or [1,{},...] has its {} places, given "
         "{}: submit a request for each item",
         anchor.name, places, places, places,
         shape_string(Shape(binding.shape, binding.shape + binding.rank)));
}

uint64_t PackRunner::State::resolve(std::span<const InputBinding> in,
                                    std::span<const OutputBinding> out, Request& request) const {
  const auto& in_anchors = runner->model().inputs();
  const auto& out_anchors = runner->model().outputs();
  std::fill_n(request.inputs.get(), in_anchors.size(), nullptr);
  std::fill_n(request.outputs.get(), out_anchors.size(), nullptr);
  const auto input_at = [&](size_t i) {
    const InputBinding& b = in[i];
    if (!b.name.data() && b.index >= inputs.size())
      fail(ErrorCode::not_found, "there is no input {}; the runner has {}",
           static_cast<int64_t>(b.index), inputs.size());
    return find_anchor(in_anchors, b.name.data() ? b.name : inputs[b.index].anchor.name, i,
                       "input");
  };
  const auto output_at = [&](size_t i) {
    const OutputBinding& b = out[i];
    if (b.name.data()) return find_anchor(out_anchors, b.name, i, "output");
    if (b.index >= out_anchors.size())
      fail(ErrorCode::not_found, "there is no output {}; the model has {}",
           static_cast<int64_t>(b.index), out_anchors.size());
    return b.index;
  };
  RequestPlaces places;
  for (size_t i = 0; i < in.size(); i++) {
    const InputBinding& b = in[i];
    const size_t at = input_at(i);
    const std::string& name = in_anchors[at].name;
    if (roles[at] == Role::fixed)
      fail(ErrorCode::invalid_argument, "input '{}' is the runner's: leave it out of requests",
           name);
    if (request.inputs[at]) fail(ErrorCode::invalid_argument, "input '{}' is given twice", name);
    if (!b.data) fail(ErrorCode::invalid_argument, "input '{}': the pointer is null", name);
    const uint64_t unit = input_units[at];
    if (roles[at] == Role::per_item || roles[at] == Role::lengths) {
      if (b.bytes != unit)
        fail(ErrorCode::invalid_argument, "input '{}': expected {} bytes, given {} bytes", name,
             unit, b.bytes);
    } else {
      if (b.bytes == 0 || b.bytes % unit != 0)
        fail(ErrorCode::invalid_argument,
             "input '{}': expected a multiple of {} bytes, given {} bytes", name, unit, b.bytes);
      places.add(name, b.bytes / unit, is_padded[at]);
      check_one_item(b, in_anchors[at], b.bytes / unit);
    }
    request.inputs[at] = b.data;
  }
  for (size_t i = 0; i < in_anchors.size(); i++)
    if (!request.inputs[i]) check_left_out(i);
  const uint64_t given = places.padded.count ? places.padded.count : places.others[0].count;
  uint64_t length = given;
  if (config.enable_padding_remove) {
    const auto* m = static_cast<const std::byte*>(request.inputs[mask]);
    const uint64_t unit = input_units[mask];
    while (length > 0 && is_zero(m + (length - 1) * unit, unit)) length--;
    if (length == 0)
      fail(ErrorCode::invalid_argument, "mask '{}' is zero everywhere", config.mask_name);
    places.check(length);
  }
  if (length > longest())
    fail(ErrorCode::invalid_argument,
         "a request of {} places is longer than {}, the longest that "
         "the model takes",
         length, longest());
  if (lengths_input != SIZE_MAX && request.inputs[lengths_input])
    check_segments(static_cast<const int32_t*>(request.inputs[lengths_input]), length);
  const bool unpacks = !config.unpack_info_input_name.empty();
  for (size_t i = 0; i < out.size(); i++) {
    const OutputBinding& b = out[i];
    const size_t at = output_at(i);
    const std::string& name = out_anchors[at].name;
    if (request.outputs[at]) fail(ErrorCode::invalid_argument, "output '{}' is given twice", name);
    if (!b.data) fail(ErrorCode::invalid_argument, "output '{}': the pointer is null", name);
    const uint64_t bytes = output_units[at] * (unpacks ? 1 : length);
    if (b.bytes < bytes)
      fail(ErrorCode::invalid_argument, "output '{}': expected {} bytes, given {} bytes", name,
           bytes, b.bytes);
    request.outputs[at] = b.data;
  }
  for (size_t i = 0; i < out_anchors.size(); i++)
    if (!request.outputs[i])
      fail(ErrorCode::invalid_argument, "output '{}' is missing", out_anchors[i].name);
  separate_inputs(
      in.size(), [&](size_t i) { return RequestMemory{in[i].name, in[i].data, in[i].bytes}; },
      out.size(),
      [&](size_t i) {
        return RequestMemory{out_anchors[output_at(i)].name, out[i].data, out[i].bytes};
      },
      request.copies, [&](size_t i, const void* copy) { request.inputs[input_at(i)] = copy; });
  // Writes zeros to the places at which the inputs of the request have padding.
  for (size_t i = 0; i < out.size() && !unpacks && given > length; i++) {
    const OutputBinding& b = out[i];
    const size_t at = output_at(i);
    const uint64_t bytes = output_units[at] * length;
    const uint64_t padded = std::min<uint64_t>(b.bytes, output_units[at] * given);
    if (padded > bytes) std::memset(static_cast<std::byte*>(b.data) + bytes, 0, padded - bytes);
  }
  return length;
}

void PackRunner::State::start_thread() {
  start_runner_thread(process, finished, [self = shared_from_this()] { self->serve(); });
}

void PackRunner::State::finish(Request& request, ErrorCode code, Failure failure) noexcept {
  Counters::add(code == ErrorCode::ok          ? counters.completed
                : code == ErrorCode::cancelled ? counters.cancelled
                                               : counters.failed);
  if (code == ErrorCode::ok) counters.latency(config.runner.clock.now() - request.submitted);
  queue->leave(1);
  request.complete(code, std::move(failure));
  request.release();
}

void PackRunner::State::serve() noexcept {
  pthread_setname_np(pthread_self(), "poprt-pack");
  thread_id = std::this_thread::get_id();
  const Clock& clock = config.runner.clock;
  RequestPool& pool = queue->pool();
  while (!ended.load()) {
    const uint64_t wakeups = pool.wakeups();
    const auto has_event = [&] {
      return next || !queue->empty() || pool.wakeups() != wakeups || ended.load();
    };
    std::optional<Clock::TimePoint> deadline;
    if (!open.empty()) deadline = deadline_after(open.front().request->submitted, config.timeout);
    if (!clock.wait(pool.arrived, has_event, deadline) ||
        (deadline && !next && queue->empty() && clock.now() >= *deadline)) {
      send();
      continue;
    }
    while (next || queue->try_pop(next)) {
      Request* r = std::exchange(next, nullptr);
      if (r->has_deadline()) r->expire(clock.now());
      if (r->done()) {
        queue->drop(r);
        continue;
      }
      const auto place = open.size() < max_items ? layout.place(r->rows) : std::nullopt;
      if (!place) {
        next = r;
        send();
        continue;
      }
      open.push_back({r, *place});
      if (open.size() == max_items) send();
    }
  }
  // Waiting requests fail.
  const Failure& failure = stopped_failure();
  for (const PackedRequest& item : open)
    item.request->claim() ? finish(*item.request, ErrorCode::cancelled, failure)
                          : queue->drop(item.request);
  open.clear();
  while (next || queue->try_pop(next)) {
    Request* r = std::exchange(next, nullptr);
    r->claim() ? finish(*r, ErrorCode::cancelled, failure) : queue->drop(r);
  }
  finished = true;
  finish_waiter.notify();
}

// Sends the open pack to the device.
void PackRunner::State::send() noexcept {
  layout.clear();
  Pack* pack = nullptr;
  freed.wait([&] { return free_count.load() > 0; });
  {
    const std::lock_guard lock(free_mutex);
    pack = free.back();
    free.pop_back();
    free_count--;
  }
  const auto put_back = [&] {
    pack->state.reset();
    const std::lock_guard lock(free_mutex);
    free.push_back(pack);
    free_count++;
  };
  pack->items.clear();
  for (const PackedRequest& item : open) {
    if (item.request->claim()) {
      pack->items.push_back(item);
      continue;
    }
    queue->drop(item.request);
  }
  open.clear();
  if (pack->items.empty()) return put_back();
  // With lengths, the model finds items by their lengths, so cancelled ones must not leave a gap.
  // If items must not continue in another row, the others might not fit any more: first fit may
  // need more rows for fewer items.
  if (lengths_input != SIZE_MAX && !config.disable_data_across_rows) {
    for (PackedRequest& item : pack->items)
      if (const auto place = layout.place(item.request->rows)) item.place = *place;
    layout.clear();
  }
  try {
    fill(*pack);
    pack->state = shared_from_this();
    RequestCallback callback;
    callback.context = pack;
    callback.full = [](void* context, const Request& inner) noexcept {
      auto& p = *static_cast<Pack*>(context);
      const auto keep = std::move(p.state);
      keep->done(p, inner);
    };
    runner->execute_async(pack->input_bindings, pack->output_bindings, callback);
  } catch (const Error& e) {
    const auto failure = std::make_shared<const Error>(e);
    for (const PackedRequest& item : pack->items) finish(*item.request, e.code(), failure);
    put_back();
  } catch (const std::exception& e) {
    const auto failure = std::make_shared<const Error>(ErrorCode::resource_exhausted, e.what());
    for (const PackedRequest& item : pack->items) finish(*item.request, failure->code(), failure);
    put_back();
  }
}

void PackRunner::State::fill(Pack& pack) {
  const auto& anchors = runner->model().inputs();
  uint64_t used = 0;
  for (const PackedRequest& item : pack.items) used += item.request->rows;
  Counters::add(counters.steps);
  Counters::add(counters.rows, used);
  Counters::add(counters.padded_rows, layout.places() - used);
  for (size_t i = 0; i < anchors.size(); i++) {
    if (roles[i] == Role::fixed) continue;
    auto* to = static_cast<std::byte*>(pack.inputs[i].data());
    std::memset(to, 0, pack.inputs[i].bytes());
    const uint64_t unit = input_units[i];
    for (size_t k = 0; k < pack.items.size(); k++) {
      const auto& [request, place] = pack.items[k];
      const auto* from = static_cast<const std::byte*>(request->inputs[i]);
      const uint64_t n = request->rows;
      switch (roles[i]) {
        case Role::dynamic:
          if (from) std::memcpy(to + place.offset * unit, from, n * unit);
          break;
        case Role::numbers:
          for (uint64_t j = 0; j < n; j++)
            if (!from || !is_zero(from + j * unit, unit))
              write_number(anchors[i].dtype, place.number, to + (place.offset + j) * unit);
          break;
        case Role::lengths: {
          if (from) {
            std::memcpy(to + k * unit, from, unit);
            break;
          }
          const auto length = static_cast<int32_t>(n);
          std::memcpy(to + k * sizeof length, &length, sizeof length);
          break;
        }
        case Role::per_item: std::memcpy(to + k * unit, from, unit); break;
        case Role::fixed: break;
      }
    }
  }
}

// Called on a thread of the inner runner.
void PackRunner::State::done(Pack& pack, const Request& inner) noexcept {
  const ErrorCode code = inner.code();
  const Failure failure = inner.failure();
  const bool unpacks = !config.unpack_info_input_name.empty();
  for (size_t k = 0; k < pack.items.size() && code == ErrorCode::ok; k++) {
    const auto& [request, place] = pack.items[k];
    for (size_t i = 0; i < output_units.size(); i++) {
      const uint64_t unit = output_units[i];
      const auto* from = static_cast<const std::byte*>(pack.outputs[i].data());
      if (unpacks)
        std::memcpy(request->outputs[i], from + k * unit, unit);
      else
        std::memcpy(request->outputs[i], from + place.offset * unit, request->rows * unit);
    }
  }
  for (const PackedRequest& item : pack.items) finish(*item.request, code, failure);
  {
    const std::lock_guard lock(free_mutex);
    free.push_back(&pack);
    free_count++;
  }
  freed.notify();
}

// Whether the calling thread is one that completes requests: it must not wait for others.
bool PackRunner::State::on_own_thread() const noexcept {
  return thread_id.load() == std::this_thread::get_id() || runner->on_thread();
}

void PackRunner::State::wait_for_thread() noexcept {
  if (process == this_process()) finish_waiter.wait([&] { return finished.load(); });
}

void PackRunner::State::end() noexcept {
  queue->stop(stopped_failure());
  ended = true;
  queue->pool().wake();
}

PackRunner::PackRunner(std::shared_ptr<const Model> model, PackRunnerConfig config)
    : state_(std::make_shared<State>(std::move(model), std::move(config))) {}

PackRunner::~PackRunner() {
  State& s = *state_;
  s.end();
  if (s.on_own_thread()) return;
  s.wait_for_thread();
  // Completes a pack that is being computed, and frees the device now, instead of when the thread
  // has released the state.
  if (s.finished.load()) s.runner.reset();
}

const std::vector<DataDesc>& PackRunner::execute_inputs() const { return state_->inputs; }
std::vector<Shape> PackRunner::output_shapes(std::span<const InputBinding> inputs) const {
  auto shapes = BaseRunner::output_shapes(inputs);
  if (!state_->config.unpack_info_input_name.empty()) return shapes;
  // The number of rows stays 1.
  for (Shape& shape : shapes)
    shape[state_->matrix && shape.size() > 1 ? 1 : 0] =
        static_cast<int64_t>(state_->places(inputs));
  return shapes;
}

const std::vector<DataDesc>& PackRunner::execute_outputs() const { return state_->outputs; }

void PackRunner::execute(std::span<const InputBinding> inputs,
                         std::span<const OutputBinding> outputs) {
  const RequestPtr request = execute_async(inputs, outputs);
  request->wait();
  request->check();
}

RequestPtr PackRunner::execute_async(std::span<const InputBinding> inputs,
                                     std::span<const OutputBinding> outputs,
                                     RequestCallback callback, const RequestOptions& options) {
  State& s = *state_;
  if (options.replica >= 0)
    fail(ErrorCode::invalid_argument,
         "a pack runner puts requests of all together: leave the replica out");
  return s.queue->submit(callback, options, s.on_own_thread(), [&](Request& r) {
    r.rows = s.resolve(inputs, outputs, r);
    s.start_thread();
  });
}

void PackRunner::stop() noexcept {
  State& s = *state_;
  s.end();
  s.runner->stop();
  if (!s.on_own_thread()) s.wait_for_thread();  // a callback would wait for itself
}

RunnerStatistics PackRunner::statistics() const {
  RunnerStatistics s = state_->counters.snapshot();
  s.submitted = state_->queue->submitted();
  s.in_flight = state_->queue->in_flight();
  s.queue_capacity = state_->depth;
  return s;
}

std::vector<Tracepoint> PackRunner::tracepoints() const { return state_->runner->tracepoints(); }

}  // namespace poprt::runtime
