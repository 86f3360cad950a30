// What Flor can save and restore, and how a program names it: flor::checkpoints, flor::with,
// flor::named, flor::StateTraits. Knows nothing of libtorch; <flor/torch.h> adds its types.
#pragma once

#include <flor/overlap.h>
#include <flor/store/checkpoint.h>
#include <flor/store/error.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flor {

using store::ElementType;

// ---------------------------------------------------------------------------------------------
// What an adapter hands over and gets back. Programs need this only for types of their own.

/// An asynchronous copy from a device that was enqueued and may still be under way.
class PendingCopy {
 public:
  virtual ~PendingCopy() = default;
  /// Returns when the bytes have arrived; called from another thread than the one that began it.
  virtual void wait() = 0;
};

/// The content of a tensor on a device, copied on the device: the training goes on while the copy is
/// brought to the host. Destroyed by any thread; frees the device's memory.
class StagedCopy {
 public:
  virtual ~StagedCopy() = default;
  /// Whether it holds the same bits as the copy that it was made after. Waits for the device. Any
  /// thread but the one that trains, which would wait for its own work.
  virtual bool unchanged() = 0;
  /// Writes the content to `into`, pinned host memory. Waits for it; the device's other work goes on.
  virtual void copy(std::byte* into) = 0;
};

/// Keeps the memory of a tensor alive and tells whether the tensor was written.
class WriteWatch {
 public:
  virtual ~WriteWatch() = default;
  /// Another value than before: the tensor was written, or that memory is no longer its content.
  /// Any thread.
  virtual std::uint64_t version() const = 0;
};

/// The content of a tensor at this moment, row-major without gaps.
struct TensorSource {
  ElementType type = ElementType::bytes;
  std::vector<std::int64_t> sizes;
  std::size_t bytes = 0;
  /// The content, where it lies contiguous in host memory; read before the call returns.
  const std::byte* host = nullptr;
  /// Otherwise: writes the content to `into`, `bytes` long. May return a copy that is still under
  /// way, provided that later writes to the tensor cannot overtake it (they are on one stream).
  std::function<std::shared_ptr<PendingCopy>(std::byte* into)> copy;
  /// The content is on a device: `into` should be pinned host memory.
  bool device = false;
  /// With `device`: copies the content on the device. `last`: an earlier copy of the same tensor to
  /// compare with, or null. Returns null where the device has no memory to spare.
  std::function<std::shared_ptr<StagedCopy>(const std::shared_ptr<StagedCopy>& last)> stage = nullptr;
  /// With `host`: the content may be read after the call, if the user chose flor::overlapping. Only
  /// for what nothing writes but code that the user knows of.
  std::shared_ptr<WriteWatch> watch = nullptr;
};

/// Where the content of a tensor is to go. Must fit the recorded type and sizes, else restoring
/// throws an error that names the tensor and both shapes.
struct TensorTarget {
  ElementType type = ElementType::bytes;
  std::vector<std::int64_t> sizes;
  std::size_t bytes = 0;
  /// Contiguous host memory that is written some time before the restore returns, or
  std::byte* host = nullptr;
  /// is called with the content, on the restoring thread, before the restore returns.
  std::function<void(const std::byte* content)> assign;
  /// Keeps what `host` points to alive until then.
  std::shared_ptr<void> keep_alive;
};

/// Receives the pieces of the state. Names are full: "model/fc1.weight".
class StateSink {
 public:
  virtual ~StateSink() = default;
  virtual void bytes(std::string name, std::string_view content) = 0;
  virtual void tensor(std::string name, const TensorSource& source) = 0;
  /// For what can be left out: the state is compared with a checkpoint that has this piece.
  virtual bool asks_for(const std::string& /*name*/) const { return false; }
};

