// The processes that train together, as far as Flor needs them: a rank, a size, and numbers that
// all of them exchange. <flor/dist/process_group.h> makes one of libtorch's process groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flor {

/// A fixed set of members that call the same functions in the same order. A call returns when all
/// members have made it, and throws flor::Error if one does not come before the group's deadline:
/// nothing here waits for ever. After such an error the group cannot be used any more.
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;  ///< from 0 to size() - 1
  virtual int size() const = 0;  ///< the number of members
  /// The numbers of all members, in the order of their ranks; each member gives equally many.
  virtual std::vector<std::int64_t> all_gather(std::span<const std::int64_t> mine) = 0;

  /// Returns when all members are here.
  void barrier() { all_gather({}); }
  /// One number of each member.
  std::vector<std::int64_t> all_gather(std::int64_t mine) {
    return all_gather(std::span(&mine, 1));
  }
};

/// A group of one.
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
