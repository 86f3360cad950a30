#include "libtorch/composite.h"

#include "libtorch/tensor.h"

#include <vector>

namespace flor::libtorch {
namespace {

constexpr std::string_view kCoordinates = "coo", kCompressed = "compressed";
constexpr std::string_view kPerTensor = "quantized", kPerChannel = "channels";
constexpr std::string_view kInnerItem = "indices", kOuterItem = "compressed",
                           kValuesPart = "values", kScalesItem = "scales",
                           kZerosItem = "zero_points", kFormItem = "form";

bool is_compressed(at::Layout layout) {
  return layout == at::kSparseCsr || layout == at::kSparseCsc || layout == at::kSparseBsr ||
         layout == at::kSparseBsc;
}
bool has_rows(at::Layout layout) { return layout == at::kSparseCsr || layout == at::kSparseBsr; }

at::Tensor read_part(const StateReader& reader, std::string_view name, at::ScalarType type,
                     const at::Device& device) {
  const at::Tensor part =
      at::empty(reader.item(name).sizes, at::TensorOptions().dtype(type).device(device));
  read_tensor(reader, name, part);
  return part;
}

/// The integer type of which a quantized tensor consists.
at::ScalarType integers_of(at::ScalarType type) {
  if (type == at::kQInt8) return at::kChar;
  if (type == at::kQUInt8) return at::kByte;
  return at::kInt;
}

void write_quantized(const StateWriter& writer, const at::Tensor& tensor) {
  write_tensor(writer, "", tensor.int_repr());
  if (tensor.qscheme() == at::kPerTensorAffine) {
    const double scale = tensor.q_scale();
    writer.number(kScalesItem, scale);
    writer.number(kZerosItem, static_cast<std::int64_t>(tensor.q_zero_point()));
    return;
  }
  write_tensor(writer, kScalesItem, tensor.q_per_channel_scales());
  write_tensor(writer, kZerosItem, tensor.q_per_channel_zero_points());
  writer.number(kFormItem, static_cast<std::int64_t>(tensor.q_per_channel_axis()));
}

/// Reads a quantized tensor, which is made once its integers have arrived.
at::Tensor read_quantized(const StateReader& reader, const std::string& kind,
                          const LayoutEntry& entry, const at::Device& device) {
  const at::ScalarType type = scalar_type_named(entry.type);
  const std::vector<std::int64_t> sizes = parse_shape(entry.shape);
  const auto options = at::TensorOptions().dtype(type).device(device);
  at::Tensor tensor;
  if (kind == kPerTensor) {
    double scale = 0;
    std::int64_t zero = 0;
    reader.number(kScalesItem, scale);
    reader.number(kZerosItem, zero);
    tensor = at::_empty_affine_quantized(sizes, options, scale, zero);
  } else {
    std::int64_t axis = 0;
    reader.number(kFormItem, axis);
    const auto small = [&](std::string_view name, at::ScalarType part) {
      const std::string content = reader.bytes(std::string(name));
      return wrap(reinterpret_cast<const std::byte*>(content.data()), reader.item(name).sizes, part)
          .clone();
    };
    const at::ScalarType scales =
        reader.item(kScalesItem).type == ElementType::f64 ? at::kDouble : at::kFloat;
    const at::ScalarType zeros = reader.item(kZerosItem).type == ElementType::i64    ? at::kLong
                                 : reader.item(kZerosItem).type == ElementType::i32 ? at::kInt
                                                                                : at::kFloat;
    tensor = at::_empty_per_channel_affine_quantized(
        sizes, small(kScalesItem, scales).to(device), small(kZerosItem, zeros).to(device), axis,
        options);
  }
  const at::ScalarType integers = integers_of(type);
  TensorTarget target;
  target.type = element_type(integers);
  target.sizes = sizes;
  target.bytes = tensor.nbytes();
  target.assign = [tensor, sizes, integers](const std::byte* content) {
    const at::NoGradGuard no_grad;
    // The same memory seen as integers, since a quantized tensor cannot be filled by copying
    // integers.
    at::Tensor inside = at::empty({0}, tensor.options().dtype(integers));
    inside.set_(tensor.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
    inside.copy_(wrap(content, sizes, integers));
  };
  reader.tensor("", std::move(target));
  return tensor;
}

}  // namespace

bool is_composite(const at::Tensor& tensor) {
  return tensor.is_sparse() || is_compressed(tensor.layout()) || tensor.is_quantized();
}

std::string write_composite(const StateWriter& writer, const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  const auto refuse = [&] {
    throw Error("'" + writer.full_name("") + "' is a " + describe(tensor) +
                " tensor of a kind that flor does not keep: register a dense copy");
  };
  std::string kind(kCompressed);
  translated("'" + writer.full_name("") + "'", [&] {
    if (tensor.is_sparse()) {
      kind = kCoordinates;
      writer.number(kFormItem, tensor.is_coalesced());
      write_tensor(writer, kInnerItem, tensor._indices());
      write_tensor(writer, kValuesPart, tensor._values());
    } else if (is_compressed(tensor.layout())) {
      const bool rows = has_rows(tensor.layout());
      writer.number(kFormItem, static_cast<std::int8_t>(tensor.layout()));
      write_tensor(writer, kOuterItem, rows ? tensor.crow_indices() : tensor.ccol_indices());
      write_tensor(writer, kInnerItem, rows ? tensor.col_indices() : tensor.row_indices());
      write_tensor(writer, kValuesPart, tensor.values());
    } else {
      const bool whole = tensor.scalar_type() == at::kQInt8 ||
                         tensor.scalar_type() == at::kQUInt8 || tensor.scalar_type() == at::kQInt32;
      const at::QScheme scheme = tensor.qscheme();
      if (!whole || (scheme != at::kPerTensorAffine && scheme != at::kPerChannelAffine &&
                     scheme != at::kPerChannelAffineFloatQParams)) {
        refuse();
      }
      kind = scheme == at::kPerTensorAffine ? kPerTensor : kPerChannel;
      write_quantized(writer, tensor);
    }
  });
  return kind;
}

at::Tensor read_composite(const StateReader& reader, const std::string& kind,
                          const at::Tensor& present, const LayoutEntry& entry) {
  const at::NoGradGuard no_grad;
  const at::Device device = present.defined() ? present.device() : current_device(entry.device);
  if (kind == kPerTensor || kind == kPerChannel) {
    return read_quantized(reader, kind, entry, device);
  }
  const at::ScalarType type = scalar_type_named(entry.type);
  const std::vector<std::int64_t> sizes = parse_shape(entry.shape);
  const at::Tensor values = read_part(reader, kValuesPart, type, device);
  // The parts are not checked here, since they have not been filled yet.
  if (kind == kCoordinates) {
    bool coalesced = false;
    reader.number(kFormItem, coalesced);
    return at::_sparse_coo_tensor_unsafe(read_part(reader, kInnerItem, at::kLong, device), values,
                                         sizes)
        ._coalesced_(coalesced);
  }
  if (kind != kCompressed) throw Error("'" + reader.full_name("") + "' was recorded as " + kind);
  std::int8_t layout = 0;
  reader.number(kFormItem, layout);
  const at::ScalarType index =
      reader.item(kInnerItem).type == ElementType::i32 ? at::kInt : at::kLong;
  return at::_sparse_compressed_tensor_unsafe(
      read_part(reader, kOuterItem, index, device), read_part(reader, kInnerItem, index, device),
      values, sizes, values.options().layout(static_cast<at::Layout>(layout)));
}

}  // namespace flor::libtorch
