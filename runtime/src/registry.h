// The registered state: which objects there are, under which names, and how they are visited.
#pragma once

#include <flor/adapter.h>
#include <flor/state.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flor::detail {

/// Names of the items that Flor adds by itself begin with '@'; those of a loop's attached locals
/// with "with:". Registered names can contain neither these nor '/'.
inline constexpr std::string_view kSlotsItem = "@slots";
inline constexpr std::string_view kThreadsItem = "@threads";
inline constexpr std::string_view kAttachedPrefix = "with:";

/// Gives unnamed slots their kind as name, numbered from the second on: "model", "model2". Throws
/// UsageError for a name that is taken or not allowed.
class SlotNames {
 public:
  std::string assign(const Slot& slot);

 private:
  std::vector<std::string> taken_;
};

/// Not thread-safe: used by the session's thread.
class Registry {
 public:
  std::vector<std::uint64_t> add(std::vector<Slot> slots);
  void drop(const std::vector<std::uint64_t>& tickets) noexcept;

  /// Names of the registered objects, in order of registration.
  std::vector<std::string> names() const;

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

 private:
  struct Entry {
    std::uint64_t ticket;
    std::string name;
    Slot slot;
  };
  void check_names(StateSource& source) const;

  std::vector<Entry> entries_;
  std::uint64_t next_ticket_ = 1;
};

/// The names under which attached locals are stored.
std::vector<std::string> attached_names(const std::vector<Slot>& attached);

/// Only the attached locals of a loop, as they are when it begins.
void save_attached(StateSink& sink, const std::vector<Slot>& attached);
void load_attached(StateSource& source, const std::vector<Slot>& attached);

/// Under this name of a loop a checkpoint holds its attached locals as they were when it began. No
/// name of a loop contains '@'.
std::string entry_name(std::string_view loop);

}  // namespace flor::detail
