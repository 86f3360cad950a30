// Gradients are state: what can be read or accumulated into after a checkpoint is the same after a
// restore.
#include "support/memory_state.h"

#include <flor/torch.h>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace gradient_test {
namespace {

using flor::testing::MemoryState;

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor left = a.contiguous(), right = b.contiguous();
  return left.sizes() == right.sizes() &&
         std::memcmp(left.data_ptr(), right.data_ptr(), left.nbytes()) == 0;
}

class Gradients : public testing::Test {
 protected:
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

TEST_F(Gradients, ThatAreZeroComeBackZeroAndCostNothing) {
  backward();
  zero();
  MemoryState state = checkpoint();
  EXPECT_FALSE(state.has("model/grad/weight"));
  backward();
  state.load("model", net);
  ASSERT_TRUE(weight_gradient().defined());
  EXPECT_TRUE(same_bits(weight_gradient(), at::zeros({2, 3})));
  drop();
  state.load("model", net);
  ASSERT_TRUE(weight_gradient().defined());
  EXPECT_TRUE(same_bits(weight_gradient(), at::zeros({2, 3})));
}

TEST_F(Gradients, ComeBackBitForBitWhateverWasThereBefore) {
  backward();
  weight_gradient()[0][0] = -0.0F;
  weight_gradient()[1][1] = std::nanf("7");
  const at::Tensor expected = weight_gradient().clone();
  MemoryState state = checkpoint();
  for (const auto& change : std::vector<std::function<void()>>{[&] { zero(); }, [&] { drop(); },
                                                               [&] { backward(); }}) {
    change();
    state.load("model", net);
    EXPECT_TRUE(same_bits(weight_gradient(), expected));
    EXPECT_EQ(checkpoint().dump(), state.dump());
  }
}

TEST_F(Gradients, OfNegativeZerosAreNotTakenForZero) {
  backward();
  weight_gradient().fill_(-0.0F);
  const at::Tensor expected = weight_gradient().clone();
  MemoryState state = checkpoint();
  drop();
  state.load("model", net);
  EXPECT_TRUE(same_bits(weight_gradient(), expected));
}

TEST_F(Gradients, ComeBackInTheirMemoryLayoutSinceSumsDependOnIt) {
  net->weight.mutable_grad() = at::randn({3, 2}).t();
  const at::Tensor expected = weight_gradient().clone();
  MemoryState state = checkpoint();
  for (const bool defined : {true, false}) {
    if (defined) {
      net->weight.mutable_grad() = at::zeros({2, 3});
    } else {
      drop();
    }
    state.load("model", net);
    EXPECT_TRUE(same_bits(weight_gradient(), expected));
    EXPECT_EQ(weight_gradient().strides(), (at::IntArrayRef{1, 2}));
  }
}

TEST_F(Gradients, ThatAreAccumulatedAcrossACheckpointGoOn) {
  backward();
  MemoryState state = checkpoint();
  backward();
  const at::Tensor expected = weight_gradient().clone();
  drop();
  state.load("model", net);
  backward();
  EXPECT_TRUE(same_bits(weight_gradient(), expected));
}

TEST_F(Gradients, OfARegisteredTensorComeBack) {
  at::Tensor tensor = at::ones({4}).requires_grad_();
  (tensor * tensor).sum().backward();
  MemoryState state;
  state.save("tensor", tensor);
  const at::Tensor expected = tensor.grad().clone();
  (tensor * tensor).sum().backward();
  state.load("tensor", tensor);
  EXPECT_TRUE(same_bits(tensor.grad(), expected));
  at::Tensor fresh;
  state.load("tensor", fresh);
  EXPECT_TRUE(same_bits(fresh.grad(), expected));
}

TEST_F(Gradients, OfFrozenParametersComeBack) {
  backward();
  net->weight.requires_grad_(false);
  const at::Tensor expected = weight_gradient().clone();
  MemoryState state = checkpoint();
  drop();
  net->weight.requires_grad_(true);
  state.load("model", net);
  EXPECT_FALSE(net->weight.requires_grad());
  EXPECT_TRUE(same_bits(weight_gradient(), expected));
}

TEST_F(Gradients, InOneBufferStayInIt) {
  const at::Tensor buffer = at::zeros({8});
  net->weight.mutable_grad() = buffer.narrow(0, 0, 6).view({2, 3});
  net->bias.mutable_grad() = buffer.narrow(0, 6, 2);
  for (const bool cleared : {false, true}) {
    buffer.zero_();
    if (!cleared) backward();
    const at::Tensor expected = buffer.clone();
    MemoryState state = checkpoint();
    buffer.fill_(5);
    state.load("model", net);
    EXPECT_TRUE(same_bits(buffer, expected)) << cleared;
    EXPECT_EQ(net->bias.grad().data_ptr<float>(), buffer.data_ptr<float>() + 6);
  }
}

TEST_F(Gradients, AreTheSameWithAndWithoutCheckpoints) {
  backward();
  const at::Tensor plain = weight_gradient().clone();
  checkpoint();
  zero();
  backward();
  EXPECT_TRUE(same_bits(weight_gradient(), plain));
  checkpoint();
  drop();
  backward();
  EXPECT_TRUE(same_bits(weight_gradient(), plain));
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
    EXPECT_EQ(gradient()._nnz(), cleared ? 0 : 24);
    MemoryState again = checkpoint();
    EXPECT_EQ(again.bytes("model/.layout"), state.bytes("model/.layout"));
    train(2, 4);
    EXPECT_TRUE(at::equal(net->weight, expected)) << cleared;
  }
}

TEST_F(SparseGradients, ThatAreCarriedComeBackWithTheSameElementsInTheSameOrder) {
  accumulate(0);
  accumulate(1);
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

}  // namespace
}  // namespace gradient_test
