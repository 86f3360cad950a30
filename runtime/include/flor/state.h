// Registers a program's state: flor::checkpoints, flor::with, flor::named. How a type is saved is
// defined in <flor/state/state_traits.h>. Independent of libtorch; <flor/torch.h> adds its types.
#pragma once

#include <flor/overlap.h>
#include <flor/state/state_io.h>
#include <flor/state/state_traits.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace flor {
namespace detail {

/// Fails to compile for a type that cannot be saved, with the reason and the remedy for that type.
template <typename T>
constexpr void require_checkpointable() {
  static_assert(!std::is_const_v<T>, "flor restores what is registered: it cannot be const");
  static_assert(!std::is_pointer_v<T>,
                "flor cannot save what a raw pointer points to: register the object itself");
  if constexpr (!std::is_const_v<T> && !std::is_pointer_v<T>) {
    static_assert(Checkpointable<T>,
                  "flor cannot save this type: give it save(std::ostream&) const and "
                  "load(std::istream&), or specialise flor::StateTraits for it (for libtorch's "
                  "types: #include <flor/torch.h>)");
  }
}

}  // namespace detail

/// Gives a piece of state a name that stays the same when the arguments of `checkpoints` are
/// reordered.
template <typename T>
struct Named {
  std::string name;  ///< its name in checkpoints
  T& value;          ///< the registered object
};
template <typename T>
Named<T> named(std::string name, T& value) {
  detail::require_checkpointable<T>();
  return {std::move(name), value};
}

namespace detail {

/// One registered object with its type erased. Refers to the object, does not own it.
struct Slot {
  std::string name;  ///< given by the user; if empty, numbered among the unnamed of its kind
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
  require_checkpointable<T>();
  if constexpr (Checkpointable<T>) {
    return {std::move(name), StateTraits<T>::kind,
            [&value](const StateWriter& writer) { StateTraits<T>::save(value, writer); },
            [&value](const StateReader& reader) { StateTraits<T>::load(value, reader); }, false};
  }
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

/// Registers slots with the current session and returns one ticket for each, to unregister it with
/// `drop_slots`.
std::vector<std::uint64_t> add_slots(std::vector<Slot> slots);
void drop_slots(const std::vector<std::uint64_t>& tickets) noexcept;

}  // namespace detail

/// Keeps objects registered for as long as it exists. The objects must outlive it, so declare it
/// after them. Movable, so that a function can return it.
class [[nodiscard("the state is checkpointed for as long as this object lives")]] Checkpoints {
 public:
  /// Made by flor::checkpoints.
  explicit Checkpoints(std::vector<detail::Slot> slots)
      : tickets_(detail::add_slots(std::move(slots))) {}
  ~Checkpoints() { detail::drop_slots(tickets_); }
  /// Takes over the registrations; `other` keeps none.
  Checkpoints(Checkpoints&& other) noexcept : tickets_(std::exchange(other.tickets_, {})) {}
  /// Swaps the registrations of both.
  Checkpoints& operator=(Checkpoints&& other) noexcept {
    std::swap(tickets_, other.tickets_);
    return *this;
  }

 private:
  std::vector<std::uint64_t> tickets_;
};

/// Registers the state of the training: modules, optimizers, schedulers, tensors, numbers, strings,
/// containers of these, random engines, and every type that has StateTraits. If a loop changes
/// state that is not registered, a replay that skips the loop misses that change. Objects are known
/// by their order of registration within their kind ("model", "model2", "optimizer"), or by
/// `flor::named`. libtorch's random generators are always included. Keeps references to the
/// objects; costs nothing without Flor's flags. flor::overlapping may be one of the arguments.
template <typename... T>
Checkpoints checkpoints(T&&... objects) {
  std::vector<detail::Slot> slots;
  slots.reserve(sizeof...(T));
  (detail::add_slot(slots, std::forward<T>(objects)), ...);
  constexpr bool later = (std::same_as<std::remove_cvref_t<T>, Overlapping> || ...);
  for (detail::Slot& slot : slots) slot.overlapping = later;
  return Checkpoints(std::move(slots));
}

/// Attaches locals to a nested or main loop that changes them (a running loss, a best score), see
/// flor::loop.
struct With {
  std::vector<detail::Slot> slots;  ///< the attached locals
};
template <typename... T>
With with(T&&... objects) {
  With attached;
  attached.slots.reserve(sizeof...(T));
  (attached.slots.push_back(detail::slot_of(std::forward<T>(objects))), ...);
  return attached;
}

}  // namespace flor