/// Gives them back. Asking for a name that was not recorded throws an error that names it.
class StateSource {
 public:
  virtual ~StateSource() = default;
  virtual bool has(const std::string& name) const = 0;
  virtual const store::Item& item(const std::string& name) const = 0;
  virtual std::string bytes(const std::string& name) = 0;
  virtual void tensor(const std::string& name, TensorTarget target) = 0;
};

namespace detail {
inline std::string join_names(std::string_view prefix, std::string_view name) {
  if (prefix.empty()) return std::string(name);
  if (name.empty()) return std::string(prefix);
  std::string joined;
  joined.reserve(prefix.size() + 1 + name.size());
  joined.append(prefix).append("/").append(name);
  return joined;
}

template <typename T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// The element type that a C++ number of this kind is stored as.
template <Number T>
constexpr ElementType element_type_of() {
  if constexpr (std::is_enum_v<T>) {
    return element_type_of<std::underlying_type_t<T>>();
  } else if constexpr (std::same_as<T, bool>) {
    return ElementType::boolean;
  } else if constexpr (std::same_as<T, float>) {
    return ElementType::f32;
  } else if constexpr (std::same_as<T, double>) {
    return ElementType::f64;
  } else if constexpr (std::floating_point<T>) {
    return ElementType::bytes;
  } else if constexpr (sizeof(T) == 1) {
    return std::is_signed_v<T> ? ElementType::i8 : ElementType::u8;
  } else if constexpr (sizeof(T) == 2) {
    return ElementType::i16;
  } else if constexpr (sizeof(T) == 4) {
    return ElementType::i32;
  } else {
    return ElementType::i64;
  }
}
}  // namespace detail

/// Writes the pieces of one object, named relative to it; the empty name is the object itself.
class StateWriter {
 public:
  StateWriter(StateSink& sink, std::string prefix) : sink_(&sink), prefix_(std::move(prefix)) {}

  void bytes(std::string_view name, std::string_view content) const {
    sink_->bytes(detail::join_names(prefix_, name), content);
  }
  void tensor(std::string_view name, const TensorSource& source) const {
    sink_->tensor(detail::join_names(prefix_, name), source);
  }
  template <detail::Number T>
  void number(std::string_view name, const T& value) const {
    tensor(name, {.type = detail::element_type_of<T>(),
                  .sizes = {},
                  .bytes = sizeof(T),
                  .host = reinterpret_cast<const std::byte*>(&value),
                  .copy = {}});
  }
  bool asks_for(std::string_view name) const {
    return sink_->asks_for(detail::join_names(prefix_, name));
  }
  /// The name with the object's before it, for messages.
  std::string full_name(std::string_view name) const { return detail::join_names(prefix_, name); }
  /// A writer for a part of the object.
  StateWriter within(std::string_view name) const {
    return {*sink_, detail::join_names(prefix_, name)};
  }

 private:
  StateSink* sink_;
  std::string prefix_;
};

class StateReader {
 public:
  StateReader(StateSource& source, std::string prefix)
      : source_(&source), prefix_(std::move(prefix)) {}

  bool has(std::string_view name) const { return source_->has(detail::join_names(prefix_, name)); }
  const store::Item& item(std::string_view name) const {
    return source_->item(detail::join_names(prefix_, name));
  }
  std::string bytes(std::string_view name) const {
    return source_->bytes(detail::join_names(prefix_, name));
  }
  /// The target is filled before the restore as a whole returns, not before this call does.
  void tensor(std::string_view name, TensorTarget target) const {
    source_->tensor(detail::join_names(prefix_, name), std::move(target));
  }
  /// Content of numbers that must have been recorded with this type; read at once.
  std::string numbers(std::string_view name, ElementType type) const {
    const std::string full = full_name(name);
    if (const ElementType recorded = source_->item(full).type; recorded != type) {
      throw Error("'" + full + "' was recorded as " + std::string(store::to_string(recorded)) +
                  ", but is " + std::string(store::to_string(type)) +
                  " here: its type has changed since");
    }
    return source_->bytes(full);
  }
  template <detail::Number T>
  void number(std::string_view name, T& value) const {
    const std::string content = numbers(name, detail::element_type_of<T>());
    if (content.size() != sizeof(T)) {
      throw Error("'" + full_name(name) + "' was recorded with " + std::to_string(content.size()) +
                  " bytes, but is a number of " + std::to_string(sizeof(T)) +
                  " here: its type has changed since");
    }
    std::copy(content.begin(), content.end(), reinterpret_cast<char*>(&value));
  }
  /// The name with the object's before it, for messages.
  std::string full_name(std::string_view name) const { return detail::join_names(prefix_, name); }
  StateReader within(std::string_view name) const {
    return {*source_, detail::join_names(prefix_, name)};
  }

