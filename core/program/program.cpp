#include "program/program.h"

#include <algorithm>

#include "base/checked.h"
#include "program/control.h"

namespace poprt::program {
namespace {

void verify_buffer(const Program& p, size_t i) {
  const Buffer& b = p.buffers[i];
  if (dtype_bits(b.dtype) == 0)
    fail(ErrorCode::data_loss, "program buffer {}: dtype {} has no storage", i,
         dtype_name(b.dtype));
  const uint64_t need = dtype_bytes(b.dtype, element_count(b.shape));
  if (need > b.bytes)
    fail(ErrorCode::data_loss, "program buffer {}: {} {} needs {} bytes, room is {}", i,
         dtype_name(b.dtype), shape_string(b.shape), need, b.bytes);
  const auto alignment = static_cast<uint64_t>(std::clamp(dtype_bits(b.dtype) / 8, 1, 8));
  if (b.offset % alignment != 0)
    fail(ErrorCode::data_loss, "program buffer {}: offset {} is no multiple of the {} bytes of {}",
         i, b.offset, alignment, dtype_name(b.dtype));
  uint64_t room = 0;
  switch (b.space) {
    case Space::arena: room = p.arena_bytes; break;
    case Space::weights: room = p.weights_bytes; break;
    case Space::input:
    case Space::output: {
      const auto& anchors = b.space == Space::input ? p.inputs : p.outputs;
      if (b.index >= anchors.size())
        fail(ErrorCode::data_loss, "program buffer {}: anchor {} of {}", i, b.index,
             anchors.size());
      room = anchors[b.index].bytes();
      break;
    }
    default:
      fail(ErrorCode::data_loss, "program buffer {}: unknown space {}", i,
           static_cast<int>(b.space));
  }
  if (checked_add(b.offset, b.bytes, "program buffer") > room)
    fail(ErrorCode::data_loss, "program buffer {}: bytes [{}, {}) lie outside its {} bytes", i,
         b.offset, b.offset + b.bytes, room);
}

void verify_list(const Program& p, const std::vector<Instruction>& list, std::string_view flow) {
  for (size_t i = 0; i < list.size(); i++) {
    const Instruction& in = list[i];
    if (in.kernel >= p.kernels.size())
      fail(ErrorCode::data_loss, "{} instruction {}: kernel {} of {}", flow, i, in.kernel,
           p.kernels.size());
    for (const uint32_t id : in.operands)
      if (id != kNoBuffer && id >= p.buffers.size())
        fail(ErrorCode::data_loss, "{} instruction {}: buffer {} of {}", flow, i, id,
             p.buffers.size());
  }
  match_regions(p, list, flow);
}

}  // namespace

void verify(const Program& program) {
  try {
    for (const auto* anchors : {&program.inputs, &program.outputs})
      for (const Anchor& a : *anchors) {
        if (dtype_bits(a.dtype) == 0)
          fail(ErrorCode::data_loss, "anchor '{}': dtype {} has no storage", a.name,
               dtype_name(a.dtype));
        const uint64_t bytes = a.bytes();  // throws for overflow and negative dimensions
        if (a.data == kNoData) continue;
        if (anchors == &program.outputs)
          fail(ErrorCode::data_loss, "output anchor '{}' has data", a.name);
        if (checked_add(a.data, bytes, "anchor data") > program.weights_bytes)
          fail(ErrorCode::data_loss,
               "anchor '{}': data [{}, {}) is outside of the {} bytes of weights", a.name, a.data,
               a.data + bytes, program.weights_bytes);
      }
    if (program.state_bytes > program.arena_bytes)
      fail(ErrorCode::data_loss, "{} bytes of state do not fit an arena of {}", program.state_bytes,
           program.arena_bytes);
    for (size_t i = 0; i < program.buffers.size(); i++) verify_buffer(program, i);
    verify_list(program, program.load, "load");
    verify_list(program, program.main, "main");
    verify_list(program, program.save, "save");
  } catch (const Error& e) {
    if (e.code() == ErrorCode::data_loss) throw;
    throw Error(ErrorCode::data_loss, e.message());
  }
}

namespace {

std::string buffer_string(const Program& p, uint32_t id) {
  if (id == kNoBuffer) return "-";
  const Buffer& b = p.buffers[id];
  static constexpr const char* kSpace[] = {"arena", "weights", "input", "output"};
  std::string place = kSpace[static_cast<size_t>(b.space) & 3];
  if (b.space == Space::input) place += fmt::format("'{}'", p.inputs[b.index].name);
  if (b.space == Space::output) place += fmt::format("'{}'", p.outputs[b.index].name);
  return fmt::format("{}+{}:{}{}", place, b.offset, dtype_name(b.dtype), shape_string(b.shape));
}

template <class T>
void print_numbers(const std::vector<T>& numbers, std::string_view what, std::string& s) {
  if (numbers.empty()) return;
  s += fmt::format(" {} [", what);
  for (size_t i = 0; i < numbers.size(); i++) s += fmt::format("{}{}", i ? "," : "", numbers[i]);
  s += "]";
}

// Returns the integers and floats of an instruction, with the names of their fields if known.
std::string numbers_of(const Program& p, const Instruction& in, const NumbersText& numbers_text) {
  const std::string& kernel = p.kernels[in.kernel];
  if (auto text = describe_control(kernel, in.ints); text && in.floats.empty()) return *text;
  if (numbers_text) return numbers_text(kernel, in.ints, in.floats);
  std::string s;
  // These numbers are not printed as shapes: -1 is a number here and not an unknown dimension.
  print_numbers(in.ints, "ints", s);
  print_numbers(in.floats, "floats", s);
  return s;
}

void print_list(const Program& p, const std::vector<Instruction>& list, std::string_view flow,
                const NumbersText& numbers_text, std::string& s) {
  if (list.empty()) return;
  s += fmt::format("{}:\n", flow);
  for (const Instruction& in : list) {
    s += fmt::format("  {} (", p.kernels[in.kernel]);
    for (size_t i = 0; i < in.operands.size(); i++)
      s += (i ? ", " : "") + buffer_string(p, in.operands[i]);
    s += fmt::format("){}  # {}\n", numbers_of(p, in, numbers_text), in.name);
  }
}

}  // namespace

std::string to_string(const Program& program, const NumbersText& numbers_text) {
  std::string s = fmt::format("program: arena {} bytes, weights {} bytes\n", program.arena_bytes,
                              program.weights_bytes);
  print_list(program, program.load, "load", numbers_text, s);
  print_list(program, program.main, "main", numbers_text, s);
  print_list(program, program.save, "save", numbers_text, s);
  return s;
}

}  // namespace poprt::program
