// flor::StateTraits, which defines how a type is saved, and its specializations for the types of
// the standard library. A type without StateTraits and without save and load members cannot be
// registered.
#pragma once

#include <flor/state/state_io.h>

#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <istream>
#include <locale>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace flor {

/// How a type is saved and loaded. Specialize it for a type of your own, or give the type one of
///   void save(std::ostream&) const;              void load(std::istream&);
///   void save(const flor::StateWriter&) const;   void load(const flor::StateReader&);
/// `kind` names objects without a name in messages and in the store ("model", "value").
///
/// The traits of plain data also have `pack`, `unpack` and `form`, so that a container of such a
/// type is stored as one item.
template <typename T>
struct StateTraits;

template <typename T>
concept Checkpointable =
    requires(const T& constant, T& value, const StateWriter& writer, const StateReader& reader) {
      StateTraits<T>::save(constant, writer);
      StateTraits<T>::load(value, reader);
    };

namespace detail {

/// Reads the values that `pack` wrote, in the same order.
class Unpacker {
 public:
  Unpacker(std::string_view content, std::string name)
      : content_(content), name_(std::move(name)) {}

  std::string_view take(std::size_t bytes) {
    if (bytes > content_.size()) refuse();
    const std::string_view taken = content_.substr(0, bytes);
    content_.remove_prefix(bytes);
    return taken;
  }
  template <typename T>
  T number() {
    T value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(number<std::uint64_t>()); }
  void end() const {
    if (!content_.empty()) refuse();
  }
  const std::string& name() const { return name_; }
  [[noreturn]] void refuse() const {
    throw Error("'" + name_ + "' does not hold what its type says: the record is damaged");
  }

 private:
  std::string_view content_;
  std::string name_;
};

inline void pack_bytes(std::string& out, const void* content, std::size_t bytes) {
  out.append(static_cast<const char*>(content), bytes);
}
inline void pack_text(std::string& out, std::string_view text) {
  const std::uint64_t size = text.size();
  pack_bytes(out, &size, sizeof size);
  out.append(text);
}

/// Joins texts. With operator+ some compilers warn where they inline it.
template <typename... Part>
std::string concat(const Part&... parts) {
  std::string text;
  (text.append(parts), ...);
  return text;
}

/// Plain data: values can be packed into bytes, and restored from them.
template <typename T>
concept Packed = Checkpointable<T> && requires(const T& constant, T& value, std::string& out,
                                               Unpacker& in) {
  StateTraits<T>::pack(constant, out);
  StateTraits<T>::unpack(value, in);
  { StateTraits<T>::form() } -> std::convertible_to<std::string>;
};

/// Saves the type's form before the value, so that bytes of another type are refused by a load.
template <Packed T>
void save_packed(const T& value, const StateWriter& writer) {
  std::string content = concat(StateTraits<T>::form(), "\n");
  StateTraits<T>::pack(value, content);
  writer.bytes("", content);
}

inline std::string_view check_form(std::string_view content, std::string_view form,
                                   const StateReader& reader) {
  const std::string_view recorded = content.substr(0, content.find('\n'));
  if (recorded != form || recorded.size() == content.size()) {
    throw Error("'" + reader.full_name("") + "' was recorded as " + std::string(recorded) +
                ", but is " + std::string(form) + " here: its type has changed since");
  }
  return content.substr(recorded.size() + 1);
}
template <Packed T>
void load_packed(T& value, const StateReader& reader) {
  const std::string content = reader.bytes("");
  Unpacker in(check_form(content, StateTraits<T>::form(), reader), reader.full_name(""));
  StateTraits<T>::unpack(value, in);
  in.end();
}

template <typename T>
concept HasStreamMembers =
    requires(const T& constant, T& value, std::ostream& out, std::istream& in) {
      constant.save(out);
      value.load(in);
    };
template <typename T>
concept HasStateMembers =
    requires(const T& constant, T& value, const StateWriter& writer, const StateReader& reader) {
      constant.save(writer);
      value.load(reader);
    };
/// True for types that an adapter saves; their own save and load members are saved in addition.
template <typename T>
inline constexpr bool kForeign = false;

/// True for types that a restore can fill but not construct: a container of them must have the
/// recorded number of elements already.
template <typename T>
inline constexpr bool kMustExist = false;

template <typename T>
concept StreamsState = !kForeign<T> && HasStreamMembers<T>;
template <typename T>
concept WritesState = !kForeign<T> && HasStateMembers<T>;
/// Types that define by their own members how they are saved, whatever else they look like.
template <typename T>
concept SavesItself = StreamsState<T> || WritesState<T>;

/// Types of which a restore can construct an object where there is none.
template <typename T>
concept Makeable = std::default_initializable<T> && !kMustExist<T>;

/// The engines and distributions of <random>, which print and parse their exact state as text.
template <typename T>
concept RandomState = !SavesItself<T> && requires(const T& constant, T& value, std::ostream& out,
                                                  std::istream& in) {
  typename T::result_type;
  constant.min();
  out << constant;
  in >> value;
};
template <typename T>
concept Pointer = !SavesItself<T> && requires(const T& pointer) {
  typename T::element_type;
  { static_cast<bool>(pointer) };
  { *pointer } -> std::same_as<typename T::element_type&>;
} && !std::is_array_v<typename T::element_type>;

template <typename T>
inline constexpr bool is_string = false;
template <typename Char, typename Traits, typename Allocator>
inline constexpr bool is_string<std::basic_string<Char, Traits, Allocator>> = true;

/// Makes a stream pass on exceptions that are thrown while it is read or written. By default it
/// swallows them, and incomplete content would be taken for complete.
inline void let_throw(std::ios& stream) { stream.exceptions(std::ios::badbit); }

template <typename T>
std::string text_of(const T& value) {
  std::ostringstream out;
  let_throw(out);
  out.imbue(std::locale::classic());
  out << value;
  return std::move(out).str();
}
template <typename T>
bool parse_text(const std::string& text, T& value) {
  std::istringstream in(text);
  let_throw(in);
  in.imbue(std::locale::classic());
  in >> value;
  return !in.fail();
}

template <typename T>
std::string streamed(const T& value) {
  std::ostringstream out;
  let_throw(out);
  value.save(static_cast<std::ostream&>(out));
  return std::move(out).str();
}
template <typename T>
void load_stream(T& value, std::string_view content) {
  std::istringstream in{std::string(content)};
  let_throw(in);
  value.load(static_cast<std::istream&>(in));
}

}  // namespace detail

