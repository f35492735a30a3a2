// The positions of items of variable length in a batch of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace poprt::runtime {

enum class PackAlgorithm : uint8_t {
  next_fit,   // the row of the previous item, or the next one
  first_fit,  // the first row with enough space
};

// A batch has `rows` rows of `length` places, which are numbered row by row. With across_rows,
// items follow each other and may continue in the next row; the algorithm has no effect then.
class PackLayout {
 public:
  struct Place {
    uint64_t offset = 0;  // place of the first element
    uint64_t row = 0;
    // The number of the item in its row, or in the batch with across_rows. The first is 1.
    uint64_t number = 0;
  };

  // `delimiter` is the number of unused places between two items of a row.
  PackLayout(uint64_t rows, uint64_t length, PackAlgorithm algorithm, bool across_rows,
             uint64_t delimiter);

  // Places the next item. Returns nothing if it does not fit after the previous ones.
  std::optional<Place> place(uint64_t items_length);
  void clear();
  uint64_t places() const { return rows_ * length_; }
  uint64_t rows() const { return rows_; }
  // The longest item that fits an empty batch.
  uint64_t longest() const { return across_rows_ ? places() : length_; }

 private:
  struct Row {
    uint64_t used = 0, items = 0;
  };
  uint64_t rows_, length_;
  PackAlgorithm algorithm_;
  bool across_rows_;
  uint64_t delimiter_;
  std::vector<Row> row_;
  uint64_t current_ = 0;
};

}  // namespace poprt::runtime
