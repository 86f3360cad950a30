// The processes that train together, as Flor sees them: a rank, a size, and an exchange of
// numbers. <flor/dist/process_group.h> implements it with libtorch's process groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flor {

/// A fixed set of members (processes) that call the same functions in the same order. A call
/// returns when all members have made it, and throws flor::Error if one does not make it before the
/// group's deadline, so nothing waits for ever. After such an error the group cannot be used any
/// more.
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;  ///< from 0 to size() - 1
  virtual int size() const = 0;  ///< the number of members
  /// Returns the numbers of all members in rank order. Each member must give the same count of
  /// numbers.
  virtual std::vector<std::int64_t> all_gather(std::span<const std::int64_t> mine) = 0;

  /// Returns when all members have called it.
  void barrier() { all_gather({}); }
  /// Returns one number per member, in rank order.
  std::vector<std::int64_t> all_gather(std::int64_t mine) {
    return all_gather(std::span(&mine, 1));
  }
};

/// A group with one member: this process.
class SoloGroup final : public Group {
 public:
  using Group::all_gather;
  int rank() const override { return 0; }  ///< always 0
  int size() const override { return 1; }  ///< always 1
  /// Returns `mine`.
  std::vector<std::int64_t> all_gather(std::span<const std::int64_t> mine) override {
    return {mine.begin(), mine.end()};
  }
};

}  // namespace flor
