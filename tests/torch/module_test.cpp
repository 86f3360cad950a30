// Modules: what of them is saved, that restoring is exact and in place, and what is refused.
#include "core_double.h"
#include "support/memory_state.h"

#include <flor/torch.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/serialize/archive.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace module_test {
namespace {

namespace nn = torch::nn;
using flor::testing::MemoryState;
using testing::Contains;
using testing::HasSubstr;

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const flor::Error& error) {
    return error.what();
  }
  return "no error";
}

struct Block : nn::Module {
  explicit Block(std::int64_t width = 4) {
    linear = register_module("linear", nn::Linear(3, width));
    norm = register_module("norm", nn::BatchNorm1d(width));
  }
  at::Tensor forward(const at::Tensor& input) { return norm(linear(input)); }
  nn::Linear linear{nullptr};
  nn::BatchNorm1d norm{nullptr};
};

TEST(Modules, KeepParametersAndBuffersByName) {
  Block block;
  MemoryState state;
  state.save("model", block);
  EXPECT_EQ(state.names(),
            (std::set<std::string>{"model/.layout", "model/linear.bias", "model/linear.weight",
                                   "model/norm.bias", "model/norm.num_batches_tracked",
                                   "model/norm.running_mean", "model/norm.running_var",
                                   "model/norm.weight"}));
  EXPECT_EQ(state.item("model/linear.weight").sizes, (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(state.item("model/linear.weight").type, flor::store::ElementType::f32);
  EXPECT_EQ(state.item("model/norm.num_batches_tracked").type, flor::store::ElementType::i64);
}

TEST(Modules, BatchNormComesBackWithItsStatistics) {
  Block block;
  for (int i = 0; i < 3; ++i) block.forward(at::randn({8, 3}));
  MemoryState state;
  state.save("model", block);
  const at::Tensor mean = block.norm->running_mean.clone();
  block.forward(at::randn({8, 3}));
  state.load("model", block);
  EXPECT_TRUE(at::equal(block.norm->running_mean, mean));
  EXPECT_EQ(block.norm->num_batches_tracked.item<std::int64_t>(), 3);
}

TEST(Modules, AreRestoredInPlaceAndAutogradNotices) {
  Block block;
  MemoryState state;
  state.save("model", block);
  const at::Tensor weight = block.linear->weight;
  const void* content = weight.data_ptr();
  const at::Tensor input = at::randn({8, 3}).requires_grad_();
  const at::Tensor loss = block.forward(input).sum();
  state.load("model", block);
  EXPECT_EQ(block.linear->weight.unsafeGetTensorImpl(), weight.unsafeGetTensorImpl());
  EXPECT_EQ(block.linear->weight.data_ptr(), content);
  EXPECT_THROW(loss.backward(), c10::Error) << "a saved tensor was changed";
}

TEST(Modules, TrainingModeComesBackForEachSubmodule) {
  Block block;
  block.norm->eval();
  MemoryState state;
  state.save("model", block);
  block.eval();
  block.norm->train();
  state.load("model", block);
  EXPECT_TRUE(block.is_training());
  EXPECT_TRUE(block.linear->is_training());
  EXPECT_FALSE(block.norm->is_training());
}

TEST(Modules, FreezingComesBack) {
  Block block;
  block.linear->weight.requires_grad_(false);
  MemoryState state;
  state.save("model", block);
  block.linear->weight.requires_grad_(true);
  block.linear->bias.requires_grad_(false);
  state.load("model", block);
  EXPECT_FALSE(block.linear->weight.requires_grad());
  EXPECT_TRUE(block.linear->bias.requires_grad());
}

TEST(Modules, OfEveryFormHaveTheSameState) {
  const auto shared = std::make_shared<Block>();
  MemoryState expected;
  expected.save("m", *shared);
  const auto saved = [](const auto& value) {
    MemoryState state;
    state.save("m", value);
    return state;
  };
  std::shared_ptr<nn::Module> base = shared;
  EXPECT_EQ(saved(shared), expected);
  EXPECT_EQ(saved(base), expected);
  EXPECT_EQ(saved(*base), expected);
  EXPECT_EQ(saved(nn::AnyModule(shared)), expected);
  EXPECT_EQ(saved(nn::ModuleHolder<Block>(shared)), expected);
}

template <typename T>
void expect_restores(T& module, const at::Tensor& weight) {
  MemoryState state;
  state.save("model", module);
  const at::Tensor before = weight.detach().clone();
  {
    const at::NoGradGuard no_grad;
    weight.add_(1);
  }
  state.load("model", module);
  EXPECT_TRUE(at::equal(weight, before));
}

TEST(Modules, ContainersAreRestored) {
  nn::Sequential sequential(nn::Linear(2, 3), nn::Dropout(0.5), nn::Linear(3, 1));
  expect_restores(sequential, sequential->parameters().back());
  nn::ModuleList list(nn::Linear(2, 3), nn::Linear(3, 1));
  expect_restores(list, list->parameters().back());
  nn::AnyModule any(nn::Linear(2, 3));
  expect_restores(any, any.ptr()->parameters().back());
  std::vector<nn::Linear> linears{nn::Linear(2, 3), nn::Linear(3, 1)};
  expect_restores(linears, linears.back()->weight);
}

TEST(Modules, EmptyOnesAreRefused) {
  nn::Linear linear{nullptr};
  nn::AnyModule any;
  MemoryState state;
  EXPECT_THAT(error_of([&] { state.save("m", linear); }), HasSubstr("register it after it is set"));
  EXPECT_THAT(error_of([&] { state.save("m", any); }), HasSubstr("register it after it is set"));
}

/// A linear layer whose weight may be another module's.
struct Decoder : nn::LinearImpl {
  Decoder() : nn::LinearImpl(nn::LinearOptions(4, 5).bias(false)) {}
  void share(const at::Tensor& other) { weight = parameters_["weight"] = other; }
};

struct Tied : nn::Module {
  explicit Tied(bool tie = true) {
    encoder = register_module("encoder", nn::Embedding(5, 4));
    decoder = register_module("decoder", std::make_shared<Decoder>());
    if (tie) decoder->share(encoder->weight);
  }
  nn::Embedding encoder{nullptr};
  std::shared_ptr<Decoder> decoder;
};

TEST(Modules, TiedWeightsAreKeptOnce) {
  Tied tied;
  ASSERT_EQ(tied.parameters().size(), 2U);
  expect_restores(tied, tied.encoder->weight);
  MemoryState state;
  state.save("model", tied);
  EXPECT_TRUE(state.has("model/encoder.weight"));
  EXPECT_FALSE(state.has("model/decoder.weight"));
}

TEST(Modules, WeightsTiedThenAndNotNowAreBothRestored) {
  Tied tied;
  Tied separate(false);
  MemoryState state;
  state.save("model", tied);
  state.load("model", separate);
  EXPECT_TRUE(at::equal(separate.encoder->weight, tied.encoder->weight));
  EXPECT_TRUE(at::equal(separate.decoder->weight, tied.encoder->weight));

  MemoryState separated;
  separated.save("model", separate);
  EXPECT_THAT(error_of([&] { separated.load("model", tied); }), HasSubstr("one tensor here"));
}

TEST(Modules, AnotherShapeIsRefusedByNameAndChangesNothing) {
  Block recorded(4);
  Block wider(5);
  MemoryState state;
  state.save("model", recorded);
  const at::Tensor before = wider.linear->weight.detach().clone();
  EXPECT_THAT(error_of([&] { state.load("model", wider); }),
              HasSubstr("'model/linear.weight' was recorded as Float [4,3], but is Float [5,3]"));
  EXPECT_TRUE(at::equal(wider.linear->weight, before));
}

TEST(Modules, AnotherTypeIsRefusedByName) {
  Block recorded;
  Block halved;
  halved.to(at::kBFloat16);
  MemoryState state;
  state.save("model", recorded);
  EXPECT_THAT(error_of([&] { state.load("model", halved); }),
              HasSubstr("recorded as Float [4,3], but is BFloat16 [4,3]"));
}

TEST(Modules, MissingAndAdditionalParametersAreRefusedByName) {
  nn::Sequential one(nn::Linear(2, 3));
  nn::Sequential two(nn::Linear(2, 3), nn::Linear(3, 1));
  MemoryState state_of_one;
  MemoryState state_of_two;
  state_of_one.save("model", one);
  state_of_two.save("model", two);
  EXPECT_THAT(error_of([&] { state_of_two.load("model", one); }),
              HasSubstr("parameter 'model/1.bias' was recorded, but the model has none"));
  EXPECT_THAT(error_of([&] { state_of_one.load("model", two); }),
              HasSubstr("the model has a tensor 'model/1.weight' that was not there"));
}

TEST(Modules, SubmodulesWithoutTensorsMayComeAndGo) {
  nn::Sequential plain(nn::Linear(2, 3));
  nn::Sequential more(nn::Linear(2, 3), nn::Dropout(0.5));
  MemoryState state;
  state.save("model", plain);
  EXPECT_EQ(error_of([&] { state.load("model", more); }), "no error");
}

TEST(Modules, ABufferThatHasNotBeenSetIsNotThere) {
  nn::BatchNorm1d norm(nn::BatchNorm1dOptions(4).track_running_stats(false).affine(false));
  MemoryState state;
  state.save("model", norm);
  EXPECT_EQ(state.names(), (std::set<std::string>{"model/.layout"}));
  EXPECT_EQ(error_of([&] { state.load("model", norm); }), "no error");
}

struct Counting : nn::Module {
  Counting() { linear = register_module("linear", nn::Linear(1, 1)); }
  void save(std::ostream& out) const { out << calls; }
  void load(std::istream& in) { in >> calls; }
  using nn::Module::load;
  using nn::Module::save;
  nn::Linear linear{nullptr};
  int calls = 0;
};

TEST(Modules, WhatAClassSavesItselfIsKeptBesideItsTensors) {
  Counting counting;
  counting.calls = 7;
  MemoryState state;
  state.save("model", counting);
  EXPECT_THAT(state.names(), Contains("model/linear.weight"));
  counting.calls = 0;
  state.load("model", counting);
  EXPECT_EQ(counting.calls, 7);
}

struct Vocabulary {
  void save(torch::serialize::OutputArchive& archive) const {
    archive.write("size", c10::IValue(size));
    archive.write("table", table);
  }
  void load(torch::serialize::InputArchive& archive) {
    c10::IValue value;
    archive.read("size", value);
    size = value.toInt();
    archive.read("table", table);
  }
  std::int64_t size = 0;
  at::Tensor table = at::zeros({2});
};

TEST(UserTypes, ThatSaveToLibtorchsArchivesAreKept) {
  Vocabulary vocabulary{.size = 9, .table = at::ones({3})};
  MemoryState state;
  MemoryState same;
  state.save("object", vocabulary);
  same.save("object", vocabulary);
  EXPECT_EQ(state, same);
  Vocabulary restored;
  state.load("object", restored);
  EXPECT_EQ(restored.size, 9);
  EXPECT_TRUE(at::equal(restored.table, vocabulary.table));
}

TEST(Kinds, NameUnnamedObjects) {
  EXPECT_EQ(flor::StateTraits<Block>::kind, "model");
  EXPECT_EQ(flor::StateTraits<nn::Sequential>::kind, "model");
  EXPECT_EQ(flor::StateTraits<nn::AnyModule>::kind, "model");
  EXPECT_EQ(flor::StateTraits<std::shared_ptr<Block>>::kind, "model");
  EXPECT_EQ(flor::StateTraits<at::Tensor>::kind, "tensor");
}

}  // namespace
}  // namespace module_test
