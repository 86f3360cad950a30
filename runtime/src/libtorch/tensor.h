// Tensors as the core handles them: type, shape and content, from any device and in any layout.
#pragma once

#include <flor/state.h>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::libtorch {

/// Runs `body`, and turns an exception of libtorch, which carries a backtrace, into a flor::Error
/// with one line that begins with `what`.
void translated(std::string_view what, const std::function<void()>& body);

/// The type in which elements are stored. Throws for quantized types, which consist of more than
/// elements.
ElementType element_type(at::ScalarType type);
at::ScalarType scalar_type(ElementType type);
/// The name of a type, such as "Float". `scalar_type_named` is the reverse.
std::string type_name(at::ScalarType type);
at::ScalarType scalar_type_named(const std::string& name);

std::string shape_text(at::IntArrayRef sizes);                    ///< e.g. "[64,32]"
std::vector<std::int64_t> parse_shape(const std::string& text);   ///< the reverse of shape_text
std::string describe(const at::Tensor& tensor);                   ///< e.g. "Float [64,32]"
bool has_content(const at::Tensor& tensor);  ///< false: not strided, or on `meta`
/// A tensor that refers to `content`.
at::Tensor wrap(const std::byte* content, at::IntArrayRef sizes,
                at::ScalarType type);

/// Which code may write a tensor: only code before which the user can put a flor::fence(), or also
/// computations, as with gradients and the running statistics of batch norm.
enum class Writers { program, computing };

/// `tensor` must be defined and dense.
void write_tensor(const StateWriter& writer, std::string_view name, const at::Tensor& tensor,
                  Writers writers = Writers::computing);

/// How a tensor is held: each restore makes it anew; by a handle that can refer to another tensor;
/// by a handle when others (an optimizer) refer to the tensor, too; as a parameter or buffer, which
/// stays the same object. See Place::firmness.
enum class Held : int { anew = -1, by_handle = 0, as_trained = 1, as_leaf = 2 };

/// Tells where a dense tensor lies in memory, so that a restored tensor shares memory exactly if
/// the recorded one did.
void place_tensor(const StateWriter& writer, std::string_view name, const at::Tensor& tensor,
                  Held held);

/// Fills `tensor` in place. Its shape and type must be the recorded ones. Tells autograd that the
/// tensor has changed. `staged`: copies the content only after that of all tensors has arrived, as
/// is needed for memory that is restored under several names.
void read_tensor(const StateReader& reader, std::string_view name, const at::Tensor& tensor,
                 bool staged = false);

/// Fills a tensor that was placed as a leaf (Held::as_leaf). It stays the same object, but gets
/// other memory if it shared memory differently when it was recorded.
void read_leaf(const StateReader& reader, std::string_view name, const at::Tensor& leaf);

/// Fills the tensor of a handle, and returns the tensor that the handle should refer to. This is
/// `present` if it `fits` and shares memory as recorded; else a tensor made from those that it
/// shares with; else the result of `make`, which has the recorded shape and type.
at::Tensor read_handle(const StateReader& reader, std::string_view name, const at::Tensor& present,
                       bool fits, const std::function<at::Tensor()>& make);
/// Chooses the tensor as read_handle does, without filling it.
at::Tensor choose_tensor(const StateReader& reader, std::string_view name,
                         const at::Tensor& present, bool fits,
                         const std::function<at::Tensor()>& make);

/// Makes a tensor with the recorded shape. Its element type is that of `like` if that is possible.
at::Tensor empty_as_recorded(const store::Item& item, const at::Tensor& like, at::Device device);

/// "[3,1]", or "-" if the elements lie in row-major order without gaps. `empty_with` makes an empty
/// tensor from such a text.
std::string strides_text(const at::Tensor& tensor);
at::Tensor empty_with(at::IntArrayRef sizes, const std::string& strides,
                      const at::TensorOptions& options);

/// The current device of a type ("cpu", "cuda").
at::Device current_device(const std::string& type);

}  // namespace flor::libtorch
