#include "worker/assignment.h"

#include <algorithm>

namespace flor::detail {
namespace {

class Fixed final : public Assignment {
 public:
  explicit Fixed(std::vector<Epochs> epochs) : epochs_(std::move(epochs)), alone_(true) {}
  Fixed(std::vector<Epochs> epochs, const std::vector<store::MainLoop>& loops, std::int64_t first)
      : epochs_(std::move(epochs)) {
    // A run without epochs consists only of parts outside of the loops.
    const bool all = epochs_.empty();
    if (all || holds(first)) kept_.insert(0);
    for (const store::MainLoop& loop : loops) {
      const std::int64_t last = std::max(loop.first_epoch + loop.iterations - 1, first);
      if (all || holds(last)) kept_.insert(loop.ordinal + 1);
    }
  }

  Epochs next(const Position&) override {
    return next_ < epochs_.size() ? epochs_[next_++] : Epochs{};
  }
  bool keeps(std::int64_t section) const override { return kept_.contains(section); }
  bool keeps_from(std::int64_t section) const override {
    return kept_.lower_bound(section) != kept_.end();
  }
  bool may_end(std::int64_t) const override { return alone_ && next_ == epochs_.size(); }
  void completed(const std::vector<store::ReplayedPart>&) override {}
  void report(const WorkDone&) override {}
  bool called_off() const override { return false; }

 private:
  bool holds(std::int64_t epoch) const {
    return std::ranges::any_of(
        epochs_, [&](Epochs range) { return epoch >= range.first && epoch < range.end; });
  }

  std::vector<Epochs> epochs_;
  std::set<std::int64_t> kept_;
  std::size_t next_ = 0;
  bool alone_ = false;
};

}  // namespace

std::unique_ptr<Assignment> fixed_assignment(std::vector<Epochs> epochs,
                                             const std::vector<store::MainLoop>& loops,
                                             std::int64_t first) {
  return std::make_unique<Fixed>(std::move(epochs), loops, first);
}

std::unique_ptr<Assignment> epochs_alone(std::vector<Epochs> epochs) {
  return std::make_unique<Fixed>(std::move(epochs));
}

}  // namespace flor::detail
