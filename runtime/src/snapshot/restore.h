// Restores a stored checkpoint into the registered objects, or compares it with them.
#pragma once

#include "state/registry.h"

#include <flor/state.h>
#include <flor/store/checkpoint.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace flor::detail {

/// Supplies the items of one checkpoint to the objects that ask for them. Large items are read when
/// `finish` is called, all at once and in parallel.
class CheckpointSource : public StateSource {
 public:
  /// The use of the state, so that errors give the fitting advice.
  enum class Purpose : std::uint8_t { restore, load };
  explicit CheckpointSource(const store::CheckpointReader& reader,
                            Purpose purpose = Purpose::restore)
      : reader_(reader), purpose_(purpose) {}

  bool has(const std::string& name) const override;
  const store::Item& item(const std::string& name) const override;
  std::string bytes(const std::string& name) override;
  void tensor(const std::string& name, TensorTarget target) override;

  /// Fills all targets that objects have passed to `tensor`.
  void finish();
  /// A recorded item below one of these names that no object asked for; empty if there is none.
  std::string unread_below(const std::unordered_set<std::string>& names) const;

 private:
  struct Pending {
    std::size_t item;
    TensorTarget target;
  };
  std::size_t index(const std::string& name) const;

  const store::CheckpointReader& reader_;
  Purpose purpose_;
  std::vector<Pending> pending_;
  mutable std::set<std::size_t> asked_;
};

/// Restores the whole checkpoint. Throws Error with the name of the object if it does not fit.
void restore(const store::CheckpointReader& reader, const Registry& registry,
             const std::vector<Slot>& attached, bool set_threads);

/// Restores only the attached locals of a loop, from a checkpoint that has nothing else.
void restore_attached(const store::CheckpointReader& reader, const Registry& registry,
                      const std::vector<Slot>& attached);

/// An item whose content differs from the recorded one.
struct StateDifference {
  std::string name;
  std::string what;  ///< "recorded 0.0025, now 0.005", "content differs", "is not registered now"
};

/// Compares the present state with a checkpoint by digests, which takes about one pass over the
/// memory. The number of threads is not compared.
std::vector<StateDifference> compare(const store::CheckpointReader& reader,
                                     const Registry& registry, const std::vector<Slot>& attached);

/// Compares only the attached locals of a loop.
std::vector<StateDifference> compare_attached(const store::CheckpointReader& reader,
                                              const Registry& registry,
                                              const std::vector<Slot>& attached);

/// For example "f32 [10, 784]".
std::string print_shape(const store::Item& item);

}  // namespace flor::detail
