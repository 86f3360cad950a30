// Tensors as the core sees them: type, shape and content, from any device and in any layout.
#pragma once

#include <flor/state.h>

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <string_view>

namespace flor::libtorch {

/// Runs `body` and turns libtorch's exceptions, which carry a backtrace, into a flor::Error of one
/// line that begins with `what`.
void translated(std::string_view what, const std::function<void()>& body);

/// How elements of this type are stored. Throws for quantized types, whose content is not all.
ElementType element_type(at::ScalarType type);
at::ScalarType scalar_type(ElementType type);
/// "Float", and back.
std::string type_name(at::ScalarType type);
at::ScalarType scalar_type_named(const std::string& name);

std::string shape_text(at::IntArrayRef sizes);                    ///< "[64,32]"
std::string describe(const at::Tensor& tensor);                   ///< "Float [64,32]"
bool has_content(const at::Tensor& tensor);                       ///< strided and not on `meta`
at::Tensor wrap(const std::byte* content, at::IntArrayRef sizes,  ///< refers to `content`
                at::ScalarType type);

/// Who may write a tensor: only code that the user can put a flor::fence() before, or computing,
/// too, as with the running statistics of batch norm and with gradients.
enum class Writers { program, computing };

/// `tensor` must be defined and dense.
void write_tensor(const StateWriter& writer, std::string_view name, const at::Tensor& tensor,
                  Writers writers = Writers::computing);

/// Fills `tensor` in place, whose shape and type must be the recorded ones, and tells autograd that
/// it has changed.
void read_tensor(const StateReader& reader, std::string_view name, const at::Tensor& tensor);

/// A tensor like the recorded one: the element type is that of `like` if it may be.
at::Tensor empty_as_recorded(const store::Item& item, const at::Tensor& like, at::Device device);

/// The device of that type ("cpu", "cuda") that is current.
at::Device current_device(const std::string& type);

}  // namespace flor::libtorch
