// Values of iterations, and flor::iteration: a place for what is logged where there is no loop.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace flor {
namespace detail {

template <typename T>
concept WholeNumber = std::is_enum_v<T> ||
    (std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
     !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> && !std::same_as<T, char16_t> &&
     !std::same_as<T, char32_t>);
template <typename T>
concept TextLike =
    std::convertible_to<const T&, std::string_view> && !std::same_as<T, std::nullptr_t>;
/// std::filesystem::path, whose header need not be included for it.
template <typename T>
concept PathLike = requires(const T& path) {
  path.native();
  { path.string() } -> std::convertible_to<std::string>;
};
/// std::filesystem::directory_entry
template <typename T>
concept HasPath = requires(const T& entry) {
  { entry.path() } -> PathLike;
};
/// A type whose objects can be the values of iterations.
template <typename T>
concept IterationValue =
    WholeNumber<T> || std::floating_point<T> || TextLike<T> || PathLike<T> || HasPath<T>;

/// Hands `value` to `note` as a std::int64_t, a double or a std::string_view.
template <IterationValue T, typename Note>
void as_iteration_value(const T& value, Note&& note) {
  if constexpr (std::is_enum_v<T>) {
    as_iteration_value(static_cast<std::underlying_type_t<T>>(value), note);
  } else if constexpr (WholeNumber<T>) {
    if (std::in_range<std::int64_t>(value)) {
      note(static_cast<std::int64_t>(value));
    } else {
      note(std::string_view(std::to_string(value)));
    }
  } else if constexpr (std::floating_point<T>) {
    note(static_cast<double>(value));
  } else if constexpr (TextLike<T>) {
    if constexpr (std::is_pointer_v<T>) {
      if (!value) return;
    }
    note(std::string_view(value));
  } else if constexpr (PathLike<T>) {
    note(std::string_view(value.string()));
  } else {
    note(std::string_view(value.path().string()));
  }
}

}  // namespace detail

/// An iteration that the program names itself, made by flor::iteration. It ends with the object.
class [[nodiscard("name it: const auto page = flor::iteration(...)")]] Iteration {
 public:
  Iteration(std::string_view name, std::int64_t index);  ///< without a value
  template <detail::IterationValue T>
  Iteration(std::string_view name, std::int64_t index, const T& value) : Iteration(name, index) {
    if (place_) detail::as_iteration_value(value, [this](auto plain) { note(plain); });
  }  ///< with a value
  ~Iteration();
  Iteration(const Iteration&) = delete;
  Iteration& operator=(const Iteration&) = delete;

  struct Place;
  explicit Iteration(std::shared_ptr<Place> place) : place_(std::move(place)) {}  ///< Flor's own

 private:
  void note(std::int64_t value);
  void note(double value);
  void note(std::string_view value);

  std::shared_ptr<Place> place_;  // none without a session
};

/// Gives what this thread logs, until the returned object goes, a place where there is no loop, as
/// in the handler of a web server, or below the loops that it stands in:
///
///   const auto document = flor::iteration("document", 3, "a.pdf");
///   flor::log("label", label);
///
/// `name` is a column of what is logged, `index` the number in it, from 0. `value`, a number, a
/// text or a path, is in the column `document_value`. Iterations of one name and index are one
/// place, in this scope or a later one: give them one value. A flor::loop inside it gives its
/// indices and values to what is logged in it, no more: it is not checkpointed, and a replay
/// executes it. Any thread; objects of one thread end in the reverse order of their beginning.
/// Without a session it does nothing. Throws UsageError for a negative index.
template <detail::IterationValue T>
Iteration iteration(std::string_view name, std::int64_t index, const T& value) {
  return Iteration(name, index, value);
}
inline Iteration iteration(std::string_view name, std::int64_t index) {
  return Iteration(name, index);
}

}  // namespace flor
