// Tensors share memory after a restore exactly where they did at the checkpoint, and stand to each
// other in libtorch's graph of gradients as they did, whatever they are when it is restored.
#include "state/registry.h"
#include "support/memory_state.h"

#include <flor/torch.h>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>
#include <torch/optim/sgd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sharing_test {
namespace {

using flor::detail::Registry;
using flor::detail::Slot;
using flor::testing::MemoryState;
using Random = std::mt19937_64;

struct Net : torch::nn::Module {
  Net()
      : a(register_parameter("a", at::randn({2, 3}))),
        b(register_parameter("b", at::randn({2, 3}))),
        buffer(register_buffer("buffer", at::randn({2, 3}))) {}
  at::Tensor a, b, buffer;
};

/// A program's tensors, registered.
struct World {
  World() {
    std::vector<Slot> slots;
    for (std::size_t i = 0; i < early.size(); ++i) slots.push_back(flor::detail::slot_of(early[i]));
    slots.push_back(flor::detail::slot_of(net));
    for (std::size_t i = 0; i < late.size(); ++i) slots.push_back(flor::detail::slot_of(late[i]));
    registry.add(std::move(slots));
  }

  std::vector<at::Tensor*> handles() {
    std::vector<at::Tensor*> all;
    for (at::Tensor& tensor : early) all.push_back(&tensor);
    for (at::Tensor& tensor : late) all.push_back(&tensor);
    return all;
  }
  /// All that is kept, gradients included.
  std::vector<at::Tensor> tensors() {
    std::vector<at::Tensor> all{net.a, net.b, net.buffer, net.a.grad(), net.b.grad()};
    for (const at::Tensor* tensor : handles()) all.push_back(*tensor);
    return all;
  }

  /// What libtorch refuses is left out.
  void mutate(Random& random) {
    try {
      mutate_unchecked(random);
    } catch (const c10::Error&) {
    }
  }
  void mutate_unchecked(Random& random) {
    const at::AutoGradMode tracking(random() % 2 == 0);
    const auto all = handles();
    at::Tensor& target = *all[random() % all.size()];
    const std::vector<at::Tensor> sources = tensors();
    const at::Tensor source = sources[random() % sources.size()];
    at::Tensor& leaf = *std::array{&net.a, &net.b, &net.buffer}[random() % 3];
    switch (random() % 14) {
      case 0:
        target = at::randn({2, 3});
        return;
      case 1:
        target = random() % 2 == 0 ? at::ones({1}).expand({3}) : at::randn({5}, at::kDouble);
        return;
      case 2:
        target = at::Tensor();
        return;
      case 3:
      case 4:
        target = source;
        return;
      case 5:
        if (source.defined()) target = source.detach();
        return;
      case 6:
        if (source.defined()) target = source.clone();
        return;
      case 7:
        if (source.defined() && source.dim() == 2) target = source.t();
        return;
      case 8:
        if (source.defined() && source.dim() > 0 && source.size(0) > 1) {
          target = (random() % 2 == 0 ? source : source.detach()).narrow(0, 1, 1);
        }
        return;
      case 9:
        if (like_a_leaf(source)) leaf.set_data(source.detach());
        return;
      case 10:
        if (!leaf.is_same(net.buffer)) {
          leaf.mutable_grad() = at::zeros({2, 3});
          if (like_a_leaf(source)) {
            leaf.mutable_grad() = random() % 2 == 0 ? source.detach() : source * 2;
          }
        }
        return;
      case 11:
        if (source.defined()) target = source * 2;
        return;
      case 12:
        if (target.defined() && target.is_leaf()) target.requires_grad_(random() % 2 == 0);
        return;
      default:
        if (source.defined() && source.strides() != at::IntArrayRef{0}) source.detach().mul_(1.5);
    }
  }
  static bool like_a_leaf(const at::Tensor& tensor) {
    return tensor.defined() && tensor.sizes() == at::IntArrayRef({2, 3}) &&
           tensor.scalar_type() == at::kFloat;
  }

  MemoryState save() {
    MemoryState state;
    registry.save(state, {});
    return state;
  }
  void load(MemoryState& state) {
    registry.load(state, {}, false);
    state.finish();
  }

  std::array<at::Tensor, 3> early;
  Net net;
  std::array<at::Tensor, 6> late;
  Registry registry;
};

std::vector<std::uintptr_t> addresses(const at::Tensor& tensor) {
  std::vector<std::uintptr_t> all;
  if (!tensor.defined()) return all;
  const auto begin = reinterpret_cast<std::uintptr_t>(tensor.data_ptr());
  const std::int64_t columns = tensor.dim() > 1 ? tensor.size(1) : 1;
  const std::int64_t rows = tensor.dim() > 0 ? tensor.size(0) : 1;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      std::int64_t place = tensor.dim() > 0 ? i * tensor.stride(0) : 0;
      if (tensor.dim() > 1) place += j * tensor.stride(1);
      all.push_back(begin + static_cast<std::uintptr_t>(place) * tensor.element_size());
    }
  }
  return all;
}

