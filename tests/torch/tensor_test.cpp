// Registered tensors of every kind, alone and in containers, and the generators.
#include "core_double.h"
#include "support/memory_state.h"

#include <flor/torch.h>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tensor_test {
namespace {

using flor::testing::MemoryState;
using testing::HasSubstr;

MemoryState saved(const at::Tensor& tensor) {
  MemoryState state;
  state.save("t", tensor);
  return state;
}

/// The tensor that a program which starts with `start` gets from a checkpoint of `tensor`.
at::Tensor restored(const at::Tensor& tensor, at::Tensor start = {}) {
  MemoryState state = saved(tensor);
  state.load("t", start);
  return start;
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor left = a.contiguous();
  const at::Tensor right = b.contiguous();
  return left.scalar_type() == right.scalar_type() && left.sizes() == right.sizes() &&
         (left.nbytes() == 0 || std::memcmp(left.data_ptr(), right.data_ptr(), left.nbytes()) == 0);
}

TEST(Tensors, OfEveryTypeComeBackBitForBit) {
  for (const at::ScalarType type :
       {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf, at::kBFloat16,
        at::kFloat, at::kDouble, at::kComplexFloat, at::kComplexDouble}) {
    const at::Tensor tensor = at::randn({3, 5}).mul(3).to(type);
    EXPECT_TRUE(same_bits(restored(tensor), tensor)) << tensor.dtype();
    EXPECT_TRUE(same_bits(restored(tensor, at::zeros_like(tensor)), tensor)) << tensor.dtype();
  }
}

TEST(Tensors, OfEveryShapeComeBack) {
  for (const std::vector<std::int64_t>& sizes :
       std::vector<std::vector<std::int64_t>>{{}, {0}, {3, 0, 2}, {1}, {7}, {2, 3, 4, 5}}) {
    const at::Tensor tensor = at::randn(sizes);
    EXPECT_TRUE(same_bits(restored(tensor), tensor)) << tensor.sizes();
    EXPECT_TRUE(same_bits(restored(tensor, at::zeros(sizes)), tensor)) << tensor.sizes();
  }
}

TEST(Tensors, InAnyMemoryLayoutComeBack) {
  const at::Tensor base = at::randn({2, 3, 4, 5});
  const at::Tensor complex = at::randn({3, 4}, at::kComplexFloat);
  for (const at::Tensor& tensor :
       {base.transpose(1, 3), base.slice(2, 0, 4, 2),
        base.contiguous(at::MemoryFormat::ChannelsLast), base.select(1, 1), complex.conj(),
        at::imag(complex.conj()), at::ones({1}).expand({4})}) {
    EXPECT_TRUE(same_bits(restored(tensor), tensor.resolve_conj().resolve_neg()));
  }
}

TEST(Tensors, AreFilledInPlaceInAnyMemoryLayout) {
  const at::Tensor recorded = at::randn({8, 3}).slice(0, 0, 8, 2).t();
  at::Tensor memory = at::zeros({8, 3});
  at::Tensor view = memory.slice(0, 0, 8, 2).t();  // 3 x 4, strided
  MemoryState state = saved(recorded);
  state.load("t", view);
  EXPECT_TRUE(at::equal(view, recorded));
  EXPECT_TRUE(at::equal(memory.slice(0, 0, 8, 2).t(), recorded));
  EXPECT_EQ(memory.slice(0, 1, 8, 2).abs().sum().item<float>(), 0) << "wrote between the elements";
}

TEST(Tensors, ThatWereReplacedGetTheRecordedShapeAndType) {
  const at::Tensor recorded = at::randn({3, 4});
  EXPECT_TRUE(same_bits(restored(recorded, at::zeros({9})), recorded));
  EXPECT_TRUE(same_bits(restored(recorded, at::zeros({3, 4}, at::kLong)), recorded));
}

TEST(Tensors, UndefinedOnesComeBackUndefined) {
  EXPECT_FALSE(restored({}, at::ones({2})).defined());
  EXPECT_FALSE(restored({}).defined());
}

TEST(Tensors, RequiresGradComesBack) {
  EXPECT_TRUE(restored(at::ones({2}).requires_grad_()).requires_grad());
  EXPECT_FALSE(restored(at::ones({2}), at::ones({2}).requires_grad_()).requires_grad());
  const at::Tensor result = at::ones({2}).requires_grad_() * 2;  // not a leaf
  EXPECT_TRUE(same_bits(restored(result).detach(), result.detach()));
}

TEST(Tensors, ThatWereComputedComeBackAsSuchWithTheirHistoryLost) {
  const at::Tensor weight = at::randn({2}).requires_grad_();
  at::Tensor hidden = weight * 2;  // as the hidden state that a recurrent network carries on
  const MemoryState recorded = saved(hidden);
  hidden = weight * 3;
  MemoryState state = recorded;
  state.load("t", hidden);
  EXPECT_FALSE(hidden.is_leaf());
  EXPECT_TRUE(hidden.requires_grad());
  EXPECT_ANY_THROW(hidden.sum().backward());
  EXPECT_TRUE(same_bits(hidden.detach(), weight.detach() * 2));
  // A replay that loads it instead of computing it finds the recorded state.
  EXPECT_TRUE(saved(hidden) == recorded);
}

TEST(Tensors, TellAutogradThatTheyChanged) {
  at::Tensor tensor = at::ones({2});
  MemoryState state = saved(tensor);
  const auto version = tensor._version();
  state.load("t", tensor);
  EXPECT_GT(tensor._version(), version);
  at::Tensor strided = at::ones({2, 2}).t();
  MemoryState strided_state = saved(strided);
  const auto strided_version = strided._version();
  strided_state.load("t", strided);
  EXPECT_GT(strided._version(), strided_version);
}

TEST(Tensors, OfNoContentAreRefusedByName) {
  for (const at::Tensor& tensor : {at::empty({2}, at::TensorOptions().device(at::kMeta)),
                                   at::ones({4, 4}).to_mkldnn()}) {
    try {
      saved(tensor);
      FAIL() << "was not refused";
    } catch (const flor::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("'t'"));
    }
  }
}

