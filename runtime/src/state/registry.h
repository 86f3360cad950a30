// The registered state: which objects there are, under which names, and how they are visited.
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

/// Names of the items that Flor adds by itself begin with '@'; those of a loop's attached locals
/// with "with:". Registered names can contain neither these nor '/'.
inline constexpr std::string_view kSlotsItem = "@slots";
inline constexpr std::string_view kThreadsItem = "@threads";
/// Only in checkpoints inside a nested loop: how long it had taken.
inline constexpr std::string_view kElapsedItem = "@elapsed";
inline constexpr std::string_view kAttachedPrefix = "with:";

/// Gives unnamed slots their kind as name, numbered from the second on: "model", "model2"; the
/// smallest number that is free. Throws UsageError for a name that is taken or not allowed.
class SlotNames {
 public:
  std::string assign(const Slot& slot);
  void release(const std::string& name);

 private:
  std::unordered_set<std::string> taken_;
  /// By kinds, a number below which all names are taken.
  std::unordered_map<std::string, std::size_t> below_;
};

/// Not thread-safe: used by the session's thread.
class Registry {
 public:
  std::vector<std::uint64_t> add(std::vector<Slot> slots);
  void drop(const std::vector<std::uint64_t>& tickets) noexcept;

  /// Names of the registered objects, in order of registration.
  std::vector<std::string> names() const;
  /// The same, a line each.
  const std::string& list() const;

  /// Everything that makes up the state now: the list of names, the number of threads, the
  /// adapter's generators, the registered objects, and `attached`.
  void save(StateSink& sink, const std::vector<Slot>& attached) const {
    save(sink, sink, attached);
  }
  /// `overlapping` receives the objects that were registered with flor::overlapping.
  void save(StateSink& sink, StateSink& overlapping, const std::vector<Slot>& attached) const;
  /// The reverse. Throws Error where the registered objects are not those that were recorded.
  /// `set_threads`: also return to the recorded number of threads.
  void load(StateSource& source, const std::vector<Slot>& attached, bool set_threads) const;

  /// Only the registered objects, and the memory that they share.
  void save_objects(StateSink& sink) const;
  /// The same from a source that may hold more objects than these.
  void load_objects(StateSource& source) const;

  /// Only the attached locals of a loop, as they are when it begins.
  void save_attached(StateSink& sink, const std::vector<Slot>& attached) const;
  void load_attached(StateSource& source, const std::vector<Slot>& attached) const;

 private:
  struct Entry {
    std::string name;
    Slot slot;
  };
  void visit(StateSink& sink, StateSink& overlapping) const;
  void check_names(StateSource& source) const;

  std::map<std::uint64_t, Entry> entries_;  // by their tickets, and so in order of registration
  SlotNames names_;
  mutable std::string list_;  // as long as it is that of the entries, else empty
};

/// The names under which attached locals are stored.
std::vector<std::string> attached_names(const std::vector<Slot>& attached);

/// Under this name of a loop a checkpoint holds its attached locals as they were when it began. No
/// name of a loop contains '@'.
std::string entry_name(std::string_view loop);

}  // namespace flor::detail