 private:
  StateSource* source_;
  std::string prefix_;
};

// ---------------------------------------------------------------------------------------------
// How a type is saved.

/// Specialise this for a type of your own, or give that type one of
///   void save(std::ostream&) const;              void load(std::istream&);
///   void save(const flor::StateWriter&) const;   void load(const flor::StateReader&);
/// `kind` names unnamed objects in messages and in the store ("model", "value").
template <typename T>
struct StateTraits;

template <typename T>
concept Checkpointable =
    requires(const T& constant, T& value, const StateWriter& writer, const StateReader& reader) {
      StateTraits<T>::save(constant, writer);
      StateTraits<T>::load(value, reader);
    };

namespace detail {

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
/// True for types that an adapter saves, together with what their own save and load keep.
template <typename T>
inline constexpr bool kForeign = false;

/// True for types whose objects a restore fills but cannot make: a container of them must have the
/// recorded elements already.
template <typename T>
inline constexpr bool kMustExist = false;

template <typename T>
concept StreamsState = !kForeign<T> && HasStreamMembers<T>;
template <typename T>
concept WritesState = !kForeign<T> && HasStateMembers<T>;
/// The engines and distributions of <random>, which print and parse their exact state.
template <typename T>
concept RandomState = requires(const T& constant, T& value, std::ostream& out, std::istream& in) {
  typename T::result_type;
  constant.min();
  out << constant;
  in >> value;
};
template <typename T>
concept Pointer = requires(const T& pointer) {
  typename T::element_type;
  { static_cast<bool>(pointer) };
  { *pointer } -> std::same_as<typename T::element_type&>;
} && !std::is_array_v<typename T::element_type>;

template <typename T>
concept Keyed = requires {
  typename T::key_type;
  typename T::mapped_type;
};
template <typename T>
concept KeySet = requires { typename T::key_type; } &&
                 std::same_as<typename T::key_type, typename T::value_type>;

template <typename T>
concept Sequence = requires(T& value, std::size_t count) {
  typename T::value_type;
  value.resize(count);
  std::begin(value);
} && !std::same_as<T, std::string>;

template <typename T>
std::string text_of(const T& value) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << value;
  return std::move(out).str();
}
template <typename T>
void parse_text(const std::string& text, T& value) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  in >> value;
  if (in.fail()) throw Error("the recorded state of a random engine does not fit this engine");
}

}  // namespace detail

template <detail::Number T>
struct StateTraits<T> {
  static constexpr std::string_view kind = "value";
  static void save(const T& value, const StateWriter& writer) { writer.number("", value); }
  static void load(T& value, const StateReader& reader) { reader.number("", value); }
};

template <>
struct StateTraits<std::string> {
  static constexpr std::string_view kind = "value";
  static void save(const std::string& value, const StateWriter& writer) { writer.bytes("", value); }
  static void load(std::string& value, const StateReader& reader) { value = reader.bytes(""); }
};

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
    std::ostringstream out;
    value.save(static_cast<std::ostream&>(out));
    writer.bytes("", std::move(out).str());
  }
  static void load(T& value, const StateReader& reader) {
    std::istringstream in(reader.bytes(""));
    value.load(static_cast<std::istream&>(in));
  }
};