/// Which elements of which tensors are one.
using Shared = std::vector<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>>;
Shared sharing_of(World& world) {
  const std::vector<at::Tensor> tensors = world.tensors();
  Shared shared;
  std::map<std::uintptr_t, std::pair<std::size_t, std::size_t>> first;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::size_t element = 0;
    for (const std::uintptr_t address : addresses(tensors[i])) {
      const auto [found, is_new] = first.try_emplace(address, i, element);
      if (!is_new) shared.emplace_back(found->second.first, found->second.second, i, element);
      ++element;
    }
  }
  return shared;
}

bool requires_gradient_itself(const at::Tensor& tensor) {
  const auto* meta = torch::autograd::impl::get_autograd_meta(tensor);
  return meta && meta->requires_grad_;
}

/// Of a view the one of `tensors` that it is a view of, if it has still the same memory.
std::optional<std::size_t> base_of(const at::Tensor& tensor,
                                   const std::vector<at::Tensor>& tensors) {
  const auto* view = torch::autograd::impl::get_view_autograd_meta(tensor);
  if (!view || !view->has_bw_view()) return std::nullopt;
  const at::Tensor& base = view->get_backward_view().base_;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].defined() && tensors[i].is_same(base) && base.numel() > 0 &&
        base.storage().data() == tensor.storage().data()) {
      return i;
    }
  }
  return std::nullopt;
}

/// How each tensor takes part in computing gradients.
std::vector<std::string> standings_of(World& world) {
  const std::vector<at::Tensor> tensors = world.tensors();
  std::vector<std::string> standings;
  for (const at::Tensor& tensor : tensors) {
    std::string& text = standings.emplace_back("undefined");
    if (!tensor.defined()) continue;
    const bool itself = requires_gradient_itself(tensor);
    const auto base = base_of(tensor, tensors);
    text = tensor.is_leaf() ? "a leaf" : "computed";
    if (itself) text += ", trained";
    if (itself || !tensor.is_leaf() || (base && tensors[*base].requires_grad())) {
      text += ", requires a gradient";
    }
    if (base) text += ", a view of " + std::to_string(*base);
  }
  return standings;
}

std::string content_of(World& world) {
  std::string all;
  for (const at::Tensor& tensor : world.tensors()) {
    if (!tensor.defined()) {
      all += "undefined;";
      continue;
    }
    const at::Tensor plain = tensor.detach().contiguous();
    all.append(static_cast<const char*>(plain.data_ptr()), plain.nbytes()).append(";");
  }
  return all;
}

RC_GTEST_PROP(Sharing, IsThatOfTheCheckpointWhateverItWasBeforeTheRestore, (std::uint64_t seed)) {
  Random random(seed);
  World world;
  for (std::size_t i = random() % 25; i > 0; --i) world.mutate(random);
  MemoryState state = world.save();
  const auto expected = sharing_of(world);
  const std::string content = content_of(world);
  const std::vector<std::string> standings = standings_of(world);
  const at::TensorImpl* parameter = world.net.a.unsafeGetTensorImpl();
  // Of an interrupted run another process has only what the program makes before its loops.
  World fresh;
  const bool goes_on = random() % 2 == 0;
  World& restored = goes_on ? world : fresh;
  for (std::size_t i = random() % 25; i > 0; --i) restored.mutate(random);
  restored.load(state);
  RC_ASSERT(content_of(restored) == content);
  RC_ASSERT(sharing_of(restored) == expected);
  RC_ASSERT(standings_of(restored) == standings);
  const std::vector<at::Tensor> tensors = restored.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined()) continue;
    const bool expects = standings[i].find("requires") != std::string::npos;
    RC_ASSERT(tensors[i].requires_grad() == expects);
  }
  RC_ASSERT(!goes_on || world.net.a.unsafeGetTensorImpl() == parameter);
  RC_ASSERT(restored.save().dump() == state.dump());
}

/// `change` is what happens between the checkpoint and the restore.
template <typename Change>
void save_and_load(std::vector<Slot> slots, Change change) {
  Registry registry;
  registry.add(std::move(slots));
  MemoryState state;
  registry.save(state, {});
  change();
  registry.load(state, {}, false);
  state.finish();
}

TEST(Lineage, AViewOfAParameterPassesItsGradientOnAfterARestore) {
  for (const bool is_made_again : {false, true}) {
    for (const bool view_first : {false, true}) {
      at::Tensor w = at::ones({2, 2}).requires_grad_(), row = w.narrow(0, 1, 1);
      std::vector<Slot> slots;
      slots.push_back(flor::detail::slot_of(view_first ? row : w));
      slots.push_back(flor::detail::slot_of(view_first ? w : row));
      save_and_load(std::move(slots), [&] {
        if (is_made_again) row = at::zeros({1, 2});
      });
      (row * 3).sum().backward();
      ASSERT_TRUE(w.grad().defined());
      EXPECT_TRUE(w.grad().equal(at::full({2, 2}, 3.0F) * at::arange(2).unsqueeze(1)));
    }
  }
}

