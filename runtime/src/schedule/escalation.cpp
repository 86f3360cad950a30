#include "schedule/escalation.h"

namespace flor::detail {

std::string_view to_string(Haste haste) {
  switch (haste) {
    case Haste::none:
      return "idle priority";
    case Haste::priority:
      return "normal priority";
    case Haste::fast:
      return "a cheaper codec";
    case Haste::raw:
      return "no codec";
  }
  return "unknown";
}

Haste Escalation::up(Haste most) {
  on_time_ = 0;
  if (haste_ >= most) return haste_;
  haste_ = static_cast<Haste>(static_cast<std::uint8_t>(haste_) + 1);
  if (haste_ == Haste::priority) ++hurried_;
  if (haste_ == Haste::fast) ++fast_;
  if (haste_ == Haste::raw) ++raw_;
  return haste_;
}

Haste Escalation::due(bool late, bool can_wait) {
  if (late) return up(can_wait ? Haste::priority : Haste::raw);
  constexpr int kCalm = 2;
  if (++on_time_ >= kCalm && haste_ != Haste::none) {
    haste_ = static_cast<Haste>(static_cast<std::uint8_t>(haste_) - 1);
    on_time_ = 0;
  }
  return haste_;
}

Haste Escalation::waited() {
  ++waits_;
  return up(Haste::raw);
}

}  // namespace flor::detail