template <detail::RandomState T>
  requires(!detail::StreamsState<T> && !detail::WritesState<T>)
struct StateTraits<T> {
  static constexpr std::string_view kind = "engine";
  static void save(const T& value, const StateWriter& writer) {
    writer.bytes("", detail::text_of(value));
  }
  static void load(T& value, const StateReader& reader) {
    detail::parse_text(reader.bytes(""), value);
  }
};

/// std::shared_ptr and std::unique_ptr: the object, which must exist both times.
template <detail::Pointer T>
  requires(Checkpointable<std::remove_const_t<typename T::element_type>> &&
           !detail::StreamsState<T> && !detail::WritesState<T>)
struct StateTraits<T> {
  using Pointee = StateTraits<typename T::element_type>;
  static constexpr std::string_view kind = Pointee::kind;
  static void save(const T& value, const StateWriter& writer) {
    if (!value) throw Error("a registered pointer is null: register it after it is set");
    Pointee::save(*value, writer);
  }
  static void load(T& value, const StateReader& reader) {
    if (!value) throw Error("a registered pointer is null: register it after it is set");
    Pointee::load(*value, reader);
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
    if (!value) value.emplace();
    StateTraits<T>::load(*value, reader.within("value"));
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
};

template <Checkpointable... T>
struct StateTraits<std::tuple<T...>> {
  static constexpr std::string_view kind = "value";
  static void save(const std::tuple<T...>& value, const StateWriter& writer) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (StateTraits<T>::save(std::get<I>(value), writer.within(std::to_string(I))), ...);
    }(std::index_sequence_for<T...>());
  }
  static void load(std::tuple<T...>& value, const StateReader& reader) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (StateTraits<T>::load(std::get<I>(value), reader.within(std::to_string(I))), ...);
    }(std::index_sequence_for<T...>());
  }
};

/// std::array: element by element, or in one piece if its elements are numbers.
template <Checkpointable T, std::size_t N>
struct StateTraits<std::array<T, N>> {
  static constexpr std::string_view kind = "value";
  static void save(const std::array<T, N>& value, const StateWriter& writer) {
    for (std::size_t i = 0; i < N; ++i) {
      StateTraits<T>::save(value[i], writer.within(std::to_string(i)));
    }
  }
  static void load(std::array<T, N>& value, const StateReader& reader) {
    for (std::size_t i = 0; i < N; ++i) {
      StateTraits<T>::load(value[i], reader.within(std::to_string(i)));
    }
  }
};

/// std::vector, std::deque, std::list.
template <detail::Sequence T>
  requires(Checkpointable<typename T::value_type> && !detail::Keyed<T> &&
           !detail::StreamsState<T> && !detail::WritesState<T>)
struct StateTraits<T> {
  using Element = typename T::value_type;
  static constexpr std::string_view kind = "values";
  static constexpr bool flat =
      detail::Number<Element> && !std::same_as<Element, bool> && requires(T& value) {
        { value.data() } -> std::same_as<Element*>;
      };

  static void save(const T& value, const StateWriter& writer) {
    const std::uint64_t count = value.size();
    writer.number("size", count);
    if constexpr (flat) {
      writer.tensor("values", {.type = detail::element_type_of<Element>(),
                               .sizes = {static_cast<std::int64_t>(count)},
                               .bytes = count * sizeof(Element),
                               .host = reinterpret_cast<const std::byte*>(value.data()),
                               .copy = {}});
    } else {
      std::size_t index = 0;
      for (const auto& element : value) {
        StateTraits<Element>::save(element, writer.within(std::to_string(index++)));
      }
    }
  }
  static void load(T& value, const StateReader& reader) {
    std::uint64_t count = 0;
    reader.number("size", count);
    if constexpr (flat) {
      const std::string content = reader.numbers("values", detail::element_type_of<Element>());
      if (content.size() != count * sizeof(Element)) throw Error("a recorded vector is cut short");
      value.resize(count);
      std::copy(content.begin(), content.end(), reinterpret_cast<char*>(value.data()));
    } else {
      if constexpr (!detail::kMustExist<Element>) {
        value.resize(count);
      } else if (value.size() != count) {
        throw Error("'" + reader.full_name("") + "' was recorded with " + std::to_string(count) +
                    " elements, but has " + std::to_string(value.size()) + " here");
      }
      std::size_t index = 0;
      for (auto&& element : value) {
        if constexpr (std::same_as<Element, bool>) {
          bool bit = false;
          StateTraits<bool>::load(bit, reader.within(std::to_string(index++)));
          element = bit;
        } else {
          StateTraits<Element>::load(element, reader.within(std::to_string(index++)));
        }
      }
    }
  }
};

