#include "libtorch/sparse_gradient.h"

#include "libtorch/tensor.h"

#include <vector>

namespace flor::libtorch {
namespace {

constexpr std::string_view kSparse = "sparse";
constexpr std::string_view kIndices = "/indices", kValues = "/values";

std::string part(const std::string& name, std::string_view which) {
  return name + std::string(which);
}

at::Tensor put_together(const at::Tensor& leaf, const SparseForm& form, const at::Tensor& indices,
                        const at::Tensor& values) {
  // The indices are not checked, since they may not have been filled yet.
  return at::_sparse_coo_tensor_unsafe(indices, values, leaf.sizes())._coalesced_(form.coalesced);
}

}  // namespace

SparseForm SparseForm::of(const at::Tensor& gradient) {
  if (gradient.layout() != at::kSparse) return {};
  return {.dimensions = gradient.sparse_dim(), .coalesced = gradient.is_coalesced()};
}

std::string described(const SparseForm& form, std::string_view word) {
  if (!form) return std::string(word);
  return std::string(kSparse) + std::to_string(form.dimensions) + (form.coalesced ? "c-" : "u-") +
         std::string(word);
}

SparseForm take_form(std::string& word) {
  const std::size_t dash = word.find('-');
  if (!word.starts_with(kSparse) || dash == word.npos) return {};
  const std::string form = word.substr(kSparse.size(), dash - kSparse.size());
  word.erase(0, dash + 1);
  return {.dimensions = std::stoll(form), .coalesced = form.ends_with('c')};
}

void write_sparse(const StateWriter& writer, const std::string& name, const at::Tensor& gradient) {
  write_tensor(writer, part(name, kIndices), gradient._indices());
  write_tensor(writer, part(name, kValues), gradient._values());
}

at::Tensor read_sparse(const StateReader& reader, const std::string& name, const at::Tensor& leaf,
                       const SparseForm& form) {
  const std::string indices_item = part(name, kIndices), values_item = part(name, kValues);
  const at::Tensor indices =
      at::empty(reader.item(indices_item).sizes, leaf.options().dtype(at::kLong));
  const at::Tensor values = at::empty(reader.item(values_item).sizes, leaf.options());
  read_tensor(reader, indices_item, indices);
  read_tensor(reader, values_item, values);
  return put_together(leaf, form, indices, values);
}

at::Tensor empty_sparse(const at::Tensor& leaf, const SparseForm& form) {
  std::vector<std::int64_t> sizes{0};
  for (std::int64_t i = form.dimensions; i < leaf.dim(); ++i) sizes.push_back(leaf.size(i));
  return put_together(leaf, form,
                      at::zeros({form.dimensions, 0}, leaf.options().dtype(at::kLong)),
                      at::zeros(sizes, leaf.options()));
}

}  // namespace flor::libtorch
