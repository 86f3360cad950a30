// Converts tensors for the core, and restores them from it.
#include "libtorch/tensor.h"

#include "libtorch/device_copy.h"
#include "libtorch/lineage.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

namespace flor::libtorch {
namespace {

constexpr std::string_view kConjugated = ".conj", kNegated = ".neg";

struct TypePair {
  at::ScalarType torch;
  ElementType flor;
};
constexpr std::array kTypes{
    TypePair{at::kBool, ElementType::boolean},     TypePair{at::kByte, ElementType::u8},
    TypePair{at::kChar, ElementType::i8},          TypePair{at::kShort, ElementType::i16},
    TypePair{at::kInt, ElementType::i32},          TypePair{at::kLong, ElementType::i64},
    TypePair{at::kHalf, ElementType::f16},         TypePair{at::kBFloat16, ElementType::bf16},
    TypePair{at::kFloat, ElementType::f32},        TypePair{at::kDouble, ElementType::f64},
    TypePair{at::kComplexFloat, ElementType::c64}, TypePair{at::kComplexDouble, ElementType::c128},
};

/// The integer type for elements whose type the store does not have, such as eight-bit floats and
/// unsigned words. The description beside the content has the name of their type.
ElementType element_type_of_size(std::size_t size) {
  switch (size) {
    case 1:
      return ElementType::u8;
    case 2:
      return ElementType::i16;
    case 4:
      return ElementType::i32;
    case 8:
      return ElementType::i64;
    default:
      return ElementType::bytes;
  }
}

bool is_plain_host_memory(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.is_contiguous() && !tensor.is_conj() &&
         !tensor.is_neg();
}

/// Keeps the tensor's memory alive, but not the tensor, to which the program may give other memory.
class VersionWatch final : public WriteWatch {
 public:
  explicit VersionWatch(const at::Tensor& tensor)
      : storage_(tensor.storage()),
        content_(storage_.data()),
        counter_(tensor.unsafeGetTensorImpl()->version_counter()) {}
  std::uint64_t version() const override {
    return storage_.data() == content_ ? counter_.current_version() : kGone;
  }

 private:
  static constexpr std::uint64_t kGone = UINT64_MAX;  // no version counter gets that far

  c10::Storage storage_;
  const void* content_;
  c10::VariableVersion counter_;
};

/// Null if a watch is not possible: libtorch does not own the memory, or does not count writes.
std::shared_ptr<WriteWatch> watch(const at::Tensor& tensor) {
  if (tensor.is_inference() || !tensor.storage().data_ptr().get_context()) return nullptr;
  return std::make_shared<VersionWatch>(tensor);
}

TensorSource source_of(const at::Tensor& tensor, Writers writers) {
  TensorSource source;
  source.type = element_type(tensor.scalar_type());
  source.sizes = tensor.sizes().vec();
  source.bytes = tensor.nbytes();
  if (is_plain_host_memory(tensor)) {
    source.host = static_cast<const std::byte*>(tensor.data_ptr());
    if (writers == Writers::program) source.watch = watch(tensor);
  } else if (tensor.device().is_cpu()) {
    source.copy = [tensor](std::byte* into) -> std::shared_ptr<PendingCopy> {
      const at::NoGradGuard no_grad;
      wrap(into, tensor.sizes(), tensor.scalar_type()).copy_(tensor);
      return nullptr;
    };
  } else {
    source.device = true;
    source.copy = [tensor](std::byte* into) { return copy_from_device(tensor, into); };
    if (is_worth_staging(tensor)) {
      source.stage = [tensor](const auto& last) { return stage_on_device(tensor, last); };
    }
  }
  return source;
}

/// The type, with marks for views that negate or conjugate when they are read: their bits are not
/// their values.
std::string placed_type(const at::Tensor& tensor) {
  std::string type = type_name(tensor.scalar_type()) + shape_text(tensor.sizes());
  if (tensor.is_conj()) type += kConjugated;
  if (tensor.is_neg()) type += kNegated;
  return type;
}

const at::Tensor& held_by(const std::shared_ptr<void>& handle) {
  return *static_cast<const at::Tensor*>(handle.get());
}

/// Makes the version counter count writes to either of the two tensors.
void share_versions(const at::Tensor& tensor, const at::Tensor& other) {
  if (tensor.is_inference() || other.is_inference()) return;
  tensor.unsafeGetTensorImpl()->set_version_counter(other.unsafeGetTensorImpl()->version_counter());
}

/// Remembers the tensor for the next one that shares memory with it.
void remember(const Placement& placement, const at::Tensor& tensor) {
  if (!*placement.block) *placement.block = std::make_shared<at::Tensor>(tensor);
  if (!*placement.object) *placement.object = std::make_shared<at::Tensor>(tensor);
}

/// A tensor in the shared block, which is made if there is none yet.
at::Tensor tensor_in_block(const Placement& placement, at::IntArrayRef sizes,
                           const at::TensorOptions& options) {
  if (!*placement.block) {
    const auto bytes = static_cast<std::int64_t>(placement.block_bytes);
    *placement.block = std::make_shared<at::Tensor>(at::empty({bytes}, options.dtype(at::kByte)));
  }
  const at::Tensor& block = held_by(*placement.block);
  at::Tensor tensor = at::empty({0}, options);
  const auto offset = static_cast<std::int64_t>(placement.offset / tensor.element_size());
  tensor.set_(block.storage(), offset, sizes, placement.strides);
  if (placement.type.find(kConjugated) != std::string::npos) tensor._set_conj(true);
  if (placement.type.find(kNegated) != std::string::npos) tensor._set_neg(true);
  share_versions(tensor, block);
  return tensor;
}

/// The tensor of which another piece is a view. It may itself not have been restored yet.
at::Tensor base_in_block(const Placement& base, const at::TensorOptions& options) {
  if (base.in_place) return held_by(*base.object);
  const std::size_t shape = base.type.find('[');
  const at::Tensor memory =
      tensor_in_block(base, parse_shape(base.type.substr(shape)),
                      options.dtype(scalar_type_named(base.type.substr(0, shape))));
  if (!*base.object) {
    remember(base, memory);
  } else if (held_by(*base.object).data_ptr() != memory.data_ptr()) {
    held_by(*base.object).set_data(memory);  // a parameter, which will be restored later
  }
  return held_by(*base.object);
}

at::Tensor view_in_block(const Placement& placement, at::IntArrayRef sizes,
                         const at::TensorOptions& options) {
  const at::Tensor base = base_in_block(*placement.base, options);
  const auto item = static_cast<std::uint64_t>(base.element_size());
  return view_of(base, placement.standing, sizes, placement.strides,
                 static_cast<std::int64_t>(placement.offset / item));
}

/// Keeps one element of each dimension whose elements are all in one place, since libtorch does not
/// copy into such a dimension.
at::Tensor without_repetition_like(const at::Tensor& tensor, at::Tensor content) {
  for (std::int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.stride(i) == 0 && tensor.size(i) > 1) content = content.narrow(i, 0, 1);
  }
  return content;
}
at::Tensor without_repetition(const at::Tensor& tensor) {
  return without_repetition_like(tensor, tensor);
}

}  // namespace