// ---------------------------------------------------------------------------------------------
// Single values.

template <detail::Number T>
struct StateTraits<T> {
  static constexpr std::string_view kind = "value";
  static void save(const T& value, const StateWriter& writer) { writer.number("", value); }
  static void load(T& value, const StateReader& reader) { reader.number("", value); }

  static std::string form() {
    constexpr ElementType type = detail::element_type_of<T>();
    if constexpr (type != ElementType::bytes) return std::string(store::to_string(type));
    return detail::concat("number of ", std::to_string(sizeof(T)));
  }
  static void pack(const T& value, std::string& out) {
    detail::pack_bytes(out, &value, detail::bytes_that_count<T>());
  }
  static void unpack(T& value, detail::Unpacker& in) {
    constexpr std::size_t bytes = detail::bytes_that_count<T>();
    std::memcpy(&value, in.take(bytes).data(), bytes);
  }
};

template <std::floating_point T>
struct StateTraits<std::complex<T>> {
  static constexpr std::string_view kind = "value";
  static constexpr ElementType type = std::same_as<T, float>    ? ElementType::c64
                                      : std::same_as<T, double> ? ElementType::c128
                                                                : ElementType::bytes;
  static void save(const std::complex<T>& value, const StateWriter& writer) {
    std::string content;
    pack(value, content);
    writer.tensor("", {.type = type,
                       .sizes = {},
                       .bytes = content.size(),
                       .host = reinterpret_cast<const std::byte*>(content.data()),
                       .copy = {}});
  }
  static void load(std::complex<T>& value, const StateReader& reader) {
    const std::string content = reader.numbers("", type);
    detail::Unpacker in(content, reader.full_name(""));
    unpack(value, in);
    in.end();
  }
  static std::string form() { return detail::concat("complex ", StateTraits<T>::form()); }
  static void pack(const std::complex<T>& value, std::string& out) {
    StateTraits<T>::pack(value.real(), out);
    StateTraits<T>::pack(value.imag(), out);
  }
  static void unpack(std::complex<T>& value, detail::Unpacker& in) {
    T real{}, imaginary{};
    StateTraits<T>::unpack(real, in);
    StateTraits<T>::unpack(imaginary, in);
    value = {real, imaginary};
  }
};

/// Strings of any character type.
template <typename T>
  requires detail::is_string<T>
struct StateTraits<T> {
  using Char = typename T::value_type;
  static constexpr std::string_view kind = "value";
  static void save(const T& value, const StateWriter& writer) { writer.bytes("", bytes_of(value)); }
  static void load(T& value, const StateReader& reader) { assign(value, reader.bytes("")); }

  static std::string form() { return detail::concat("text of ", StateTraits<Char>::form()); }
  static void pack(const T& value, std::string& out) { detail::pack_text(out, bytes_of(value)); }
  static void unpack(T& value, detail::Unpacker& in) { assign(value, in.text()); }

 private:
  static std::string_view bytes_of(const T& value) {
    return {reinterpret_cast<const char*>(value.data()), value.size() * sizeof(Char)};
  }
  static void assign(T& value, std::string_view bytes) {
    value.resize(bytes.size() / sizeof(Char));
    if (!bytes.empty()) std::memcpy(value.data(), bytes.data(), value.size() * sizeof(Char));
  }
};

