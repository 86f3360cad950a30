#include "libtorch/lineage.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>

namespace flor::libtorch {
namespace {

namespace autograd = torch::autograd;

bool was_untracked(const autograd::DifferentiableViewMeta& view) {
  const autograd::CreationMeta made = view.get_creation_meta();
  return made == autograd::CreationMeta::NO_GRAD_MODE ||
         made == autograd::CreationMeta::INFERENCE_MODE;
}

/// Whether the view shows elements of `base` unchanged. Only such a view can be made again from
/// strides.
bool shows_elements_of(const at::Tensor& base, const at::Tensor& view) {
  return base.scalar_type() == view.scalar_type() && !base.is_conj() && !view.is_conj() &&
         !base.is_neg() && !view.is_neg();
}

}  // namespace

bool trains(const at::Tensor& tensor) {
  const autograd::AutogradMeta* meta = autograd::impl::get_autograd_meta(tensor);
  return meta && meta->requires_grad_;
}

Lineage lineage_of(const at::Tensor& tensor) {
  Lineage lineage;
  if (!tensor.is_leaf()) lineage.standing = Standing::computed;
  const autograd::DifferentiableViewMeta* view = autograd::impl::get_view_autograd_meta(tensor);
  if (!view || !view->has_bw_view()) return lineage;
  const at::Tensor& base = view->get_backward_view().base_;
  lineage.base_trains = base.requires_grad();
  lineage.base_is_leaf = base.is_leaf();
  lineage.standing = !tensor.is_leaf()     ? Standing::tracked_view
                     : was_untracked(*view) ? Standing::untracked_view
                                            : Standing::view;
  if (shows_elements_of(base, tensor)) lineage.base = base.unsafeGetTensorImpl();
  return lineage;
}

at::Tensor view_of(const at::Tensor& base, Standing standing, at::IntArrayRef sizes,
                   at::IntArrayRef strides, std::int64_t offset) {
  const at::AutoGradMode tracking(standing != Standing::untracked_view);
  const bool trained = trains(base);
  const bool passes_on = standing == Standing::tracked_view;
  const bool changes = base.is_leaf() && trained != passes_on;
  if (changes) base.requires_grad_(passes_on);
  const at::Tensor view = base.as_strided(sizes, strides, offset);
  if (changes) base.requires_grad_(trained);
  return view;
}

void take_part(const at::Tensor& tensor, bool trained, bool computed, const std::string& name) {
  if (!tensor.is_leaf()) return;  // a view, or a tensor that several names share
  if (trains(tensor) != trained) tensor.requires_grad_(trained);
  if (!computed) return;
  tensor.mutable_grad().reset();
  const auto node = std::make_shared<autograd::Error>(
      "flor: " + name +
      " was computed before the checkpoint that was restored, which does not keep from what: "
      "compute it in the loop that calls backward(), or register it detached");
  node->add_input_metadata(tensor);
  autograd::impl::set_gradient_edge(tensor, {node, 0});
}

}  // namespace flor::libtorch