void translated(std::string_view what, const std::function<void()>& body) {
  try {
    body();
  } catch (const c10::Error& error) {
    std::string message = error.what_without_backtrace();
    message.erase(std::min(message.find('\n'), message.size()));
    throw Error(std::string(what) + ": " + message);
  }
}

ElementType element_type(at::ScalarType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.torch == type) return pair.flor;
  }
  if (c10::isQIntType(type)) {
    throw Error("quantized tensors (" + type_name(type) + ") cannot be kept: dequantize them");
  }
  return element_type_of_size(c10::elementSize(type));
}

at::ScalarType scalar_type(ElementType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.flor == type) return pair.torch;
  }
  throw Error("a recorded tensor has an element type that libtorch does not have");
}

std::string type_name(at::ScalarType type) { return c10::toString(type); }

at::ScalarType scalar_type_named(const std::string& name) {
  for (int i = 0; i < static_cast<int>(at::ScalarType::NumOptions); ++i) {
    const auto type = static_cast<at::ScalarType>(i);
    if (type_name(type) == name) return type;
  }
  throw Error("a recorded tensor has the element type " + name +
              ", which this version of libtorch does not have");
}

std::string shape_text(at::IntArrayRef sizes) {
  std::string text = "[";
  for (const std::int64_t size : sizes) {
    if (text.size() > 1) text += ',';
    text += std::to_string(size);
  }
  return text + ']';
}

std::vector<std::int64_t> parse_shape(const std::string& text) {
  std::vector<std::int64_t> sizes;
  std::istringstream in(text.substr(1));
  for (std::string size; std::getline(in, size, ',');) {
    if (size != "]") sizes.push_back(std::stoll(size));
  }
  return sizes;
}

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return type_name(tensor.scalar_type()) + ' ' + shape_text(tensor.sizes());
}

bool has_content(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && !tensor.is_meta() && !tensor.is_quantized();
}

at::Tensor wrap(const std::byte* content, at::IntArrayRef sizes, at::ScalarType type) {
  return at::from_blob(const_cast<std::byte*>(content), sizes, at::TensorOptions().dtype(type));
}

void write_tensor(const StateWriter& writer, std::string_view name, const at::Tensor& tensor,
                  Writers writers) {
  if (!has_content(tensor)) {
    throw Error("'" + writer.full_name(name) +
                "' is a sparse, quantized or meta tensor: flor keeps dense tensors only");
  }
  translated("'" + writer.full_name(name) + "'",
             [&] { writer.tensor(name, source_of(tensor, writers)); });
}

