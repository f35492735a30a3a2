#include "onnx/split_model.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <thread>
#include <utility>

#include "base/block_memory.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/threads.h"
#include "onnx/wire.h"

namespace poprt::onnx {
namespace {

// Fields of onnx.proto, as (number << 3 | wire type). All of them have a length.
constexpr uint64_t kModelGraph = 7 << 3 | 2;
constexpr uint64_t kGraphNode = 1 << 3 | 2, kGraphInitializer = 5 << 3 | 2;
constexpr uint64_t kNodeAttribute = 5 << 3 | 2, kAttributeTensor = 5 << 3 | 2;
constexpr uint64_t kTensorRawData = 9 << 3 | 2;

// Copies messages without the data that it cuts. Each function add_model() to add_tensor() appends
// the contents of one message, the bytes [begin, end) of the model, and returns false if the model
// should not be split.
class ModelSplitter {
 public:
  explicit ModelSplitter(std::span<const std::byte> model) : model_(model) {}

  std::optional<SplitModel> run() {
    if (!add_model() || cut_bytes_ < model_.size() / 2 || split_.cuts.empty()) return std::nullopt;
    return std::move(split_);
  }

 private:
  struct Field {
    uint64_t tag = 0;
    size_t begin = 0, content = 0, end = 0;  // [begin, end) includes the tag
  };

  std::optional<Field> next(size_t at, size_t end) const {
    const auto bytes = model_.first(end);
    Field f{.begin = at};
    const auto tag = read_varint(bytes, at);
    if (!tag || *tag > UINT32_MAX || *tag >> 3 == 0) return std::nullopt;
    f.tag = *tag;
    uint64_t size = 0;
    switch (f.tag & 7) {
      case 0:
        if (!read_varint(bytes, at)) return std::nullopt;
        break;
      case 1: size = 8; break;
      case 2: {
        const auto length = read_varint(bytes, at);
        if (!length) return std::nullopt;
        size = *length;
        break;
      }
      case 5: size = 4; break;
      default: return std::nullopt;  // groups
    }
    if (size > end - at) return std::nullopt;
    f.content = at;
    f.end = at + size;
    return f;
  }

  // Calls `add` for each field; `add` returns false if the model should not be split.
  template <class Add>
  bool each_field(size_t begin, size_t end, Add add) {
    for (size_t at = begin; at < end;) {
      const std::optional<Field> f = next(at, end);
      if (!f || !add(*f)) return false;
      at = f->end;
    }
    return true;
  }

  void copy(const Field& f, std::string& out) const {
    out.append(reinterpret_cast<const char*>(model_.data()) + f.begin, f.end - f.begin);
  }

  // Appends a message with the contents that `add` appends.
  template <class Add>
  static bool add_message(uint64_t tag, std::string& out, Add add) {
    std::string content;
    if (!add(content)) return false;
    put_varint(tag, out);
    put_varint(content.size(), out);
    out += content;
    return true;
  }

  static void put_varint(uint64_t value, std::string& out) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  }

  bool add_model() {
    bool has_graph = false;
    return each_field(0, model_.size(), [&](const Field& f) {
      if (f.tag != kModelGraph) {
        copy(f, split_.rest);
        return true;
      }
      if (std::exchange(has_graph, true)) return false;  // protobuf would merge the graphs
      return add_message(f.tag, split_.rest,
                         [&](std::string& out) { return add_graph(f.content, f.end, out); });
    });
  }

  bool add_graph(size_t begin, size_t end, std::string& out) {
    int nodes = 0, initializers = 0;
    return each_field(begin, end, [&](const Field& f) {
      const int node = f.tag == kGraphNode ? nodes++ : 0;
      const int initializer = f.tag == kGraphInitializer ? initializers++ : 0;
      const bool large = f.end - f.content >= kLeastCutBytes;
      if (large && f.tag == kGraphInitializer)
        return add_message(f.tag, out, [&](std::string& to) {
          return add_tensor(f.content, f.end, {.initializer = initializer}, to);
        });
      if (large && f.tag == kGraphNode)
        return add_message(f.tag, out,
                           [&](std::string& to) { return add_node(f.content, f.end, node, to); });
      copy(f, out);
      return true;
    });
  }

