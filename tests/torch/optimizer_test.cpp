// Optimizers and schedulers: what is saved under which name, what comes back, what is refused.
#include "core_double.h"
#include "support/memory_state.h"

#include <flor/torch.h>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim.h>
#include <torch/serialize/archive.h>

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace optimizer_test {
namespace {

namespace optim = torch::optim;
using flor::testing::MemoryState;
using testing::HasSubstr;

std::vector<at::Tensor> parameters() {
  return {at::ones({2}).requires_grad_(), at::ones({1, 2}).requires_grad_()};
}

void step(optim::Optimizer& optimizer) {
  for (auto& group : optimizer.param_groups()) {
    for (at::Tensor& parameter : group.params()) {
      parameter.mutable_grad() = at::full_like(parameter, 0.5);
    }
  }
  optimizer.step();
}

std::string refusal(MemoryState& state, optim::Optimizer& optimizer) {
  try {
    state.load("optimizer", optimizer);
  } catch (const flor::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Optimizers, NameEveryFieldByGroupAndIndex) {
  optim::Adam adam(parameters());
  step(adam);
  MemoryState state;
  state.save("optimizer", adam);
  for (const char* name : {"lr", "beta1", "beta2", "eps", "weight_decay", "amsgrad", "0/step",
                           "0/exp_avg", "0/exp_avg_sq", "1/step", "1/exp_avg", "1/exp_avg_sq"}) {
    EXPECT_TRUE(state.has(std::string("optimizer/group0/") + name)) << name;
  }
  EXPECT_FALSE(state.has("optimizer/group0/0/max_exp_avg_sq"));
  EXPECT_EQ(state.item("optimizer/group0/1/exp_avg").sizes, (std::vector<std::int64_t>{1, 2}));
}

TEST(Optimizers, KeepALearningRateThatWasSetByHand) {
  const auto tensors = parameters();
  optim::SGD sgd(
      {optim::OptimizerParamGroup({tensors[0]}), optim::OptimizerParamGroup({tensors[1]})},
      optim::SGDOptions(0.1));
  sgd.param_groups()[1].options().set_lr(0.025);
  static_cast<optim::SGDOptions&>(sgd.param_groups()[0].options()).momentum(0.8);
  MemoryState state;
  state.save("optimizer", sgd);
  sgd.param_groups()[1].options().set_lr(9);
  static_cast<optim::SGDOptions&>(sgd.param_groups()[0].options()).momentum(0);
  state.load("optimizer", sgd);
  EXPECT_EQ(sgd.param_groups()[0].options().get_lr(), 0.1);
  EXPECT_EQ(sgd.param_groups()[1].options().get_lr(), 0.025);
  EXPECT_EQ(static_cast<optim::SGDOptions&>(sgd.param_groups()[0].options()).momentum(), 0.8);
}

TEST(Optimizers, FillTheirTensorsInPlace) {
  optim::Adam adam(parameters());
  step(adam);
  MemoryState state;
  state.save("optimizer", adam);
  const auto exp_avg = [&] {
    return static_cast<optim::AdamParamState&>(*adam.state().begin()->second).exp_avg();
  };
  const at::Tensor before = exp_avg();
  const at::Tensor expected = before.clone();
  step(adam);
  state.load("optimizer", adam);
  EXPECT_EQ(exp_avg().unsafeGetTensorImpl(), before.unsafeGetTensorImpl());
  EXPECT_TRUE(at::equal(exp_avg(), expected));
}

TEST(Optimizers, OfOtherGroupsAreRefusedInWords) {
  const auto tensors = parameters();
  optim::SGD one(tensors, optim::SGDOptions(0.1));
  optim::SGD two(
      {optim::OptimizerParamGroup({tensors[0]}), optim::OptimizerParamGroup({tensors[1]})},
      optim::SGDOptions(0.1));
  MemoryState state;
  state.save("optimizer", one);
  EXPECT_THAT(refusal(state, two),
              HasSubstr("'optimizer' was recorded as SGD with 1 group of 2 parameters, but is SGD "
                        "with 2 groups of 1, 1 parameters here"));
  optim::Adam adam(tensors);
  EXPECT_THAT(refusal(state, adam), HasSubstr("but is Adam with 1 group of 2 parameters here"));
}

TEST(Optimizers, WithParametersOfAnotherShapeAreRefusedByName) {
  optim::Adam recorded(parameters());
  step(recorded);
  MemoryState state;
  state.save("optimizer", recorded);
  optim::Adam other({at::ones({2}).requires_grad_(), at::ones({3}).requires_grad_()});
  EXPECT_THAT(refusal(state, other),
              HasSubstr("'optimizer/group0/1' was recorded with shape [1,2], but has [3] here"));
}

/// An optimizer of a program's own: each step halves the distance it goes.
struct HalvingOptions : optim::OptimizerCloneableOptions<HalvingOptions> {
  explicit HalvingOptions(double rate = 0.1) { lr(rate); }
  TORCH_ARG(double, lr) = 0.1;

 public:
  void serialize(torch::serialize::InputArchive& archive) override {
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, lr);
  }
  void serialize(torch::serialize::OutputArchive& archive) const override {
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(lr);
  }
  double get_lr() const override { return lr(); }
  void set_lr(const double rate) override { lr(rate); }
};
struct HalvingParamState : optim::OptimizerCloneableParamState<HalvingParamState> {
  TORCH_ARG(at::Tensor, distance);

 public:
  void serialize(torch::serialize::InputArchive& archive) override {
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(at::Tensor, distance);
  }
  void serialize(torch::serialize::OutputArchive& archive) const override {
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(distance);
  }
};
/// Of libtorch 2 the address, before it as a text.
template <typename Key>
Key state_key(const at::Tensor& parameter) {
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream text;
    text << parameter.unsafeGetTensorImpl();
    return text.str();
  } else {
    return parameter.unsafeGetTensorImpl();
  }
}

class Halving : public optim::Optimizer {
 public:
  explicit Halving(std::vector<at::Tensor> tensors)
      : Optimizer(std::move(tensors), std::make_unique<HalvingOptions>()) {}
  at::Tensor step(LossClosure /*closure*/ = nullptr) override {
    const at::NoGradGuard no_grad;
    for (auto& group : param_groups()) {
      for (at::Tensor& parameter : group.params()) {
        using Key = std::remove_cvref_t<decltype(state())>::key_type;
        auto& entry = state()[state_key<Key>(parameter)];
        if (!entry) {
          auto fresh = std::make_unique<HalvingParamState>();
          fresh->distance(at::full_like(parameter, group.options().get_lr()));
          entry = std::move(fresh);
        }
        auto& known = static_cast<HalvingParamState&>(*entry);
        parameter.sub_(known.distance());
        known.distance(known.distance() / 2);
      }
    }
    return {};
  }
  void save(torch::serialize::OutputArchive& archive) const override { serialize(*this, archive); }
  void load(torch::serialize::InputArchive& archive) override { serialize(*this, archive); }

 private:
  template <typename Self, typename Archive>
  static void serialize(Self& self, Archive& archive) {
    _TORCH_OPTIM_SERIALIZE_WITH_TEMPLATE_ARG(Halving);
  }
};

TEST(Optimizers, OfTheProgramsOwnAreKeptThroughTheirSerialize) {
  Halving recorded(parameters());
  recorded.step();
  recorded.param_groups()[0].options().set_lr(0.7);
  MemoryState state;
  MemoryState equal_state;
  state.save("optimizer", recorded);

  Halving fresh(parameters());
  state.load("optimizer", fresh);
  EXPECT_EQ(fresh.param_groups()[0].options().get_lr(), 0.7);
  equal_state.save("optimizer", fresh);
  EXPECT_EQ(equal_state.dump(), state.dump()) << "other addresses, same bytes";
  {
    const at::NoGradGuard no_grad;
    fresh.param_groups()[0].params()[0].copy_(recorded.param_groups()[0].params()[0]);
  }
  recorded.step();
  fresh.step();
  EXPECT_TRUE(
      at::equal(fresh.param_groups()[0].params()[0], recorded.param_groups()[0].params()[0]));
}

TEST(Optimizers, OfTheProgramsOwnForgetTheirStateWhenRestoredToTheStart) {
  Halving optimizer(parameters());
  MemoryState start;
  start.save("optimizer", optimizer);
  optimizer.step();
  start.load("optimizer", optimizer);
  EXPECT_TRUE(optimizer.state().empty());
}

/// Without a serialize there is nothing to keep its state by.
struct Silent : optim::Optimizer {
  struct Options : optim::OptimizerCloneableOptions<Options> {};
  explicit Silent(std::vector<at::Tensor> tensors)
      : Optimizer(std::move(tensors), std::make_unique<Options>()) {}
  at::Tensor step(LossClosure /*closure*/ = nullptr) override { return {}; }
};

TEST(Optimizers, ThatCannotBeSavedAreRefused) {
  Silent silent(parameters());
  MemoryState state;
  try {
    state.save("optimizer", silent);
    FAIL() << "was not refused";
  } catch (const flor::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'optimizer', an optimizer that is not of libtorch"));
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
  }
}

TEST(Schedulers, GoOnWithTheRecordedStep) {
  optim::SGD sgd(parameters(), optim::SGDOptions(1));
  optim::StepLR scheduler(sgd, 3, 0.5);
  const auto rates = [&](int count) {
    std::vector<double> all;
    for (int i = 0; i < count; ++i) {
      scheduler.step();
      all.push_back(sgd.param_groups()[0].options().get_lr());
    }
    return all;
  };
  rates(2);
  MemoryState state;
  state.save("scheduler", scheduler);
  state.save("optimizer", sgd);
  const auto expected = rates(7);
  state.load("scheduler", scheduler);
  state.load("optimizer", sgd);
  EXPECT_EQ(rates(7), expected);
  EXPECT_EQ(flor::StateTraits<optim::StepLR>::kind, "scheduler");
}

/// A scheduler of a program's own, with a state of its own.
struct Cooling : optim::LRScheduler {
  using LRScheduler::LRScheduler;
  void save(const flor::StateWriter& writer) const { writer.number("heat", heat); }
  void load(const flor::StateReader& reader) { reader.number("heat", heat); }
  unsigned steps() const { return step_count_; }
  double heat = 1;

 private:
  std::vector<double> get_lrs() override { return get_current_lrs(); }
};

TEST(Schedulers, OfTheProgramsOwnKeepTheirStepsAndWhatTheySave) {
  optim::SGD sgd(parameters(), optim::SGDOptions(1));
  Cooling cooling(sgd);
  cooling.step();
  cooling.heat = 0.25;
  MemoryState state;
  state.save("scheduler", cooling);
  cooling.step();
  cooling.heat = 0;
  state.load("scheduler", cooling);
  EXPECT_EQ(cooling.steps(), 1U);
  EXPECT_EQ(cooling.heat, 0.25);
}

}  // namespace
}  // namespace optimizer_test
