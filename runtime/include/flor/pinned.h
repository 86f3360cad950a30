// flor::pinned: what a program learns from outside, which a replay is told as the recording was.
#pragma once

#include <flor/state.h>
#include <flor/store/checkpoint.h>
#include <flor/store/error.h>

#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace flor {
namespace detail {

/// A value as it is recorded.
struct PinnedValue {
  enum class Form : std::uint8_t { boolean, integer, real, text, json, array };
  Form form = Form::json;
  std::uint64_t bits = 0;  ///< of a boolean, an integer (signed), a real
  std::string text;        ///< also JSON
  store::Item item;        ///< of an array; its name says what it was: "vector", "text"
  std::vector<std::byte> content;

  static PinnedValue number(Form form, std::uint64_t bits) {
    PinnedValue value;
    value.form = form;
    value.bits = bits;
    return value;
  }
  static PinnedValue array(std::string_view what, store::ElementType type, std::int64_t count,
                           const void* data, std::size_t bytes);
};

/// One call of flor::pinned. For the thread of the session.
class PinnedCall {
 public:
  /// Throws UsageError where a session cannot pin a value of this name here.
  explicit PinnedCall(std::string_view name);
  ~PinnedCall();
  PinnedCall(const PinnedCall&) = delete;
  PinnedCall& operator=(const PinnedCall&) = delete;

  /// A session records or replays.
  bool pins() const { return pins_; }
  /// The value of the record; null: the function is to be called.
  const PinnedValue* recorded() const { return recorded_ ? &*recorded_ : nullptr; }
  /// Throws what the function threw, where that is what the record has.
  void throw_again() const;
  /// The function is called between `begin` and one of the others.
  void begin();
  void end() noexcept;
  void keep(PinnedValue value);  ///< it returned this; throws UsageError where that is a secret
  void keep_checked(PinnedValue value);  ///< the same for what was searched for secrets already
  void keep_exception() noexcept;        ///< it threw the current exception
  void keep_exception(std::string_view type, std::string_view message) noexcept;
  /// The record has a value of another type. `now`: "a vector of f32".
  [[noreturn]] void refuse_type(const std::string& now) const;

 private:
  std::string name_;
  bool pins_ = false, began_ = false, kept_ = false;
  std::optional<PinnedValue> recorded_;
};

template <typename T>
inline constexpr bool is_pinnable_number = std::is_arithmetic_v<T> && !std::same_as<T, long double>;
template <typename T>
struct PinnableRow : std::false_type {};
template <typename T>
struct PinnableRow<std::vector<T>> : std::bool_constant<is_pinnable_number<T>> {};
template <typename T>
concept Pinnable = is_pinnable_number<T> || std::same_as<T, std::string> || PinnableRow<T>::value;

PinnedValue pinned_text(const std::string& text);
PinnedValue pinned_json(const std::string& text);
/// False where it is no text.
bool text_of_pinned(const PinnedValue& value, std::string& text);

/// The integers of the same size that are no characters.
template <typename T>
using Whole = typename std::conditional_t<std::is_signed_v<T>, std::make_signed<T>,
                                          std::make_unsigned<T>>::type;
template <typename T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <typename T>
PinnedValue to_pinned(const T& value) {
  using Form = PinnedValue::Form;
  if constexpr (std::same_as<T, bool>) {
    return PinnedValue::number(Form::boolean, value ? 1 : 0);
  } else if constexpr (std::integral<T>) {
    if (std::in_range<std::int64_t>(static_cast<Whole<T>>(value))) {
      return PinnedValue::number(Form::integer, static_cast<std::uint64_t>(value));
    }
    PinnedValue large;
    large.text = std::to_string(value);  // the integers of the record are signed
    return large;
  } else if constexpr (std::floating_point<T>) {
    // A compiler may take the way through double for none, which changes the bits of some NaNs.
    if (sizeof(T) == sizeof(double) || value == value) {
      const auto real = static_cast<double>(value);
      return PinnedValue::number(Form::real, std::bit_cast<std::uint64_t>(real));
    }
    return PinnedValue::array("nan", element_type_of<T>(), 1, &value, sizeof value);
  } else if constexpr (std::same_as<T, std::string>) {
    return pinned_text(value);
  } else if constexpr (std::same_as<T, std::vector<bool>>) {
    const std::vector<std::uint8_t> bytes(value.begin(), value.end());
    return PinnedValue::array("vector", store::ElementType::boolean,
                              static_cast<std::int64_t>(bytes.size()), bytes.data(), bytes.size());
  } else {
    using Element = typename T::value_type;
    return PinnedValue::array("vector", element_type_of<Element>(),
                              static_cast<std::int64_t>(value.size()), value.data(),
                              value.size() * sizeof(Element));
  }
}

template <typename T>
std::string pinned_type() {
  if constexpr (PinnableRow<T>::value) {
    return "a vector of " +
           std::string(store::to_string(element_type_of<typename T::value_type>()));
  } else if constexpr (std::same_as<T, std::string>) {
    return "a text";
  } else {
    return "a number of type " + std::string(store::to_string(element_type_of<T>()));
  }
}

/// False where the value is of another type.
template <typename T>
bool from_pinned(const PinnedValue& from, T& value) {
  using Form = PinnedValue::Form;
  if constexpr (std::same_as<T, bool>) {
    value = from.bits != 0;
    return from.form == Form::boolean;
  } else if constexpr (std::integral<T>) {
    if (from.form == Form::json) {
      Whole<T> large{};
      const char* last = from.text.data() + from.text.size();
      const auto [end, error] = std::from_chars(from.text.data(), last, large);
      value = static_cast<T>(large);
      return error == std::errc() && end == last;
    }
    const auto number = static_cast<std::int64_t>(from.bits);
    value = static_cast<T>(number);
    return from.form == Form::integer && std::in_range<Whole<T>>(number);
  } else if constexpr (std::floating_point<T>) {
    if (from.form == Form::array) {
      if (from.item.name != "nan" || from.content.size() != sizeof value) return false;
      std::memcpy(&value, from.content.data(), sizeof value);
      return true;
    }
    const auto real = std::bit_cast<double>(from.bits);
    value = static_cast<T>(real);
    return from.form == Form::real && same_bits(static_cast<double>(value), real);
  } else if constexpr (std::same_as<T, std::string>) {
    return text_of_pinned(from, value);
  } else {
    using Element = typename T::value_type;
    constexpr bool packed = std::same_as<Element, bool>;
    const bool fits = from.form == Form::array && from.item.name == "vector" &&
                      from.item.type == element_type_of<Element>() &&
                      from.content.size() % sizeof(Element) == 0;
    if (!fits) return false;
    value.resize(from.content.size() / sizeof(Element));
    if constexpr (packed) {
      for (std::size_t i = 0; i < value.size(); ++i) value[i] = from.content[i] != std::byte{0};
    } else if (!value.empty()) {
      std::memcpy(value.data(), from.content.data(), from.content.size());
    }
    return true;
  }
}

}  // namespace detail