  bool add_node(size_t begin, size_t end, int node, std::string& out) {
    int attributes = 0;
    return each_field(begin, end, [&](const Field& f) {
      const int attribute = f.tag == kNodeAttribute ? attributes++ : 0;
      if (f.tag != kNodeAttribute || f.end - f.content < kLeastCutBytes) {
        copy(f, out);
        return true;
      }
      return add_message(f.tag, out, [&](std::string& to) {
        return add_attribute(f.content, f.end, {.node = node, .attribute = attribute}, to);
      });
    });
  }

  bool add_attribute(size_t begin, size_t end, const SplitModel::Cut& place, std::string& out) {
    bool has_tensor = false;
    return each_field(begin, end, [&](const Field& f) {
      if (f.tag != kAttributeTensor) {
        copy(f, out);
        return true;
      }
      if (std::exchange(has_tensor, true)) return false;
      return add_message(f.tag, out,
                         [&](std::string& to) { return add_tensor(f.content, f.end, place, to); });
    });
  }

  bool add_tensor(size_t begin, size_t end, const SplitModel::Cut& place, std::string& out) {
    bool has_data = false;
    return each_field(begin, end, [&](const Field& f) {
      if (f.tag == kTensorRawData && std::exchange(has_data, true)) return false;
      if (f.tag != kTensorRawData || f.end - f.content < kLeastCutBytes) {
        copy(f, out);
        return true;
      }
      SplitModel::Cut cut = place;
      cut.offset = f.content;
      cut.bytes = f.end - f.content;
      cut_bytes_ += cut.bytes;
      split_.cuts.push_back(cut);
      return true;
    });
  }

  std::span<const std::byte> model_;
  SplitModel split_;
  uint64_t cut_bytes_ = 0;
};

}  // namespace

const ::onnx::TensorProto& SplitModel::tensor_of(const Cut& cut, const ::onnx::ModelProto& model) {
  const ::onnx::GraphProto& graph = model.graph();
  if (cut.initializer) {
    if (*cut.initializer < graph.initializer_size()) return graph.initializer(*cut.initializer);
  } else if (cut.node < graph.node_size() &&
             cut.attribute < graph.node(cut.node).attribute_size()) {
    return graph.node(cut.node).attribute(cut.attribute).t();
  }
  fail(ErrorCode::data_loss, "the model changed while it was read");
}

std::optional<SplitModel> split_model(std::span<const std::byte> model) {
  if (model.size() < kLeastCutBytes || model.size() > INT_MAX) return std::nullopt;
  return ModelSplitter(model).run();
}

std::vector<CutData> read_cuts(std::span<const SplitModel::Cut> cuts, const ReadModel& read) {
  constexpr uint64_t kBlockBytes = uint64_t{32} << 20, kPiece = uint64_t{2} << 20;
  constexpr uint64_t kAlignment = 64;
  struct Piece {
    uint64_t offset;
    std::span<std::byte> to;
  };
  std::vector<Piece> pieces;
  std::vector<CutData> data;
  data.reserve(cuts.size());
  for (size_t i = 0; i < cuts.size();) {
    const size_t first = i;
    uint64_t bytes = 0;
    for (; i < cuts.size() && (i == first || bytes + cuts[i].bytes <= kBlockBytes); i++)
      bytes = align_up(bytes + cuts[i].bytes, kAlignment);
    const std::shared_ptr<std::byte> block = allocate_block(bytes);
    std::byte* to = block.get();
    for (const SplitModel::Cut& cut : cuts.subspan(first, i - first)) {
      data.push_back({{to, cut.bytes}, block});
      for (uint64_t at = 0; at < cut.bytes; at += kPiece)
        pieces.push_back({cut.offset + at, {to + at, std::min(kPiece, cut.bytes - at)}});
      to += align_up(cut.bytes, kAlignment);
    }
  }
  std::atomic<size_t> next = 0;
  // Starting a thread takes as long as reading a piece. One CPU is left for the hash of the model,
  // which is computed at the same time and takes longer.
  constexpr size_t kPerThread = 4;
  const size_t cpus = std::max(2u, std::thread::hardware_concurrency());
  const size_t threads = std::min(cpus - 1, pieces.size() / kPerThread + 1);
  work_on_threads(threads, [&] {
    for (size_t k; (k = next.fetch_add(1, std::memory_order_relaxed)) < pieces.size();)
      read(pieces[k].offset, pieces[k].to);
  });
  return data;
}

}  // namespace poprt::onnx