void place_tensor(const StateWriter& writer, std::string_view name, const at::Tensor& tensor,
                  Held held) {
  if (!has_content(tensor) || tensor.numel() == 0) return;
  const auto item_bytes = static_cast<std::uint64_t>(tensor.element_size());
  std::uint64_t reach = 1;
  for (std::int64_t i = 0; i < tensor.dim(); ++i) {
    reach += static_cast<std::uint64_t>((tensor.size(i) - 1) * tensor.stride(i));
  }
  Place place;
  place.type = placed_type(tensor);
  place.block = tensor.storage().data();
  place.block_bytes = tensor.storage().nbytes();
  place.offset = static_cast<std::uint64_t>(tensor.storage_offset()) * item_bytes;
  place.bytes = reach * item_bytes;
  place.strides = tensor.strides().vec();
  place.object = tensor.unsafeGetTensorImpl();
  place.firmness = static_cast<int>(held);
  place.lineage = lineage_of(tensor);
  place.handle = std::make_shared<at::Tensor>(tensor);
  writer.place(name, place);
}

void read_tensor(const StateReader& reader, std::string_view name, const at::Tensor& tensor,
                 bool staged) {
  TensorTarget target;
  target.type = element_type(tensor.scalar_type());
  target.sizes = tensor.sizes().vec();
  target.bytes = tensor.nbytes();
  if (is_plain_host_memory(tensor) && !staged) {
    target.host = static_cast<std::byte*>(tensor.data_ptr());
    target.keep_alive = std::make_shared<at::Tensor>(tensor);
    if (!tensor.is_inference()) tensor.unsafeGetTensorImpl()->bump_version();
  } else {
    target.assign = [tensor, full_name = reader.full_name(name)](const std::byte* content) {
      const at::NoGradGuard no_grad;
      translated("'" + full_name + "'", [&] {
        const at::Tensor source = wrap(content, tensor.sizes(), tensor.scalar_type());
        without_repetition(tensor.detach()).copy_(without_repetition_like(tensor, source));
      });
    };
  }
  reader.tensor(name, std::move(target));
}

void read_leaf(const StateReader& reader, std::string_view name, const at::Tensor& leaf) {
  const Placement* placement = reader.placement(name);
  const bool shares = placement && placement->block;
  if (placement && !placement->in_place) {
    const at::NoGradGuard no_grad;
    translated("'" + reader.full_name(name) + "'", [&] {
      leaf.set_data(shares ? tensor_in_block(*placement, leaf.sizes(), leaf.options())
                           : at::empty_like(leaf, at::MemoryFormat::Preserve));
      if (shares) share_versions(leaf, held_by(*placement->block));
    });
  }
  if (shares) remember(*placement, leaf);
  read_tensor(reader, name, leaf, shares);
}

at::Tensor choose_tensor(const StateReader& reader, std::string_view name,
                         const at::Tensor& present, bool fits,
                         const std::function<at::Tensor()>& make) {
  const Placement* placement = reader.placement(name);
  const bool shares = placement && placement->block;
  at::Tensor tensor = fits && (!placement || placement->in_place) ? present : at::Tensor();
  translated("'" + reader.full_name(name) + "'", [&] {
    if (!tensor.defined() && shares && *placement->object) {
      // The memory may belong to a parameter that is restored later, and not be there yet.
      tensor = held_by(*placement->object);
      return;
    }
    const at::NoGradGuard no_grad;
    if (!tensor.defined()) {
      tensor = make();
      if (shares && placement->base) {
        tensor = view_in_block(*placement, tensor.sizes(), tensor.options());
      } else if (shares) {
        tensor = tensor_in_block(*placement, tensor.sizes(), tensor.options());
      }
    }
    if (shares) remember(*placement, tensor);
  });
  return tensor;
}

at::Tensor read_handle(const StateReader& reader, std::string_view name, const at::Tensor& present,
                       bool fits, const std::function<at::Tensor()>& make) {
  at::Tensor tensor = choose_tensor(reader, name, present, fits, make);
  const Placement* placement = reader.placement(name);
  read_tensor(reader, name, tensor, placement && placement->block);
  return tensor;
}

std::string strides_text(const at::Tensor& tensor) {
  return tensor.is_contiguous() ? "-" : shape_text(tensor.strides());
}

at::Tensor empty_with(at::IntArrayRef sizes, const std::string& strides,
                      const at::TensorOptions& options) {
  if (strides == "-") return at::empty(sizes, options);
  return at::empty_strided(sizes, parse_shape(strides), options);
}

at::Tensor empty_as_recorded(const store::Item& item, const at::Tensor& like, at::Device device) {
  const bool same_type = like.defined() && element_type(like.scalar_type()) == item.type;
  const at::ScalarType type = same_type ? like.scalar_type() : scalar_type(item.type);
  const auto options = at::TensorOptions().dtype(type).device(device);
  // The new tensor has the memory layout of the parameter, as the optimizer would have made it.
  if (like.defined() && like.sizes() == at::IntArrayRef(item.sizes)) {
    return at::empty_like(like, options, at::MemoryFormat::Preserve);
  }
  return at::empty(item.sizes, options);
}

at::Device current_device(const std::string& type) {
  const at::Device device(type);
  if (device.is_cpu()) return device;
  if (!c10::impl::hasDeviceGuardImpl(device.type())) {
    throw Error("a tensor was recorded on the device '" + type +
                "', which this libtorch does not support");
  }
  return c10::impl::VirtualGuardImpl(device.type()).getDevice();
}

}  // namespace flor::libtorch