TEST(Tensors, ThatAreSparseComeBack) {
  at::Tensor uncoalesced = at::sparse_coo_tensor(at::tensor({0, 2, 0}, at::kLong).view({1, 3}),
                                                 at::randn({3, 2}), {4, 2});
  const at::Tensor dense = at::randn({4, 6}).relu();
  for (const at::Tensor& tensor :
       {at::eye(3).to_sparse(), uncoalesced, at::zeros({3, 0}).to_sparse(),
        dense.to(at::kDouble).to_sparse(1), dense.to_sparse_csr(), dense.to_sparse_csc(),
        dense.to_sparse_bsr({2, 3}), dense.to_sparse_bsc({2, 3})}) {
    for (const at::Tensor& start : {at::Tensor(), at::ones({2}), tensor.clone().zero_()}) {
      const at::Tensor found = restored(tensor, start);
      EXPECT_EQ(found.layout(), tensor.layout());
      EXPECT_TRUE(same_bits(found.to_dense(), tensor.to_dense()));
      EXPECT_TRUE(saved(found) == saved(tensor)) << tensor.layout();
      EXPECT_TRUE(!tensor.is_sparse() || found.is_coalesced() == tensor.is_coalesced());
    }
  }
}

TEST(Tensors, ThatAreQuantizedComeBack) {
  const at::Tensor content = at::randn({3, 4});
  const at::Tensor scales = at::rand({3}).to(at::kDouble) + 0.1, zeros = at::tensor({1, 2, 3});
  for (const at::Tensor& tensor :
       {at::quantize_per_tensor(content, 0.1, 3, at::kQInt8),
        at::quantize_per_tensor(content, 0.05, 128, at::kQUInt8),
        at::quantize_per_tensor(content, 1e-4, 0, at::kQInt32),
        at::quantize_per_channel(content, scales, zeros, 0, at::kQInt8)}) {
    for (const at::Tensor& start : {at::Tensor(), at::ones({2}), tensor.clone()}) {
      const at::Tensor found = restored(tensor, start);
      EXPECT_EQ(found.scalar_type(), tensor.scalar_type());
      EXPECT_EQ(found.qscheme(), tensor.qscheme());
      EXPECT_TRUE(same_bits(found.int_repr(), tensor.int_repr()));
      EXPECT_TRUE(same_bits(found.dequantize(), tensor.dequantize()));
      EXPECT_TRUE(saved(found) == saved(tensor));
    }
  }
}

TEST(Tensors, ComeBackInTheirMemoryLayoutSinceSumsDependOnIt) {
  const at::Tensor base = at::randn({2, 3, 4, 5});
  for (const at::Tensor& tensor :
       {base.transpose(1, 3), base.contiguous(at::MemoryFormat::ChannelsLast)}) {
    EXPECT_EQ(restored(tensor).strides(), tensor.strides());
  }
}

