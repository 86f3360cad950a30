// Decides how far to speed up a background writer that is late. Pure: no clocks and no threads.
#pragma once

#include <cstdint>
#include <string_view>

namespace flor::detail {

/// How far the writer is sped up. Each level includes those before it.
enum class Haste : std::uint8_t {
  none,      ///< it runs when nothing else wants the processor
  priority,  ///< it runs at the priority of the training
  fast,      ///< it also uses a cheaper codec
  raw,       ///< it also stores without a codec
};
std::string_view to_string(Haste haste);

class Escalation {
 public:
  /// Called before an iteration that will be stored, or that would be if the writer were not late.
  /// `late`: an earlier iteration is still being written. `can_wait`: this iteration is then not
  /// stored, or a cheaper codec would not help. Goes one level up when the writer is late, and one
  /// down when it was on time twice in a row.
  Haste due(bool late, bool can_wait);
  /// Called when the training thread has to wait for memory that the writer holds.
  Haste waited();

  Haste haste() const { return haste_; }

  // How often each happened.
  std::int64_t waits() const { return waits_; }
  std::int64_t hurried() const { return hurried_; }
  std::int64_t fast() const { return fast_; }
  std::int64_t raw() const { return raw_; }

 private:
  Haste up(Haste most);

  Haste haste_ = Haste::none;
  int on_time_ = 0;  // how often in a row
  std::int64_t waits_ = 0, hurried_ = 0, fast_ = 0, raw_ = 0;
};

}  // namespace flor::detail
