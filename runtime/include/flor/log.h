// flor::log and its relatives record named values together with their place in the loops.
#pragma once

#include <flor/state.h>
#include <flor/store/checkpoint.h>

#include <concepts>
#include <cstdint>
#include <exception>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace flor {

/// A JSON text to be logged as JSON, not as a string.
struct Json {
  std::string text;  ///< valid JSON
};

/// Rows of numbers under named columns, e.g. a confusion matrix.
struct Table {
  std::vector<std::string> columns;       ///< their names
  std::vector<std::vector<double>> rows;  ///< each as long as `columns`
  std::vector<std::string> row_names;  ///< empty, or one name per row
};

namespace detail {

// Each of these functions copies its arguments and returns; without a session that records or
// replays it does nothing. Thread-safe. None throws; a value that cannot be kept is reported once.
void log_boolean(std::string_view name, bool value) noexcept;
void log_integer(std::string_view name, std::int64_t value) noexcept;
void log_real(std::string_view name, double value) noexcept;
void log_text(std::string_view name, std::string_view value) noexcept;
void log_json(std::string_view name, std::string_view text) noexcept;
void log_content(std::string_view name, bool image, const store::Item& item,
                 std::span<const std::byte> content) noexcept;
void log_histogram(std::string_view name, std::span<const double> values, int bins) noexcept;
void log_table(std::string_view name, const Table& table) noexcept;
/// Reports that a value of this name was not kept, and why.
void log_refused(std::string_view name, std::string_view reason) noexcept;
/// False if logging would do nothing, so that the value need not be computed.
bool logging() noexcept;

template <typename T>
concept DumpsJson = requires(const T& value) {
  { value.dump() } -> std::convertible_to<std::string>;
};
template <typename T>
concept Loggable = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, Json> ||
                   DumpsJson<T> || std::convertible_to<const T&, std::string_view>;

}  // namespace detail

/// Records `value` under `name` at the current place in the loops, and returns it, so that an
/// expression can be logged where it stands. Takes numbers, booleans, strings, flor::Json, and any
/// type with a dump() member (nlohmann::json); with <flor/torch.h> also tensors with one element.
/// Costs well under a microsecond; values are written to disk in the background.
template <typename T>
  requires detail::Loggable<std::remove_cvref_t<T>>
std::decay_t<T> log(std::string_view name, T&& value) {
  using Type = std::remove_cvref_t<T>;
  if constexpr (std::same_as<Type, bool>) {
    detail::log_boolean(name, value);
  } else if constexpr (std::same_as<Type, char>) {
    detail::log_text(name, std::string_view(&value, 1));
  } else if constexpr (std::unsigned_integral<Type>) {
    // The store's integers are signed, so an unsigned number beyond their range is kept as text.
    if (std::in_range<std::int64_t>(value)) {
      detail::log_integer(name, static_cast<std::int64_t>(value));
    } else if (detail::logging()) {
      detail::log_text(name, std::to_string(value));
    }
  } else if constexpr (std::is_enum_v<Type> || std::integral<Type>) {
    detail::log_integer(name, static_cast<std::int64_t>(value));
  } else if constexpr (std::floating_point<Type>) {
    detail::log_real(name, static_cast<double>(value));
  } else if constexpr (std::same_as<Type, Json>) {
    detail::log_json(name, value.text);
  } else if constexpr (std::convertible_to<const Type&, std::string_view>) {
    if constexpr (std::is_pointer_v<Type>) {
      if (!value) {
        detail::log_refused(name, "the text is a null pointer");
        return value;
      }
    }
    detail::log_text(name, value);
  } else if (detail::logging()) {
    try {
      detail::log_json(name, value.dump());
    } catch (const std::exception& error) {
      detail::log_refused(name, error.what());
    }
  }
  return std::forward<T>(value);
}

/// Rejects a value of any other type with a message that names the alternatives.
template <typename T>
  requires(!detail::Loggable<std::remove_cvref_t<T>>)
void log(std::string_view, const T&) {
  static_assert(!sizeof(T*),
                "flor::log keeps one number, text, boolean or flor::Json: for a vector or an array "
                "use flor::log_tensor(name, values, sizes), flor::log_histogram or "
                "flor::log_table; tensors need <flor/torch.h>");
}

/// Records a whole array: `values` in row-major order, with the shape `sizes`.
template <typename T>
  requires std::is_arithmetic_v<T>
void log_tensor(std::string_view name, std::span<const T> values, std::vector<std::int64_t> sizes) {
  detail::log_content(name, false,
                      {.name = std::string(name),
                       .type = detail::element_type_of<T>(),
                       .sizes = std::move(sizes),
                       .bytes = values.size_bytes()},
                      std::as_bytes(values));
}

/// Records a whole array held in a std::vector, std::array or another contiguous range.
template <std::ranges::contiguous_range R>
  requires std::is_arithmetic_v<std::ranges::range_value_t<R>>
void log_tensor(std::string_view name, const R& values, std::vector<std::int64_t> sizes) {
  log_tensor(name, std::span<const std::ranges::range_value_t<R>>(values), std::move(sizes));
}

/// Records the distribution of `values`: counts in `bins` intervals of equal width between the
/// smallest and the greatest finite value, and the number of non-finite values.
inline void log_histogram(std::string_view name, std::span<const double> values, int bins = 64) {
  detail::log_histogram(name, values, bins);
}

/// Records an image of 8-bit channels, row-major [height, width, channels], with 1, 3 or 4
/// channels.
inline void log_image(std::string_view name, std::span<const std::uint8_t> pixels,
                      std::int64_t height, std::int64_t width, std::int64_t channels) {
  detail::log_content(name, true,
                      {.name = std::string(name),
                       .type = store::ElementType::u8,
                       .sizes = {height, width, channels},
                       .bytes = pixels.size()},
                      std::as_bytes(pixels));
}

/// Records a table of numbers.
inline void log_table(std::string_view name, const Table& table) { detail::log_table(name, table); }

}  // namespace flor