TEST(Tensors, InContainersComeBack) {
  std::vector<at::Tensor> list{at::randn({2}), {}, at::randn({3, 1})};
  std::map<std::string, at::Tensor> named{{"a", at::randn({2})}, {"b", at::randn({1, 1})}};
  std::optional<at::Tensor> maybe = at::randn({4});
  std::pair<at::Tensor, double> pair{at::randn({2}), 2.5};
  std::deque<float> window{1, 2, 3};
  MemoryState state;
  state.save("list", list);
  state.save("named", named);
  state.save("maybe", maybe);
  state.save("pair", pair);
  state.save("window", window);

  std::vector<at::Tensor> list_now{at::ones({5})};
  std::map<std::string, at::Tensor> named_now{{"c", at::ones({1})}};
  std::optional<at::Tensor> maybe_now;
  std::pair<at::Tensor, double> pair_now;
  std::deque<float> window_now;
  state.load("list", list_now);
  state.load("named", named_now);
  state.load("maybe", maybe_now);
  state.load("pair", pair_now);
  state.load("window", window_now);
  ASSERT_EQ(list_now.size(), 3U);
  EXPECT_TRUE(at::equal(list_now[0], list[0]));
  EXPECT_FALSE(list_now[1].defined());
  EXPECT_TRUE(at::equal(list_now[2], list[2]));
  ASSERT_EQ(named_now.size(), 2U);
  EXPECT_TRUE(at::equal(named_now["b"], named["b"]));
  ASSERT_TRUE(maybe_now.has_value());
  EXPECT_TRUE(at::equal(*maybe_now, *maybe));
  EXPECT_TRUE(at::equal(pair_now.first, pair.first));
  EXPECT_EQ(pair_now.second, 2.5);
  EXPECT_EQ(window_now, window);
}

TEST(Generators, OfTheProgramsOwnComeBack) {
  at::Generator generator = at::detail::createCPUGenerator(3);
  at::randn({5}, generator);  // an odd number leaves one normal sample cached
  MemoryState state;
  state.save("generator", generator);
  const at::Tensor expected = at::randn({5}, generator);
  state.load("generator", generator);
  EXPECT_TRUE(at::equal(at::randn({5}, generator), expected));
}

TEST(Generators, TheDefaultOneIsThereWithoutBeingRegistered) {
  const auto& ambient = flor::detail::adapter().ambient;
  ASSERT_EQ(ambient.size(), 1U);
  at::randn({3});
  MemoryState state;
  ambient[0].save(flor::StateWriter(state, ambient[0].name));
  EXPECT_TRUE(state.has("rng/cpu"));
  const auto draw = [] {
    return std::pair{at::randperm(20, at::kLong), at::bernoulli(at::full({50}, 0.5))};
  };
  const auto expected = draw();
  ambient[0].load(flor::StateReader(state, ambient[0].name));
  const auto again = draw();
  EXPECT_TRUE(at::equal(again.first, expected.first));
  EXPECT_TRUE(at::equal(again.second, expected.second));
}

TEST(Generators, ADamagedStateIsRefused) {
  const auto& ambient = flor::detail::adapter().ambient;
  MemoryState state;
  state.bytes("rng/cpu", "short");
  EXPECT_THROW(ambient[0].load(flor::StateReader(state, "rng")), flor::Error);
}

TEST(Adapter, RunsWorkOnTheThreadsOfComputationsAndChangesNothing) {
  const auto& adapter = flor::detail::adapter();
  const int threads = adapter.threads();
  at::manual_seed(1);
  const at::Tensor expected = at::randn({4});
  at::manual_seed(1);
  std::vector<std::atomic<int>> done(1000);
  adapter.parallel(done.size(), [&](std::size_t i) { ++done[i]; });
  adapter.parallel(0, [](std::size_t) { FAIL(); });
  for (const auto& count : done) EXPECT_EQ(count, 1);
  EXPECT_TRUE(at::equal(at::randn({4}), expected));
  EXPECT_EQ(adapter.threads(), threads);
}

TEST(Adapter, SetsTheNumberOfThreads) {
  const auto& adapter = flor::detail::adapter();
  const int before = adapter.threads();
  adapter.set_threads(1);
  EXPECT_EQ(at::get_num_threads(), 1);
  adapter.set_threads(before);
  EXPECT_EQ(at::get_num_threads(), before);
}

TEST(Adapter, KnowsWhatResultsDependOn) {
  const auto facts = flor::detail::adapter().environment();
  EXPECT_THAT(facts.at("libtorch"), testing::MatchesRegex("[0-9]+\\.[0-9]+.*"));
  // The libtorch of PyTorch's wheels has MKL inside.
  EXPECT_THAT(facts.at("blas"), testing::AnyOf(HasSubstr("blas"), HasSubstr("libtorch_cpu")));
  EXPECT_NE(facts.at("cpu capability"), "unknown");
  EXPECT_EQ(facts.at("deterministic algorithms"), "off");
}

TEST(Adapter, HasMemoryForCopiesFromDevices) {
  const auto memory = flor::detail::adapter().allocate_pinned(1000);
  ASSERT_TRUE(memory);
  std::memset(memory.get(), 1, 1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 64, 0U);
}

}  // namespace
}  // namespace tensor_test
