// Tensors to and from the core.
#include "tensor.h"

#include "device_copy.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

namespace flor::libtorch {
namespace {

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

/// Types that the store has no name for (eight-bit floats, unsigned words) are kept as integers of
/// their size; which they are is in the description that lies beside the content.
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

/// Holds the memory, not the tensor, whose memory the program may replace.
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
  static constexpr std::uint64_t kGone = UINT64_MAX;  // no counter gets that far

  c10::Storage storage_;
  const void* content_;
  c10::VariableVersion counter_;
};

/// Null for memory that libtorch does not own, since nothing keeps that.
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

void read_tensor(const StateReader& reader, std::string_view name, const at::Tensor& tensor) {
  TensorTarget target;
  target.type = element_type(tensor.scalar_type());
  target.sizes = tensor.sizes().vec();
  target.bytes = tensor.nbytes();
  if (is_plain_host_memory(tensor)) {
    target.host = static_cast<std::byte*>(tensor.data_ptr());
    target.keep_alive = std::make_shared<at::Tensor>(tensor);
    if (!tensor.is_inference()) tensor.unsafeGetTensorImpl()->bump_version();
  } else {
    target.assign = [tensor, full_name = reader.full_name(name)](const std::byte* content) {
      const at::NoGradGuard no_grad;
      translated("'" + full_name + "'",
                 [&] { tensor.copy_(wrap(content, tensor.sizes(), tensor.scalar_type())); });
    };
  }
  reader.tensor(name, std::move(target));
}

at::Tensor empty_as_recorded(const store::Item& item, const at::Tensor& like, at::Device device) {
  const bool same_type = like.defined() && element_type(like.scalar_type()) == item.type;
  const at::ScalarType type = same_type ? like.scalar_type() : scalar_type(item.type);
  const auto options = at::TensorOptions().dtype(type).device(device);
  // In the same memory layout as the parameter, as the optimizer would have made it.
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
