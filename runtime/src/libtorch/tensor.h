// Tensors as the core sees them: type, shape and content, from any device and in any layout.
#pragma once

#include <flor/state.h>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

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
std::vector<std::int64_t> parse_shape(const std::string& text);   ///< of such a text
std::string describe(const at::Tensor& tensor);                   ///< "Float [64,32]"
bool has_content(const at::Tensor& tensor);                       ///< strided and not on `meta`
at::Tensor wrap(const std::byte* content, at::IntArrayRef sizes,  ///< refers to `content`
                at::ScalarType type);

/// The code that may write a tensor: only code that the user can put a flor::fence() before, or
/// computations, too, as with the running statistics of batch norm and with gradients.
enum class Writers { program, computing };

/// `tensor` must be defined and dense.
void write_tensor(const StateWriter& writer, std::string_view name, const at::Tensor& tensor,
                  Writers writers = Writers::computing);

/// How a tensor is held: made anew by each restore; by a handle that can be given another tensor;
/// by one that others (an optimizer) refer to as well; as a parameter or buffer, which stays the
/// same object. See Place::firmness.
enum class Held : int { anew = -1, by_handle = 0, as_trained = 1, as_leaf = 2 };

/// Says where a dense tensor lies, so that it shares memory with others after a restore if it does.
void place_tensor(const StateWriter& writer, std::string_view name, const at::Tensor& tensor,
                  Held held);

/// Fills `tensor` in place, whose shape and type must be the recorded ones, and tells autograd that
/// it has changed. `staged`: not before all others have their content, and by copying, as must be
/// with memory that is restored under several names.
void read_tensor(const StateReader& reader, std::string_view name, const at::Tensor& tensor,
                 bool staged = false);

/// The same for a tensor that was placed as a leaf. It stays the same object, and gets other memory
/// where that is how it shared when this was recorded.
void read_leaf(const StateReader& reader, std::string_view name, const at::Tensor& leaf);

/// The same for a handle: returns the tensor that it is to have. This is `present`, if that `fits`
/// and is not to share otherwise; else a tensor of those that it shares with; else the result of
/// `make`, which has the recorded shape and type.
at::Tensor read_handle(const StateReader& reader, std::string_view name, const at::Tensor& present,
                       bool fits, const std::function<at::Tensor()>& make);
/// The same without filling it.
at::Tensor choose_tensor(const StateReader& reader, std::string_view name,
                         const at::Tensor& present, bool fits,
                         const std::function<at::Tensor()>& make);

/// A tensor like the recorded one: the element type is that of `like` if it may be.
at::Tensor empty_as_recorded(const store::Item& item, const at::Tensor& like, at::Device device);

/// "[3,1]" where the elements do not lie in the order of the dimensions without gaps, else "-"; and
/// an empty tensor like that.
std::string strides_text(const at::Tensor& tensor);
at::Tensor empty_with(at::IntArrayRef sizes, const std::string& strides,
                      const at::TensorOptions& options);

/// The device of that type ("cpu", "cuda") that is current.
at::Device current_device(const std::string& type);

}  // namespace flor::libtorch