TEST(Lineage, OfWhatWasComputedIsLostAndABackwardPassSaysSo) {
  at::Tensor w = at::ones({2}).requires_grad_(), hidden = w * 2;
  std::vector<Slot> slots;
  slots.push_back(flor::detail::slot_of(hidden));
  save_and_load(std::move(slots), [&] { hidden = at::zeros({2}); });
  EXPECT_FALSE(hidden.is_leaf());
  EXPECT_TRUE(hidden.detach().equal(at::full({2}, 2.0F)));
  try {
    (hidden * w).sum().backward();
    FAIL() << "a gradient was computed without that of w in hidden";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("was computed before the checkpoint"));
  }
}

TEST(Lineage, AViewThatWasMadeWithoutGradientsRequiresNoneAfterARestore) {
  at::Tensor w = at::ones({2, 2}).requires_grad_(), shown;
  {
    const at::NoGradGuard no_grad;
    shown = w.t();
  }
  std::vector<Slot> slots;
  slots.push_back(flor::detail::slot_of(shown));
  save_and_load(std::move(slots), [&] { shown = at::zeros({2, 2}); });
  EXPECT_FALSE(shown.requires_grad());
}

TEST(Lineage, AWriteToOneOfTheTensorsThatShareIsSeenInTheVersionsOfAll) {
  at::Tensor w = at::ones({2, 2}), alias = w.detach(), view = w.t();
  std::vector<Slot> slots;
  for (at::Tensor* tensor : {&view, &alias, &w}) slots.push_back(flor::detail::slot_of(*tensor));
  save_and_load(std::move(slots), [&] { w = alias = view = at::zeros({2, 2}); });
  const std::array before{w._version(), alias._version(), view._version()};
  w.add_(1);
  EXPECT_EQ(w._version(), before[0] + 1);
  EXPECT_EQ(alias._version(), before[1] + 1);
  EXPECT_EQ(view._version(), before[2] + 1);
}

TEST(Sharing, ABestModelThatWasACloneDoesNotFollowTheModel) {
  for (const bool best_first : {true, false}) {
    at::Tensor w = at::full({3}, 1.0F).requires_grad_();
    at::Tensor best = w;
    torch::optim::SGD optimizer({w}, 1.0);
    Registry registry;
    std::vector<Slot> slots;
    slots.push_back(best_first ? flor::detail::slot_of(best) : flor::detail::slot_of(w));
    slots.push_back(best_first ? flor::detail::slot_of(w) : flor::detail::slot_of(best));
    slots.push_back(flor::detail::slot_of(optimizer));
    registry.add(std::move(slots));
    best = w.detach().clone();
    {
      const at::NoGradGuard no_grad;
      w.fill_(7);
    }
    MemoryState state;
    registry.save(state, {});
    // The program starts again.
    best = w;
    registry.load(state, {}, false);
    state.finish();
    EXPECT_EQ(best[0].item<float>(), 1.0F);
    EXPECT_EQ(w[0].item<float>(), 7.0F);
    EXPECT_TRUE(w.is_same(optimizer.param_groups()[0].params()[0])) << "the optimizer trains w";
    EXPECT_FALSE(best.requires_grad());
  }
}

TEST(Sharing, OfAttachedLocalsWithWhatIsRegisteredIsThatOfTheBeginningOfTheLoop) {
  for (const bool shared_then : {true, false}) {
    at::Tensor w = at::full({3}, 1.0F);
    at::Tensor best = shared_then ? w : w.clone();
    Registry registry;
    std::vector<Slot> slots;
    slots.push_back(flor::detail::slot_of(w));
    registry.add(std::move(slots));
    std::vector<Slot> attached;
    attached.push_back(flor::detail::slot_of(best));
    MemoryState state;
    registry.save_attached(state, attached);
    best = shared_then ? at::zeros({3}) : w;
    w.fill_(shared_then ? 1.0F : 4.0F);
    registry.load_attached(state, attached);
    state.finish();
    EXPECT_EQ(best[0].item<float>(), 1.0F);
    EXPECT_EQ(w[0].item<float>(), shared_then ? 1.0F : 4.0F);
    w.fill_(9);
    EXPECT_EQ(best[0].item<float>(), shared_then ? 9.0F : 1.0F);
  }
}

TEST(Sharing, OfPointersIsThatOfTheCheckpoint) {
  auto now = std::make_shared<int>(1), best = now;
  Registry registry;
  std::vector<Slot> slots;
  slots.push_back(flor::detail::slot_of(now));
  slots.push_back(flor::detail::slot_of(best));
  registry.add(std::move(slots));
  MemoryState one;
  registry.save(one, {});
  best = std::make_shared<int>(5);
  MemoryState two;
  registry.save(two, {});
  registry.load(one, {}, false);
  EXPECT_EQ(now, best);
  registry.load(two, {}, false);
  EXPECT_EQ(*now, 1);
  EXPECT_EQ(*best, 5);
  EXPECT_NE(now, best);
}

}  // namespace
}  // namespace sharing_test
