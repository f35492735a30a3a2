// Describes the axes of a model whose rows several requests may share.
//
// With dynamic batching a runner puts the rows of several requests into one batch, and fills the
// rest with padding. This is correct only if each row of a result is computed from the same row of
// the inputs. The compiler proves this property (compiler/batch_rows.h) and records the outcome in
// the executable, where the runner reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace poprt::program {

// Name of the opaque blob with the outcome for each axis that has more than one row.
inline constexpr const char* kBatchRows = "poprt.rows";

struct BatchRows {
  uint32_t axis = 0;
  int64_t rows = 0;                 // of a batch
  std::vector<std::string> inputs;  // inputs with these rows; each other input is shared by all
  // The reason why rows of several requests change each other's results; empty if they do not.
  std::string mixed;
};

// Convert the axes to the text of the blob kBatchRows, and back. read_batch_rows() throws data_loss
// if the text is malformed.
std::string note_of_batch_rows(const std::vector<BatchRows>& axes);
std::vector<BatchRows> read_batch_rows(std::string_view note);

}  // namespace poprt::program
