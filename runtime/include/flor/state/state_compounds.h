// How pointers, optionals, variants, pairs and tuples are saved, by saving the objects they hold. A
// restore fills an object in place if there is one.
#pragma once

#include <flor/state/state_traits.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>

namespace flor {

namespace detail {

/// Gives a null `pointer` a new object to restore into. Throws if none can be made.
template <Pointer T>
void require_pointee(T& pointer, const std::string& name) {
  using Pointee = typename T::element_type;
  if (pointer) return;
  if constexpr (Makeable<Pointee> && !std::is_polymorphic_v<Pointee> &&
                requires { pointer.reset(new Pointee()); }) {
    pointer.reset(new Pointee());
  } else {
    throw Error("'" + name +
                "' is a pointer that is null here, or shares an object with another, but not when "
                "recorded: register it after it is set");
  }
}

/// The only item of a pointer that was null.
inline constexpr std::string_view kNullItem = ".null";

/// Tells the pointers that share an object, so that they share it after a restore.
inline constexpr std::string_view kPointerPiece = ".pointer";

template <Pointer T>
Place place_of_pointee(const T& pointer) {
  const void* object = std::addressof(*pointer);
  return {.type = typeid(typename T::element_type).name(),
          .block = object,
          .block_bytes = 1,
          .bytes = 1,
          .strides = {},
          .object = object,
          .handle = std::make_shared<T>(pointer)};
}
template <Pointer T>
void share_pointee(T& pointer, const Placement* placement) {
  if (!placement || placement->in_place) return;
  const bool is_made = placement->object && *placement->object;
  pointer = is_made ? *static_cast<const T*>(placement->object->get()) : T();
}
template <Pointer T>
void remember_pointee(const T& pointer, const Placement* placement) {
  if (placement && placement->object && !*placement->object) {
    *placement->object = std::make_shared<T>(pointer);
  }
}

template <typename T>
concept UniquePointer = Pointer<T> && !std::copyable<T>;

}  // namespace detail

/// std::unique_ptr, std::shared_ptr and similar pointers are saved as the object they point to,
/// which is restored in place if the pointer is not null.
template <detail::Pointer T>
  requires(Checkpointable<typename T::element_type> &&
           !std::is_const_v<typename T::element_type>)
struct StateTraits<T> {
  using Pointee = StateTraits<typename T::element_type>;
  static constexpr std::string_view kind = Pointee::kind;
  static void save(const T& value, const StateWriter& writer) {
    if (!value) return writer.bytes(detail::kNullItem, "");
    if constexpr (std::copyable<T>) {
      writer.place(detail::kPointerPiece, detail::place_of_pointee(value));
    }
    Pointee::save(*value, within(writer));
  }
  static void load(T& value, const StateReader& reader) {
    if (reader.has(detail::kNullItem)) {
      value = T();
      return;
    }
    if constexpr (std::copyable<T>) {
      detail::share_pointee(value, reader.placement(detail::kPointerPiece));
    }
    detail::require_pointee(value, reader.full_name(""));
    if constexpr (std::copyable<T>) {
      detail::remember_pointee(value, reader.placement(detail::kPointerPiece));
    }
    Pointee::load(*value, within(reader));
  }
  static std::string form()
    requires(detail::Packed<typename T::element_type> && detail::UniquePointer<T>)
  {
    return detail::concat("pointer to ", Pointee::form());
  }
  static void pack(const T& value, std::string& out)
    requires(detail::Packed<typename T::element_type> && detail::UniquePointer<T>)
  {
    out += value ? '\1' : '\0';
    if (value) Pointee::pack(*value, out);
  }
  static void unpack(T& value, detail::Unpacker& in)
    requires(detail::Packed<typename T::element_type> && detail::UniquePointer<T>)
  {
    if (in.number<char>() == '\0') {
      value = T();
      return;
    }
    detail::require_pointee(value, in.name());
    Pointee::unpack(*value, in);
  }

 private:
  /// The object is saved under the pointer's own name, unless it is a pointer itself.
  template <typename Pieces>
  static Pieces within(const Pieces& pieces) {
    return pieces.within(detail::Pointer<typename T::element_type> ? "pointee" : "");
  }
};

template <Checkpointable T>
struct StateTraits<std::optional<T>> {
  static constexpr std::string_view kind = StateTraits<T>::kind;
  static void save(const std::optional<T>& value, const StateWriter& writer) {
    writer.number("engaged", value.has_value());
    if (value) StateTraits<T>::save(*value, writer.within("value"));
  }
  static void load(std::optional<T>& value, const StateReader& reader) {
    bool engaged = false;
    reader.number("engaged", engaged);
    if (!engaged) return value.reset();
    require(value, reader.full_name(""));
    StateTraits<T>::load(*value, reader.within("value"));
  }
  static std::string form()
    requires detail::Packed<T>
  {
    return detail::concat("optional ", StateTraits<T>::form());
  }
  static void pack(const std::optional<T>& value, std::string& out)
    requires detail::Packed<T>
  {
    out += value ? '\1' : '\0';
    if (value) StateTraits<T>::pack(*value, out);
  }
  static void unpack(std::optional<T>& value, detail::Unpacker& in)
    requires detail::Packed<T>
  {
    if (in.number<char>() == '\0') return value.reset();
    require(value, in.name());
    StateTraits<T>::unpack(*value, in);
  }

