// Saves and loads learning-rate schedulers. libtorch cannot save them: their counters are not
// public.
#include <flor/torch.h>

#include <torch/optim/schedulers/lr_scheduler.h>
#if __has_include(<torch/optim/schedulers/reduce_on_plateau_scheduler.h>)
#include <torch/optim/schedulers/reduce_on_plateau_scheduler.h>
#define FLOR_HAS_REDUCE_ON_PLATEAU 1
#endif

namespace flor::libtorch {
namespace {

using torch::optim::LRScheduler;

/// Reaches a protected member: a derived class may name it.
struct LRSchedulerAccess : LRScheduler {
  static unsigned& step_count(LRScheduler& scheduler) {
    return scheduler.*(&LRSchedulerAccess::step_count_);
  }
};

}  // namespace

void save(const LRScheduler& scheduler, const StateWriter& writer) {
  writer.number("step_count", LRSchedulerAccess::step_count(const_cast<LRScheduler&>(scheduler)));
}
void load(LRScheduler& scheduler, const StateReader& reader) {
  reader.number("step_count", LRSchedulerAccess::step_count(scheduler));
}

#ifdef FLOR_HAS_REDUCE_ON_PLATEAU
namespace {

using Plateau = torch::optim::ReduceLROnPlateauScheduler;

// Reaches a private member: an explicit instantiation may name it as a template argument.
template <typename Tag, auto member>
struct Expose {
  friend constexpr auto exposed(Tag) { return member; }
};
#define FLOR_EXPOSE(member)                      \
  struct member##_tag {                          \
    friend constexpr auto exposed(member##_tag); \
  };                                             \
  template struct Expose<member##_tag, &Plateau::member>;
FLOR_EXPOSE(best)
FLOR_EXPOSE(cooldown_counter)
FLOR_EXPOSE(num_bad_epochs)
FLOR_EXPOSE(last_epoch)
#undef FLOR_EXPOSE

template <typename Body>
void each_counter(Plateau& scheduler, Body&& body) {
  body("best", scheduler.*exposed(best_tag{}));
  body("cooldown_counter", scheduler.*exposed(cooldown_counter_tag{}));
  body("num_bad_epochs", scheduler.*exposed(num_bad_epochs_tag{}));
  body("last_epoch", scheduler.*exposed(last_epoch_tag{}));
}

}  // namespace

void save(const Plateau& scheduler, const StateWriter& writer) {
  each_counter(const_cast<Plateau&>(scheduler),
               [&](const char* name, const auto& value) { writer.number(name, value); });
}
void load(Plateau& scheduler, const StateReader& reader) {
  each_counter(scheduler, [&](const char* name, auto& value) { reader.number(name, value); });
}
#endif

}  // namespace flor::libtorch
