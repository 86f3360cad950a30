// Gradients: not kept where a program clears them, never lost where it carries them.
#include "core_double.h"
#include "memory_state.h"

#include <flor/torch.h>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <vector>

namespace gradient_test {
namespace {

using flor::testing::core;
using flor::testing::MemoryState;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Gradients : public testing::Test {
 protected:
  Gradients() { forget(); }
  ~Gradients() override { forget(); }
  static void forget() {
    flor::libtorch::reset_gradients_are_carried();
    core().invalidated.clear();
  }

  void backward() { net(at::ones({2, 3})).sum().backward(); }
  /// As libtorch 1's zero_grad() does, and as libtorch 2's.
  void zero() {
    for (const at::Tensor& parameter : net->parameters()) {
      if (parameter.grad().defined()) parameter.mutable_grad().detach_().zero_();
    }
  }
  void drop() {
    for (const at::Tensor& parameter : net->parameters()) parameter.mutable_grad().reset();
  }
  MemoryState checkpoint() const {
    MemoryState state;
    state.save("model", net);
    return state;
  }
  at::Tensor weight_gradient() const { return net->weight.grad(); }

  torch::nn::Linear net{3, 2};
};

TEST_F(Gradients, ThatAreUndefinedComeBackUndefined) {
  MemoryState state = checkpoint();
  backward();
  state.load("model", net);
  EXPECT_FALSE(weight_gradient().defined());
}

TEST_F(Gradients, ThatAreZeroComeBackZero) {
  backward();
  zero();
  MemoryState state = checkpoint();
  backward();
  state.load("model", net);
  ASSERT_TRUE(weight_gradient().defined());
  EXPECT_TRUE(at::equal(weight_gradient(), at::zeros({2, 3})));
  drop();
  state.load("model", net);
  ASSERT_TRUE(weight_gradient().defined());
  EXPECT_TRUE(at::equal(weight_gradient(), at::zeros({2, 3})));
}

TEST_F(Gradients, ThatAreNotKeptCannotBeMistakenForKept) {
  backward();
  MemoryState state = checkpoint();
  EXPECT_FALSE(state.has("model/grad/weight"));
  zero();
  state.load("model", net);
  EXPECT_TRUE(weight_gradient().isnan().all().item<bool>());
  zero();
  EXPECT_TRUE(at::equal(weight_gradient(), at::zeros({2, 3}))) << "clearing must clear";
}

TEST_F(Gradients, AreDescribedTheSameAfterARestore) {
  backward();
  MemoryState state = checkpoint();
  zero();
  state.load("model", net);
  EXPECT_EQ(checkpoint().bytes("model/.layout"), state.bytes("model/.layout"));
}

TEST_F(Gradients, ThatAreClearedBeforeTheNextBackwardPassAreNotCarried) {
  for (int epoch = 0; epoch < 3; ++epoch) {
    zero();
    backward();
    checkpoint();
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    drop();
    backward();
    checkpoint();
  }
  EXPECT_FALSE(flor::libtorch::gradients_are_carried());
  EXPECT_THAT(core().invalidated, IsEmpty());
}

TEST_F(Gradients, ThatAreAccumulatedAcrossACheckpointAreKeptFromThenOn) {
  backward();
  const MemoryState first = checkpoint();
  EXPECT_FALSE(first.has("model/grad/weight"));
  EXPECT_THAT(core().invalidated, IsEmpty());
  backward();
  EXPECT_TRUE(flor::libtorch::gradients_are_carried());
  EXPECT_THAT(core().invalidated, SizeIs(1));

  MemoryState second = checkpoint();
  EXPECT_TRUE(second.has("model/grad/weight"));
  EXPECT_TRUE(second.has("model/grad/bias"));
  const at::Tensor expected = weight_gradient().clone();
  backward();
  EXPECT_THAT(core().invalidated, SizeIs(1)) << "said once";
  second.load("model", net);
  EXPECT_TRUE(at::equal(weight_gradient(), expected));
}

TEST_F(Gradients, ThatAreCarriedOnlyLaterAreFoundThen) {
  backward();
  checkpoint();
  zero();
  backward();
  EXPECT_FALSE(flor::libtorch::gradients_are_carried());
  checkpoint();
  backward();
  EXPECT_TRUE(flor::libtorch::gradients_are_carried());
}

TEST_F(Gradients, OfOneParameterAreCarriedThoughOthersAreCleared) {
  backward();
  checkpoint();
  net->weight.mutable_grad().detach_().zero_();
  backward();
  EXPECT_TRUE(flor::libtorch::gradients_are_carried());
}

TEST_F(Gradients, OnlyTheFirstBackwardPassAfterACheckpointDecides) {
  backward();
  checkpoint();
  zero();
  backward();
  backward();  // accumulation within an epoch
  EXPECT_FALSE(flor::libtorch::gradients_are_carried());
}

TEST_F(Gradients, AreNotLookedAtForeverWhereTheyAreCleared) {
  const auto hooks = [&] {
    const auto node = torch::autograd::impl::try_get_grad_accumulator(net->weight);
    return node ? node->pre_hooks().size() : 0;
  };
  backward();
  checkpoint();
  EXPECT_EQ(hooks(), 1U);
  for (int epoch = 0; epoch < 20; ++epoch) {
    zero();
    backward();
    checkpoint();
  }
  EXPECT_EQ(hooks(), 0U);
  MemoryState state = checkpoint();
  state.load("model", net);
  EXPECT_TRUE(weight_gradient().isnan().all().item<bool>()) << "still not taken for kept";
}

TEST_F(Gradients, OfAModelThatIsGoneAreForgotten) {
  {
    torch::nn::Linear other(3, 2);
    other(at::ones({2, 3})).sum().backward();
    MemoryState state;
    state.save("other", other);
  }
  backward();
  EXPECT_FALSE(flor::libtorch::gradients_are_carried());
}

TEST_F(Gradients, OfAReplayAreKeptAsTheRecordKeptThem) {
  backward();
  checkpoint();
  backward();
  MemoryState kept = checkpoint();
  forget();  // another process
  torch::nn::Linear fresh(3, 2);
  kept.load("model", fresh);
  EXPECT_TRUE(at::equal(fresh->weight.grad(), weight_gradient()));
  MemoryState again;
  again.save("model", fresh);
  EXPECT_EQ(again.dump(), kept.dump());
  EXPECT_THAT(core().invalidated, IsEmpty());
}

TEST_F(Gradients, AreKeptFromTheStartWhereTheProgramSaysSo) {
  auto gradients = flor::gradients(net);
  backward();
  const at::Tensor expected = weight_gradient().clone();
  MemoryState state = checkpoint();
  state.save("gradients", gradients);
  backward();
  EXPECT_FALSE(flor::libtorch::gradients_are_carried());
  for (const bool gradients_first : {false, true}) {
    zero();
    if (gradients_first) state.load("gradients", gradients);
    state.load("model", net);
    if (!gradients_first) state.load("gradients", gradients);
    EXPECT_TRUE(at::equal(weight_gradient(), expected));
  }
}

TEST_F(Gradients, OfARegisteredTensorAreWatchedToo) {
  at::Tensor tensor = at::ones({4}).requires_grad_();
  const auto step = [&] { (tensor * tensor).sum().backward(); };
  step();
  MemoryState state;
  state.save("tensor", tensor);
  step();
  EXPECT_TRUE(flor::libtorch::gradients_are_carried());
  MemoryState kept;
  kept.save("tensor", tensor);
  const at::Tensor expected = tensor.grad().clone();
  step();
  kept.load("tensor", tensor);
  EXPECT_TRUE(at::equal(tensor.grad(), expected));
}

TEST_F(Gradients, OfFrozenParametersDoNoHarm) {
  net->weight.requires_grad_(false);
  backward();
  checkpoint();
  zero();
  backward();
  EXPECT_FALSE(flor::libtorch::gradients_are_carried());
  net->weight.requires_grad_(true);
  zero();
  backward();
  checkpoint();
  backward();
  EXPECT_TRUE(flor::libtorch::gradients_are_carried());
}

TEST_F(Gradients, AreTheSameWithAndWithoutCheckpoints) {
  backward();
  const at::Tensor plain = weight_gradient().clone();
  checkpoint();
  zero();
  backward();
  EXPECT_TRUE(at::equal(weight_gradient(), plain));
  checkpoint();
  drop();
  backward();
  EXPECT_TRUE(at::equal(weight_gradient(), plain));
}

/// An embedding whose gradients are sparse, with words that occur twice: what is added to a sparse
/// gradient rounds otherwise than what is added to a dense one.
class SparseGradients : public Gradients {
 protected:
  SparseGradients() {
    torch::manual_seed(4);
    net = torch::nn::Embedding(torch::nn::EmbeddingOptions(20, 3).sparse(true));
    optimizer = std::make_unique<torch::optim::SGD>(net->parameters(), 0.3);
  }
  void accumulate(int step) {
    const at::Tensor words = at::arange(24).mul(7 + step).remainder(11);
    net(words).mul(at::arange(72).view({24, 3}).mul(0.1)).pow(2).sum().backward();
  }
  void clear() {
    if (gradient().defined()) gradient().detach_().zero_();
  }
  void train(int first, int last) {
    for (int step = first; step < last; ++step) {
      clear();
      accumulate(step);
      optimizer->step();
    }
  }
  MemoryState checkpoint() const {
    MemoryState state;
    state.save("model", net);
    return state;
  }
  at::Tensor& gradient() const { return net->weight.mutable_grad(); }

