// The recorded state as a plug-in sees it: items that are read from the objects of the program, or
// directly from a checkpoint.
#pragma once

#include "state/registry.h"

#include <flor/store/checkpoint.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flor::detail {

struct WantedItem {
  std::string name;
  std::span<std::byte> into;
};

/// State that a plug-in can read. The items do not include those that Flor adds itself. To be used
/// by the session's thread.
class ProbedState {
 public:
  virtual ~ProbedState() = default;
  virtual const std::vector<store::Item>& items() = 0;
  /// Throws Error if an item does not exist or has another size.
  virtual void read(std::span<const WantedItem> wanted) = 0;
};

/// The present state of the program's objects, and of the attached locals of a loop.
class LiveState final : public ProbedState {
 public:
  /// Both arguments must outlive this object.
  LiveState(const Registry& registry, const std::vector<Slot>& attached)
      : registry_(registry), attached_(attached) {}
  const std::vector<store::Item>& items() override;
  void read(std::span<const WantedItem> wanted) override;

 private:
  const Registry& registry_;
  const std::vector<Slot>& attached_;
  std::optional<std::vector<store::Item>> items_;
};

/// The state in a checkpoint. The program's objects are not touched.
class StoredState final : public ProbedState {
 public:
  StoredState(const store::Store& store, std::int64_t checkpoint);
  const std::vector<store::Item>& items() override { return items_; }
  void read(std::span<const WantedItem> wanted) override;
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  store::CheckpointReader reader_;
  std::vector<store::Item> items_;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace flor::detail