/// std::map and std::unordered_map with keys that are numbers or strings. Saved in the order of the
/// keys, so that equal maps have equal bytes.
template <detail::Keyed T>
  requires(Checkpointable<typename T::key_type> && Checkpointable<typename T::mapped_type>)
struct StateTraits<T> {
  using Key = typename T::key_type;
  using Mapped = typename T::mapped_type;
  static constexpr std::string_view kind = "values";
  static void save(const T& value, const StateWriter& writer) {
    std::map<Key, const Mapped*> sorted;
    for (const auto& [key, mapped] : value) sorted.emplace(key, &mapped);
    writer.number("size", static_cast<std::uint64_t>(sorted.size()));
    std::size_t index = 0;
    for (const auto& [key, mapped] : sorted) {
      const StateWriter entry = writer.within(std::to_string(index++));
      StateTraits<Key>::save(key, entry.within("key"));
      StateTraits<Mapped>::save(*mapped, entry.within("value"));
    }
  }
  static void load(T& value, const StateReader& reader) {
    std::uint64_t count = 0;
    reader.number("size", count);
    std::set<Key> recorded;
    for (std::uint64_t index = 0; index < count; ++index) {
      const StateReader entry = reader.within(std::to_string(index));
      Key key{};
      StateTraits<Key>::load(key, entry.within("key"));
      StateTraits<Mapped>::load(entry_of(value, key, reader), entry.within("value"));
      recorded.insert(std::move(key));
    }
    std::erase_if(value, [&](const auto& entry) { return !recorded.contains(entry.first); });
  }

 private:
  static Mapped& entry_of(T& value, const Key& key, const StateReader& reader) {
    if constexpr (detail::kMustExist<Mapped>) {
      const auto found = value.find(key);
      if (found != value.end()) return found->second;
      throw Error("'" + reader.full_name("") +
                  "' was recorded with more elements than it has here");
    } else {
      return value[key];
    }
  }
};

template <detail::KeySet T>
  requires Checkpointable<typename T::key_type>
struct StateTraits<T> {
  using Key = typename T::key_type;
  static constexpr std::string_view kind = "values";
  static void save(const T& value, const StateWriter& writer) {
    const std::set<Key> sorted(value.begin(), value.end());  // equal sets have equal bytes
    StateTraits<std::vector<Key>>::save({sorted.begin(), sorted.end()}, writer);
  }
  static void load(T& value, const StateReader& reader) {
    std::vector<Key> keys;
    StateTraits<std::vector<Key>>::load(keys, reader);
    value = T(keys.begin(), keys.end());
  }
};

// ---------------------------------------------------------------------------------------------
// Registering state.

/// Gives a piece of state a name that survives a reordering of the arguments of `checkpoints`.
template <typename T>
struct Named {
  std::string name;
  T& value;
};
template <typename T>
Named<T> named(std::string name, T& value) {
  static_assert(Checkpointable<T>,
                "flor cannot save this type: give it save(std::ostream&) const and "
                "load(std::istream&), or specialise flor::StateTraits for it");
  return {std::move(name), value};
}