/// Returns what `f` returns: a value that comes from outside the program and is another one at each
/// call, as of a clock, a service, the environment, a simulator.
///
///   const double rate = flor::pinned("rate", [] { return ask_the_scheduler(); });
///
/// A recording calls `f` and keeps the value, as `pinned:NAME`, with its place in the loops. A
/// replay returns the recorded value of that place and does not call `f`; so does a run that is
/// resumed or forked, up to the point where it goes on. Several calls under one name at one place
/// come in their order. Where the record has nothing, as for a call that was added since, a replay
/// calls `f`, says so, and holds everything from there on for doubtful. Without a session this is
/// `f()`.
///
/// Values: bool, integers, float and double (to the last bit), std::string of any bytes (also for
/// const char*), and std::vector of numbers, of any size. An exception of `f` is recorded with its
/// message, secrets masked, and thrown again by a replay: as std::invalid_argument,
/// std::out_of_range, std::logic_error or std::runtime_error, whichever it was or derived from.
///
/// `f` is not called by a replay, so what it changes is not changed then: let it read, and return.
/// What it logs is not kept. Only for the thread of flor::init, and in no flor::iteration. Throws
/// UsageError in another thread, in an iteration, in the range of a main loop (whose elements a
/// replay steps over), inside another `f`, or where name and value read like a secret's, which no
/// record may hold (flor::arg masks those); Error where the record has a value of another type.
template <std::invocable F>
auto pinned(std::string_view name, F&& f) {
  using Result = std::decay_t<std::invoke_result_t<F>>;
  constexpr bool is_text = std::convertible_to<Result, const char*>;
  using Value = std::conditional_t<is_text, std::string, Result>;
  static_assert(detail::Pinnable<Value>,
                "flor::pinned keeps bool, integers, float, double, std::string, and std::vector of "
                "numbers: let the function return one of those");
  detail::PinnedCall call(name);
  if (!call.pins()) return Value(std::invoke(std::forward<F>(f)));
  if (const detail::PinnedValue* recorded = call.recorded()) {
    call.throw_again();
    Value value{};
    if (!detail::from_pinned(*recorded, value)) call.refuse_type(detail::pinned_type<Value>());
    return value;
  }
  call.begin();
  std::optional<Value> value;
  try {
    value.emplace(std::invoke(std::forward<F>(f)));
  } catch (...) {
    call.keep_exception();
    throw;
  }
  call.keep(detail::to_pinned(*value));
  return *std::move(value);
}

}  // namespace flor
