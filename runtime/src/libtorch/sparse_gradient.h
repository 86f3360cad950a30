// Sparse gradients, such as those of embeddings. They must be restored as sparse ones: libtorch
// adds to them, and optimizers use them, in another order than with dense ones.
#pragma once

#include <flor/state.h>

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

namespace flor::libtorch {

/// The form of a sparse gradient without its content. 0 dimensions stand for a dense gradient.
struct SparseForm {
  std::int64_t dimensions = 0;  ///< number of sparse dimensions, which are the first ones
  bool coalesced = false;

  explicit operator bool() const { return dimensions > 0; }
  static SparseForm of(const at::Tensor& gradient);
};

/// For example "sparse1u-zero": one sparse dimension, uncoalesced, then the word "zero". For a
/// dense gradient only the word.
std::string described(const SparseForm& form, std::string_view word);
/// Returns the form from the beginning of a text that `described` made, and leaves only the word in
/// it.
SparseForm take_form(std::string& word);

/// Writes the gradient as two items, the indices and the values.
void write_sparse(const StateWriter& writer, const std::string& name, const at::Tensor& gradient);

/// Makes a gradient from what `write_sparse` wrote. It is filled before the restore as a whole
/// returns.
at::Tensor read_sparse(const StateReader& reader, const std::string& name, const at::Tensor& leaf,
                       const SparseForm& form);

/// Makes a sparse gradient without elements.
at::Tensor empty_sparse(const at::Tensor& leaf, const SparseForm& form);

}  // namespace flor::libtorch