namespace detail {

/// One registered object with its type erased. Refers to the object, does not own it.
struct Slot {
  std::string name;  ///< given by the user, or empty: numbered among the unnamed of its kind
  std::string_view kind;
  std::function<void(const StateWriter&)> save;
  std::function<void(const StateReader&)> load;
  bool overlapping = false;
};

template <typename T>
inline constexpr bool is_named = false;
template <typename T>
inline constexpr bool is_named<Named<T>> = true;

template <typename T>
Slot make_slot(std::string name, T& value) {
  static_assert(Checkpointable<T>,
                "flor cannot save this type: give it save(std::ostream&) const and "
                "load(std::istream&), or specialise flor::StateTraits for it (for libtorch's "
                "types: #include <flor/torch.h>)");
  return {std::move(name), StateTraits<T>::kind,
          [&value](const StateWriter& writer) { StateTraits<T>::save(value, writer); },
          [&value](const StateReader& reader) { StateTraits<T>::load(value, reader); }, false};
}

template <typename T>
Slot slot_of(T&& object) {
  using Type = std::remove_cvref_t<T>;
  if constexpr (is_named<Type>) {
    return make_slot(object.name, object.value);
  } else {
    static_assert(std::is_lvalue_reference_v<T>,
                  "flor keeps a reference: pass a variable, not a temporary");
    static_assert(!std::is_const_v<std::remove_reference_t<T>>,
                  "flor restores what is registered: it cannot be const");
    return make_slot(std::string(), object);
  }
}

template <typename T>
void add_slot(std::vector<Slot>& slots, T&& object) {
  if constexpr (!std::same_as<std::remove_cvref_t<T>, Overlapping>) {
    slots.push_back(slot_of(std::forward<T>(object)));
  }
}

/// Registers slots with the current session and returns their tickets.
std::vector<std::uint64_t> add_slots(std::vector<Slot> slots);
void drop_slots(const std::vector<std::uint64_t>& tickets) noexcept;

}  // namespace detail

/// Keeps objects registered for as long as it lives, which must not be longer than they do; declare
/// it after them. Movable, so that a function can return it.
class [[nodiscard("the state is checkpointed for as long as this object lives")]] Checkpoints {
 public:
  explicit Checkpoints(std::vector<detail::Slot> slots)
      : tickets_(detail::add_slots(std::move(slots))) {}
  ~Checkpoints() { detail::drop_slots(tickets_); }
  Checkpoints(Checkpoints&& other) noexcept : tickets_(std::exchange(other.tickets_, {})) {}
  Checkpoints& operator=(Checkpoints&& other) noexcept {
    std::swap(tickets_, other.tickets_);
    return *this;
  }

 private:
  std::vector<std::uint64_t> tickets_;
};

/// Registers the state of the training: modules, optimizers, schedulers, tensors, numbers, strings,
/// containers of those, random engines, and every type that has StateTraits. What a loop changes
/// and is not registered is not there when the loop is skipped. Objects are known by their order of
/// registration within their kind ("model", "model2", "optimizer"), or by `flor::named`.
/// libtorch's random generators are always included. Takes references; costs nothing without flags.
/// flor::overlapping among the arguments: see there.
template <typename... T>
Checkpoints checkpoints(T&&... objects) {
  std::vector<detail::Slot> slots;
  slots.reserve(sizeof...(T));
  (detail::add_slot(slots, std::forward<T>(objects)), ...);
  constexpr bool later = (std::same_as<std::remove_cvref_t<T>, Overlapping> || ...);
  for (detail::Slot& slot : slots) slot.overlapping = later;
  return Checkpoints(std::move(slots));
}

/// Locals that a nested or a main loop changes (a running loss, a best score), see flor::loop.
struct With {
  std::vector<detail::Slot> slots;
};
template <typename... T>
With with(T&&... objects) {
  With attached;
  attached.slots.reserve(sizeof...(T));
  (attached.slots.push_back(detail::slot_of(std::forward<T>(objects))), ...);
  return attached;
}

}  // namespace flor
