// The registered objects: their names, and how their state is saved and loaded.
#pragma once

#include <flor/adapter.h>
#include <flor/state.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace flor::detail {

/// Items that Flor adds itself have names that begin with '@'. Items of a loop's attached locals
/// begin with "with:". Registered names contain neither these nor '/'.
inline constexpr std::string_view kSlotsItem = "@slots";
inline constexpr std::string_view kThreadsItem = "@threads";
/// The item that says how long a nested loop had taken so far. Only checkpoints inside a nested
/// loop have it.
inline constexpr std::string_view kElapsedItem = "@elapsed";
inline constexpr std::string_view kAttachedPrefix = "with:";

/// Names slots. An unnamed slot gets its kind as its name, numbered from the second on ("model",
/// "model2"), with the smallest free number. Throws UsageError for a name that is taken or not
/// allowed.
class SlotNames {
 public:
  std::string assign(const Slot& slot);
  void release(const std::string& name);

 private:
  std::unordered_set<std::string> taken_;
  /// For each kind, a number: all names of the kind with lower numbers are taken.
  std::unordered_map<std::string, std::size_t> below_;
};

/// The objects that are registered with a session. Not thread-safe: to be used by the session's
/// thread.
class Registry {
 public:
  std::vector<std::uint64_t> add(std::vector<Slot> slots);
  void drop(const std::vector<std::uint64_t>& tickets) noexcept;

  /// The names of the registered objects, in the order of registration.
  std::vector<std::string> names() const;
  /// The names of the registered objects, one per line, in the order of registration.
  const std::string& list() const;

  /// Saves the whole present state: the list of names, the number of threads, the adapter's
  /// generators, the registered objects, and `attached`.
  void save(StateSink& sink, const std::vector<Slot>& attached) const {
    save(sink, sink, attached);
  }
  /// `overlapping` gets the objects that were registered with flor::overlapping.
  void save(StateSink& sink, StateSink& overlapping, const std::vector<Slot>& attached) const;
  /// Restores what `save` wrote. Throws Error if the registered objects are not the recorded ones.
  /// `set_threads`: also sets the recorded number of threads.
  void load(StateSource& source, const std::vector<Slot>& attached, bool set_threads) const;

  /// Saves only the registered objects, and which memory they share.
  void save_objects(StateSink& sink) const;
  /// Restores the registered objects from a source that may have more objects.
  void load_objects(StateSource& source) const;

  /// Saves only the attached locals of a loop, as they are when it begins.
  void save_attached(StateSink& sink, const std::vector<Slot>& attached) const;
  void load_attached(StateSource& source, const std::vector<Slot>& attached) const;

 private:
  struct Entry {
    std::string name;
    Slot slot;
  };
  void visit(StateSink& sink, StateSink& overlapping) const;
  void check_names(StateSource& source) const;

  std::map<std::uint64_t, Entry> entries_;  // by ticket, and so in the order of registration
  SlotNames names_;
  mutable std::string list_;  // what list() returns; empty: out of date
};

/// The names under which attached locals are stored.
std::vector<std::string> attached_names(const std::vector<Slot>& attached);

/// The name that stands for a loop in the key of the checkpoint with its attached locals as they
/// were when it began. It contains '@', which names of loops do not.
std::string entry_name(std::string_view loop);

}  // namespace flor::detail
