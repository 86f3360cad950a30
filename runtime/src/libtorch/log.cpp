// Logging of tensors. Without a session nothing is computed, and no device is waited for.
#include "libtorch/tensor.h"

#include <flor/adapter.h>
#include <flor/torch.h>

#include <cstddef>
#include <span>
#include <utility>

namespace flor {
namespace {

/// Runs `body` and reports its exceptions, of libtorch or of checks of arguments, since logging
/// must not stop a training.
template <typename Body>
void reporting(std::string_view name, Body&& body) noexcept {
  if (!detail::logging()) return;
  try {
    const at::NoGradGuard no_grad;
    libtorch::translated("it cannot be logged", body);
  } catch (const std::exception& error) {
    detail::log_refused(name, error.what());
  }
}

/// The tensor in host memory, row-major.
at::Tensor on_host(const at::Tensor& tensor) {
  if (!tensor.defined()) throw Error("it is an undefined tensor");
  if (!libtorch::has_content(tensor)) {
    throw Error("it is a sparse, quantized or meta tensor: flor logs dense tensors only");
  }
  return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
}

std::span<const double> doubles(const at::Tensor& tensor) {
  return {tensor.data_ptr<double>(), static_cast<std::size_t>(tensor.numel())};
}

/// The elements as doubles. Throws for complex numbers, which have no order and no single value.
at::Tensor as_doubles(const at::Tensor& tensor) {
  if (tensor.defined() && tensor.is_complex()) throw Error("it is a tensor of complex numbers");
  return on_host(tensor).to(at::kDouble);
}

void log_scalar(std::string_view name, const at::Tensor& value) {
  if (value.defined() && value.numel() != 1) {
    throw Error("it is a tensor of shape " + libtorch::shape_text(value.sizes()) +
                ", flor::log takes one element: use flor::log_tensor or flor::log_histogram");
  }
  if (value.defined() && value.is_complex()) throw Error("it is a complex number");
  const at::Tensor host = on_host(value);
  if (host.scalar_type() == at::kBool) {
    detail::log_boolean(name, host.item<bool>());
  } else if (at::isIntegralType(host.scalar_type(), /*includeBool=*/false)) {
    detail::log_integer(name, host.item<std::int64_t>());
  } else {
    detail::log_real(name, host.item<double>());
  }
}

/// Turns [channels, height, width] of bytes, or of numbers from 0 to 1, into bytes [height, width,
/// channels].
at::Tensor as_pixels(const at::Tensor& image) {
  if (!image.defined()) throw Error("it is an undefined tensor");
  const at::Tensor planes = image.dim() == 2 ? image.unsqueeze(0) : image;
  const std::int64_t channels = planes.dim() == 3 ? planes.size(0) : 0;
  if (channels != 1 && channels != 3 && channels != 4) {
    throw Error("it is a tensor of shape " + libtorch::shape_text(image.sizes()) +
                ", an image is [channels, height, width] with 1, 3 or 4 channels, or "
                "[height, width]");
  }
  const at::Tensor host = on_host(planes.permute({1, 2, 0}));
  if (host.scalar_type() == at::kByte) return host;
  if (!host.is_floating_point()) {
    throw Error("it is an image of type " + libtorch::type_name(host.scalar_type()) +
                ": use bytes, or floating point from 0 to 1");
  }
  return host.to(at::kFloat).clamp(0, 1).mul(255).round().to(at::kByte);
}

}  // namespace

const at::Tensor& log(std::string_view name, const at::Tensor& value) {
  reporting(name, [&] { log_scalar(name, value); });
  return value;
}
at::Tensor log(std::string_view name, at::Tensor&& value) {
  reporting(name, [&] { log_scalar(name, value); });
  return std::move(value);
}

void log_tensor(std::string_view name, const at::Tensor& value) {
  reporting(name, [&] {
    const at::Tensor host = on_host(value);
    const store::Item item{.name = std::string(name),
                           .type = libtorch::element_type(host.scalar_type()),
                           .sizes = host.sizes().vec(),
                           .bytes = host.nbytes()};
    detail::log_content(name, false, item,
                        {static_cast<const std::byte*>(host.data_ptr()), host.nbytes()});
  });
}

void log_histogram(std::string_view name, const at::Tensor& values, int bins) {
  reporting(name, [&] {
    const at::Tensor host = as_doubles(values);
    detail::log_histogram(name, doubles(host), bins);
  });
}

void log_image(std::string_view name, const at::Tensor& image) {
  reporting(name, [&] {
    const at::Tensor pixels = as_pixels(image);
    log_image(name,
              std::span<const std::uint8_t>(pixels.data_ptr<std::uint8_t>(),
                                            static_cast<std::size_t>(pixels.numel())),
              pixels.size(0), pixels.size(1), pixels.size(2));
  });
}

void log_table(std::string_view name, const at::Tensor& table, std::vector<std::string> columns) {
  reporting(name, [&] {
    const at::Tensor host = as_doubles(table);
    if (host.dim() != 2 ||
        (!columns.empty() && static_cast<std::int64_t>(columns.size()) != host.size(1))) {
      throw Error("it is a tensor of shape " + libtorch::shape_text(table.sizes()) + " with " +
                  std::to_string(columns.size()) +
                  " column names: a table is [rows, columns], with a name for each column or none");
    }
    Table result;
    result.columns = columns;
    const auto width = static_cast<std::size_t>(host.size(1));
    for (std::size_t i = columns.size(); i < width; ++i) {
      result.columns.push_back(std::to_string(i));
    }
    const std::span<const double> all = doubles(host);
    for (std::int64_t row = 0; row < host.size(0); ++row) {
      const auto cells = all.subspan(static_cast<std::size_t>(row) * width, width);
      result.rows.emplace_back(cells.begin(), cells.end());
    }
    detail::log_table(name, result);
  });
}

}  // namespace flor