 private:
  static void require(std::optional<T>& value, const std::string& name) {
    if (value) return;
    if constexpr (detail::Makeable<T>) {
      value.emplace();
    } else {
      throw Error("'" + name + "' is empty here, but was not when recorded: set it before");
    }
  }
};

template <Checkpointable... T>
struct StateTraits<std::variant<T...>> {
  using Variant = std::variant<T...>;
  static constexpr std::string_view kind = "value";
  static void save(const Variant& value, const StateWriter& writer) {
    check(value);
    writer.number("index", static_cast<std::uint64_t>(value.index()));
    std::visit(
        [&]<typename U>(const U& held) { StateTraits<U>::save(held, writer.within("value")); },
        value);
  }
  static void load(Variant& value, const StateReader& reader) {
    std::uint64_t index = 0;
    reader.number("index", index);
    choose(value, index, reader.full_name(""));
    std::visit([&]<typename U>(U& held) { StateTraits<U>::load(held, reader.within("value")); },
               value);
  }
  static std::string form()
    requires(detail::Packed<T> && ...)
  {
    return detail::concat("variant(", detail::concat(StateTraits<T>::form(), ",")..., ")");
  }
  static void pack(const Variant& value, std::string& out)
    requires(detail::Packed<T> && ...)
  {
    check(value);
    const std::uint64_t index = value.index();
    detail::pack_bytes(out, &index, sizeof index);
    std::visit([&]<typename U>(const U& held) { StateTraits<U>::pack(held, out); }, value);
  }
  static void unpack(Variant& value, detail::Unpacker& in)
    requires(detail::Packed<T> && ...)
  {
    choose(value, in.number<std::uint64_t>(), in.name());
    std::visit([&]<typename U>(U& held) { StateTraits<U>::unpack(held, in); }, value);
  }

 private:
  static void check(const Variant& value) {
    if (value.valueless_by_exception()) {
      throw Error("a registered std::variant holds nothing, since setting it threw: set it again");
    }
  }
  static void choose(Variant& value, std::uint64_t index, const std::string& name) {
    if (value.index() == index) return;
    bool chosen = false;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((I == index && (chosen = emplace<I>(value))), ...);
    }(std::index_sequence_for<T...>());
    if (chosen) return;
    throw Error("'" + name + "' held another type when recorded, which cannot be made here");
  }
  template <std::size_t I>
  static bool emplace(Variant& value) {
    if constexpr (detail::Makeable<std::variant_alternative_t<I, Variant>>) {
      value.template emplace<I>();
      return true;
    }
    return false;
  }
};

template <Checkpointable A, Checkpointable B>
struct StateTraits<std::pair<A, B>> {
  static constexpr std::string_view kind = "value";
  static void save(const std::pair<A, B>& value, const StateWriter& writer) {
    StateTraits<A>::save(value.first, writer.within("first"));
    StateTraits<B>::save(value.second, writer.within("second"));
  }
  static void load(std::pair<A, B>& value, const StateReader& reader) {
    StateTraits<A>::load(value.first, reader.within("first"));
    StateTraits<B>::load(value.second, reader.within("second"));
  }
  static std::string form()
    requires(detail::Packed<A> && detail::Packed<B>)
  {
    return detail::concat("(", StateTraits<A>::form(), ",", StateTraits<B>::form(), ")");
  }
  static void pack(const std::pair<A, B>& value, std::string& out)
    requires(detail::Packed<A> && detail::Packed<B>)
  {
    StateTraits<A>::pack(value.first, out);
    StateTraits<B>::pack(value.second, out);
  }
  static void unpack(std::pair<A, B>& value, detail::Unpacker& in)
    requires(detail::Packed<A> && detail::Packed<B>)
  {
    StateTraits<A>::unpack(value.first, in);
    StateTraits<B>::unpack(value.second, in);
  }
};

template <Checkpointable... T>
struct StateTraits<std::tuple<T...>> {
  using Tuple = std::tuple<T...>;
  static constexpr std::string_view kind = "value";
  static void save(const Tuple& value, const StateWriter& writer) {
    if constexpr (sizeof...(T) == 0) writer.bytes("", "");
    each([&]<std::size_t I, typename U>() {
      StateTraits<U>::save(std::get<I>(value), writer.within(std::to_string(I)));
    });
  }
  static void load(Tuple& value, const StateReader& reader) {
    if constexpr (sizeof...(T) == 0) reader.has("");
    each([&]<std::size_t I, typename U>() {
      StateTraits<U>::load(std::get<I>(value), reader.within(std::to_string(I)));
    });
  }
  static std::string form()
    requires(detail::Packed<T> && ...)
  {
    return detail::concat("(", detail::concat(StateTraits<T>::form(), ",")..., ")");
  }
  static void pack(const Tuple& value, std::string& out)
    requires(detail::Packed<T> && ...)
  {
    each([&]<std::size_t I, typename U>() { StateTraits<U>::pack(std::get<I>(value), out); });
  }
  static void unpack(Tuple& value, detail::Unpacker& in)
    requires(detail::Packed<T> && ...)
  {
    each([&]<std::size_t I, typename U>() { StateTraits<U>::unpack(std::get<I>(value), in); });
  }

 private:
  template <typename Body>
  static void each(Body&& body) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (body.template operator()<I, T>(), ...);
    }(std::index_sequence_for<T...>());
  }
};

}  // namespace flor
