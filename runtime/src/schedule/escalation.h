// Speeds up a writer that is late. Pure: no clocks and no threads.
#pragma once

#include <cstdint>
#include <string_view>

namespace flor::detail {

/// Each includes those before it.
enum class Haste : std::uint8_t {
  none,      ///< the background runs when nothing else wants to
  priority,  ///< at the priority of the training
  fast,      ///< with a cheaper codec
  raw,       ///< without any
};
std::string_view to_string(Haste haste);

class Escalation {
 public:
  /// An iteration is going to be stored, or would be if the writer were not late; `late`: one
  /// before it is still being written; `can_wait`: then this one is not stored, or a cheaper codec
  /// would not help. One step up for
  /// being late, one down for being on time twice in a row.
  Haste due(bool late, bool can_wait);
  /// The training thread has to wait for memory that the writer holds.
  Haste waited();

  Haste haste() const { return haste_; }

  // How often.
  std::int64_t waits() const { return waits_; }
  std::int64_t hurried() const { return hurried_; }
  std::int64_t fast() const { return fast_; }
  std::int64_t raw() const { return raw_; }

 private:
  Haste up(Haste most);

  Haste haste_ = Haste::none;
  int on_time_ = 0;  // in a row
  std::int64_t waits_ = 0, hurried_ = 0, fast_ = 0, raw_ = 0;
};

}  // namespace flor::detail