namespace detail {

/// The base of StateTraits<T> for a T that is saved as another type, `As`. StateTraits<T> defines
/// the conversions `made_of(value)` and `make(value, content)`.
template <typename T, typename As>
struct SavedAs {
  static constexpr std::string_view kind = StateTraits<As>::kind;
  static void save(const T& value, const StateWriter& writer) {
    StateTraits<As>::save(StateTraits<T>::made_of(value), writer);
  }
  static void load(T& value, const StateReader& reader) {
    As content{};
    StateTraits<As>::load(content, reader);
    StateTraits<T>::make(value, std::move(content));
  }
  static std::string form() { return StateTraits<As>::form(); }
  static void pack(const T& value, std::string& out) {
    StateTraits<As>::pack(StateTraits<T>::made_of(value), out);
  }
  static void unpack(T& value, Unpacker& in) {
    As content{};
    StateTraits<As>::unpack(content, in);
    StateTraits<T>::make(value, std::move(content));
  }
};

}  // namespace detail

template <detail::Packed Rep, typename Period>
struct StateTraits<std::chrono::duration<Rep, Period>>
    : detail::SavedAs<std::chrono::duration<Rep, Period>, Rep> {
  using Duration = std::chrono::duration<Rep, Period>;
  static Rep made_of(const Duration& value) { return value.count(); }
  static void make(Duration& value, Rep count) { value = Duration(count); }
};

template <typename Clock, detail::Packed Duration>
struct StateTraits<std::chrono::time_point<Clock, Duration>>
    : detail::SavedAs<std::chrono::time_point<Clock, Duration>, Duration> {
  using Point = std::chrono::time_point<Clock, Duration>;
  static Duration made_of(const Point& value) { return value.time_since_epoch(); }
  static void make(Point& value, Duration since) { value = Point(since); }
};

template <>
struct StateTraits<std::filesystem::path>
    : detail::SavedAs<std::filesystem::path, std::filesystem::path::string_type> {
  using Text = std::filesystem::path::string_type;
  static const Text& made_of(const std::filesystem::path& value) { return value.native(); }
  static void make(std::filesystem::path& value, Text text) { value = std::move(text); }
};

template <std::size_t N>
struct StateTraits<std::bitset<N>> : detail::SavedAs<std::bitset<N>, std::string> {
  static std::string made_of(const std::bitset<N>& value) { return value.to_string(); }
  static void make(std::bitset<N>& value, const std::string& text) {
    if (text.size() != N) throw Error("a std::bitset was recorded with another size");
    value = std::bitset<N>(text);
  }
};

template <detail::Packed T>
struct StateTraits<std::atomic<T>> : detail::SavedAs<std::atomic<T>, T> {
  static T made_of(const std::atomic<T>& value) { return value.load(); }
  static void make(std::atomic<T>& value, T content) { value.store(content); }
};

template <>
struct StateTraits<std::monostate> : detail::SavedAs<std::monostate, std::string> {
  static std::string made_of(std::monostate) { return {}; }
  static void make(std::monostate&, const std::string&) {}
};

// ---------------------------------------------------------------------------------------------
// Types that define their own save and load.

template <detail::WritesState T>
struct StateTraits<T> {
  static constexpr std::string_view kind = "object";
  static void save(const T& value, const StateWriter& writer) { value.save(writer); }
  static void load(T& value, const StateReader& reader) { value.load(reader); }
};

template <detail::StreamsState T>
  requires(!detail::WritesState<T>)
struct StateTraits<T> {
  static constexpr std::string_view kind = "object";
  static void save(const T& value, const StateWriter& writer) {
    writer.bytes("", detail::streamed(value));
  }
  static void load(T& value, const StateReader& reader) {
    detail::load_stream(value, reader.bytes(""));
  }
  static std::string form() { return "object"; }
  static void pack(const T& value, std::string& out) {
    detail::pack_text(out, detail::streamed(value));
  }
  static void unpack(T& value, detail::Unpacker& in) { detail::load_stream(value, in.text()); }
};

template <detail::RandomState T>
struct StateTraits<T> {
  static constexpr std::string_view kind = "engine";
  static void save(const T& value, const StateWriter& writer) {
    writer.bytes("", text(value, writer.full_name("")));
  }
  static void load(T& value, const StateReader& reader) {
    parse(value, reader.bytes(""), reader.full_name(""));
  }
  static std::string form() { return "random"; }
  static void pack(const T& value, std::string& out) {
    detail::pack_text(out, text(value, "a random distribution in a container"));
  }
  static void unpack(T& value, detail::Unpacker& in) {
    parse(value, std::string(in.text()), in.name());
  }

 private:
  /// The printed state. Throws for distributions that print rounded weights, which cannot be
  /// restored exactly.
  static std::string text(const T& value, const std::string& name) {
    std::string printed = detail::text_of(value);
    if constexpr (requires { typename T::param_type; }) {
      T copy = value;
      if (!detail::parse_text(printed, copy) || detail::text_of(copy) != printed) {
        throw Error("'" + name +
                    "' is a random distribution whose text does not give it back exactly: "
                    "register its weights instead, and make it anew from them");
      }
    }
    return printed;
  }
  static void parse(T& value, const std::string& printed, const std::string& name) {
    if (detail::text_of(value) == printed) return;
    if (detail::parse_text(printed, value)) return;
    throw Error("'" + name + "': the recorded state of a random engine does not fit this engine");
  }
};

}  // namespace flor

// The traits of types that hold other objects, which use the traits above.
#include <flor/state/state_compounds.h>
#include <flor/state/state_containers.h>