  torch::nn::Embedding net{nullptr};
  std::unique_ptr<torch::optim::SGD> optimizer;
};

TEST_F(SparseGradients, LeaveTheTrainingAsItWasWhetherTheyAreClearedBeforeTheCheckpointOrAfter) {
  for (const bool cleared : {true, false}) {
    train(0, 2);
    if (cleared) clear();
    MemoryState state = checkpoint();
    train(2, 4);
    const at::Tensor expected = net->weight.detach().clone();
    gradient().reset();
    state.load("model", net);
    ASSERT_TRUE(gradient().is_sparse());
    EXPECT_EQ(gradient()._nnz(), cleared ? 0 : 1);
    EXPECT_EQ(at::isnan(gradient()._values()).all().item<bool>(), true);
    MemoryState again = checkpoint();
    EXPECT_EQ(again.bytes("model/.layout"), state.bytes("model/.layout"));
    train(2, 4);
    EXPECT_TRUE(at::equal(net->weight, expected)) << cleared;
  }
}

TEST_F(SparseGradients, ThatAreCarriedComeBackWithTheSameElementsInTheSameOrder) {
  accumulate(0);
  checkpoint();
  accumulate(1);
  ASSERT_TRUE(flor::libtorch::gradients_are_carried());
  MemoryState state = checkpoint();
  const at::Tensor indices = gradient()._indices().clone(), values = gradient()._values().clone();
  accumulate(2);
  optimizer->step();
  const at::Tensor expected = net->weight.detach().clone();
  gradient().reset();
  state.load("model", net);
  EXPECT_TRUE(at::equal(gradient()._indices(), indices));
  EXPECT_TRUE(at::equal(gradient()._values(), values));
  EXPECT_FALSE(gradient().is_coalesced());
  accumulate(2);
  optimizer->step();
  EXPECT_TRUE(at::equal(net->weight, expected));
}

TEST_F(SparseGradients, AreKeptByFlorGradients) {
  auto gradients = flor::gradients(net);
  accumulate(0);
  MemoryState state;
  state.save("gradients", gradients);
  const at::Tensor values = gradient()._values().clone();
  gradient().reset();
  state.load("gradients", gradients);
  EXPECT_TRUE(at::equal(gradient()._values(), values));
}

}  // namespace
}  // namespace gradient_test
