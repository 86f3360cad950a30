// Sparse gradients, as embeddings have them. They must come back as sparse ones, since libtorch
// adds to those, and optimizers use them, in another order than dense ones.
#pragma once

#include <flor/state.h>

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

namespace flor::libtorch {

/// Describes a sparse gradient apart from its content; none (0) means a dense one.
struct SparseForm {
  std::int64_t dimensions = 0;  ///< those that are sparse; the first ones
  bool coalesced = false;

  explicit operator bool() const { return dimensions > 0; }
  static SparseForm of(const at::Tensor& gradient);
};

/// "sparse1u-zero" for one sparse dimension, uncoalesced, and the word "zero"; the word alone for a
/// dense gradient.
std::string described(const SparseForm& form, std::string_view word);
/// Returns the form at the start of a text made by `described`, and leaves only the word in it.
SparseForm take_form(std::string& word);

/// As two items, of indices and of values.
void write_sparse(const StateWriter& writer, const std::string& name, const at::Tensor& gradient);

/// With the content that was written; filled before the restore as a whole returns.
at::Tensor read_sparse(const StateReader& reader, const std::string& name, const at::Tensor& leaf,
                       const SparseForm& form);

/// With no element.
at::Tensor empty_sparse(const at::Tensor& leaf, const SparseForm& form);

}  // namespace flor::libtorch
