// Which gradients a checkpoint needs, found out by hooks, and how they are kept and restored.
#include "gradient.h"

#include "layout.h"
#include "sparse_gradient.h"
#include "tensor.h"

#include <flor/adapter.h>
#include <flor/torch.h>

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace flor::libtorch {
namespace {

std::atomic<bool> carried = false;
bool keep_all = false;  // used by the thread that saves

void declare_carried() noexcept {
  if (carried.exchange(true)) return;
  detail::invalidate_last_checkpoints(
      "gradients are accumulated across checkpoints; they are kept from now on "
      "(flor::gradients keeps them from the start)");
}

/// Offset of the first word that is not all zero bits.
std::optional<std::size_t> find_nonzero(const std::byte* content, std::size_t size) {
  constexpr std::size_t kBlock = 4096;
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, size);
    unsigned char any = 0;
    for (std::size_t i = begin; i < end; ++i) any |= std::to_integer<unsigned char>(content[i]);
    if (any == 0) continue;
    const auto* found = std::find_if(content + begin, content + end,
                                     [](std::byte byte) { return byte != std::byte{0}; });
    return static_cast<std::size_t>(found - content);
  }
  return std::nullopt;
}

bool is_scannable(const at::Tensor& gradient) {
  return has_content(gradient) && gradient.device().is_cpu() && gradient.is_contiguous();
}

/// A boolean tensor of no dimensions on the gradient's device.
at::Tensor any_nonzero(const at::Tensor& gradient) {
  const at::NoGradGuard no_grad;
  if (gradient.is_sparse()) return at::scalar_tensor(gradient._nnz() > 0, at::kBool);
  return gradient.ne(0).any();
}

constexpr std::int64_t kNotWatched = -2;
constexpr std::int64_t kSomewhere = -1;

/// True after a watch has looked, until write_gradients() asks.
std::atomic<bool> looked = false;

/// Looks, once after each checkpoint that asks for it, whether the gradient of a leaf is still
/// there when the next one is about to be added to it.
class LeafWatch {
 public:
  explicit LeafWatch(const at::Tensor& leaf) : leaf_(leaf.getIntrusivePtr()) {}

  bool is_for(const at::Tensor& leaf) const {
    const auto mine = leaf_.lock();
    return mine && mine.get() == leaf.unsafeGetTensorImpl();
  }
  /// `place`: offset of a byte of the gradient that is not zero, or kSomewhere, or kNotWatched.
  void expect(std::int64_t place) { place_.store(place, std::memory_order_relaxed); }

  void before_accumulation() {
    if (place_.load(std::memory_order_relaxed) == kNotWatched) return;
    const std::int64_t place = place_.exchange(kNotWatched);
    const auto impl = leaf_.lock();
    if (place == kNotWatched || !impl) return;
    looked = true;
    const at::Tensor gradient = at::Tensor(impl).grad();
    if (!gradient.defined()) return;
    if (place >= 0 && is_scannable(gradient) &&
        place < static_cast<std::int64_t>(gradient.nbytes())) {
      if (static_cast<const std::byte*>(gradient.data_ptr())[place] != std::byte{0}) {
        declare_carried();
      }
      return;
    }
    look_after_backward(any_nonzero(gradient));
  }

 private:
  /// On a device, looking waits for it: done once, for all leaves together.
  static void look_after_backward(at::Tensor nonzero) {
    static std::mutex mutex;
    static std::vector<at::Tensor> pending;
    const std::lock_guard lock(mutex);
    pending.push_back(std::move(nonzero));
    if (pending.size() > 1) return;
    torch::autograd::Engine::get_default_engine().queue_callback([] {
      std::vector<at::Tensor> found;
      {
        const std::lock_guard relock(mutex);
        found.swap(pending);
      }
      for (const at::Tensor& flag : found) {
        if (flag.item<bool>()) return declare_carried();
      }
    });
  }

  c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> leaf_;
  std::atomic<std::int64_t> place_ = kNotWatched;
};

using torch::autograd::variable_list;
/// A shared pointer, in newer libtorch an intrusive one.
using NodePointer = decltype(torch::autograd::impl::grad_accumulator(at::Tensor()));

struct WatchHook final : torch::autograd::FunctionPreHook {
  explicit WatchHook(std::shared_ptr<LeafWatch> leaf_watch) : watch(std::move(leaf_watch)) {}
  variable_list operator()(const variable_list& gradients) override {
    watch->before_accumulation();
    return gradients;
  }
  std::shared_ptr<LeafWatch> watch;
};

/// The watches of this process. They sit on the node that accumulates into a leaf, from where,
/// unlike a tensor's hooks, they can be taken off without a trace: a hook costs some 300 ns a leaf
/// and step. So the first epochs decide. A program that begins to carry gradients after those is
/// not found out, but loses nothing silently: what was not kept is restored as NaN.
class Watches {
 public:
  void begin_round() {
    const std::lock_guard lock(mutex_);
    if (looked.exchange(false) && ++rounds_ == kRounds) take_off();
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    take_off();
    rounds_ = 0;
    looked = false;
  }
  void expect(const at::Tensor& leaf, std::int64_t place) {
    const std::lock_guard lock(mutex_);
    if (rounds_ >= kRounds) return;
    Entry& entry = entries_[leaf.unsafeGetTensorImpl()];
    if (!entry.watch || !entry.watch->is_for(leaf)) {
      if (place == kNotWatched) return;
      entry.watch = std::make_shared<LeafWatch>(leaf);
      entry.node = torch::autograd::impl::grad_accumulator(leaf);
      entry.node->add_pre_hook(std::make_unique<WatchHook>(entry.watch));
    }
    entry.watch->expect(place);
  }

 private:
  static constexpr int kRounds = 8;
  struct Entry {
    std::shared_ptr<LeafWatch> watch;
    NodePointer node;  ///< the leaf itself does not keep it alive
  };

  void take_off() {
    for (auto& [leaf, entry] : entries_) {
      if (!entry.node) continue;
      std::erase_if(entry.node->pre_hooks(), [&](const auto& hook) {
        const auto* ours = dynamic_cast<const WatchHook*>(hook.get());
        return ours && ours->watch == entry.watch;
      });
    }
    entries_.clear();
  }

  std::mutex mutex_;
  int rounds_ = 0;
  std::unordered_map<const c10::TensorImpl*, Entry> entries_;
};

/// Never destroyed: what it holds may be on a device whose driver is gone at the end of the
/// process.
Watches& watches() {
  static Watches& instance = *new Watches;
  return instance;
}

/// The modules whose gradients flor::gradients keeps.
class KeptModules {
 public:
  void add(const torch::nn::Module* module) {
    const std::lock_guard lock(mutex_);
    ++modules_[module];
  }
  void remove(const torch::nn::Module* module) {
    const std::lock_guard lock(mutex_);
    if (--modules_[module] == 0) modules_.erase(module);
  }
  std::unordered_set<const c10::TensorImpl*> leaves() {
    std::unordered_set<const c10::TensorImpl*> found;
    const std::lock_guard lock(mutex_);
    for (const auto& [module, count] : modules_) {
      for (const at::Tensor& leaf : module->parameters()) found.insert(leaf.unsafeGetTensorImpl());
    }
    return found;
  }

 private:
  std::mutex mutex_;
  std::map<const torch::nn::Module*, int> modules_;
};

KeptModules& kept_modules() {
  static KeptModules instance;
  return instance;
}

struct Finding {
  std::string_view state = kNoGradient;
  std::int64_t place = kNotWatched;
};

/// Gradients on devices are looked at together, which waits for each device once.
void look_on_devices(std::span<const NamedLeaf> leaves, std::vector<Finding>& findings) {
  std::map<std::string, std::pair<std::vector<at::Tensor>, std::vector<std::size_t>>> by_device;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (findings[i].place != kSomewhere) continue;
    const at::Tensor flag = any_nonzero(leaves[i].tensor.grad());
    auto& [flags, indices] = by_device[flag.device().str()];
    flags.push_back(flag);
    indices.push_back(i);
  }
  for (const auto& [device, entry] : by_device) {
    const auto& [flags, indices] = entry;
    const at::Tensor found = at::stack(flags).cpu();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const bool nonzero = found.data_ptr<bool>()[i];
      findings[indices[i]] = {nonzero ? kOtherGradient : kZeroGradient,
                              nonzero ? kSomewhere : kNotWatched};
    }
  }
}

std::vector<Finding> look_at(std::span<const NamedLeaf> leaves) {
  std::vector<Finding> findings(leaves.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const at::Tensor& leaf = leaves[i].tensor;
    if (!leaf.is_leaf() || !leaf.grad().defined()) continue;
    const at::Tensor& gradient = leaf.grad();
    if (!is_scannable(gradient)) {
      findings[i] = {kOtherGradient, kSomewhere};
    } else if (const auto place = find_nonzero(static_cast<const std::byte*>(gradient.data_ptr()),
                                               gradient.nbytes())) {
      findings[i] = {kOtherGradient, static_cast<std::int64_t>(*place)};
    } else {
      findings[i] = {kZeroGradient, kNotWatched};
    }
  }
  translated("the gradients", [&] { look_on_devices(leaves, findings); });
  return findings;
}

std::string gradient_item(const std::string& name) {
  return name.empty() ? "grad" : "grad/" + name;
}

bool is_asked_for(const StateWriter& writer, const std::string& name) {
  return writer.asks_for(name) || writer.asks_for(sparse_item(name));
}

void write_content(const StateWriter& writer, const std::string& name, const at::Tensor& gradient) {
  if (SparseForm::of(gradient)) return write_sparse(writer, name, gradient);
  write_tensor(writer, name, gradient);
}

/// Makes the gradient of a leaf a tensor like the leaf if it has none, and returns it.
at::Tensor require_gradient(const at::Tensor& leaf) {
  const at::NoGradGuard no_grad;
  if (!leaf.grad().defined() || !has_content(leaf.grad())) {
    leaf.mutable_grad() = at::zeros_like(leaf);
  }
  return leaf.grad();
}

void read_content(const StateReader& reader, const std::string& name, const at::Tensor& leaf,
                  const SparseForm& form) {
  const at::NoGradGuard no_grad;
  if (form) {
    leaf.mutable_grad() = read_sparse(reader, name, leaf, form);
  } else {
    read_tensor(reader, name, require_gradient(leaf));
  }
}

/// Zero, or not a number.
void set_content(const at::Tensor& leaf, const SparseForm& form, bool zero) {
  const at::NoGradGuard no_grad;
  if (form) {
    leaf.mutable_grad() = make_sparse(leaf, form, zero);
  } else {
    require_gradient(leaf).fill_(zero ? 0 : std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace

bool gradients_are_carried() noexcept { return carried; }
void reset_gradients_are_carried() noexcept {
  carried = false;
  watches().reset();
}

void keep_all_gradients(bool keep) noexcept { keep_all = keep; }

std::vector<std::string> write_gradients(const StateWriter& writer,
                                         std::span<const NamedLeaf> leaves) {
  if (!keep_all) watches().begin_round();
  const auto elsewhere = kept_modules().leaves();
  const std::vector<Finding> findings = look_at(leaves);
  std::vector<std::string> descriptions;
  descriptions.reserve(leaves.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto& [name, leaf] = leaves[i];
    std::string_view state = findings[i].state;
    if (elsewhere.contains(leaf.unsafeGetTensorImpl())) {
      state = kGradientElsewhere;
    } else if (state == kOtherGradient && (carried || is_asked_for(writer, gradient_item(name)))) {
      state = kKeptGradient;
      write_content(writer, gradient_item(name), leaf.grad());
    } else if (keep_all && state == kOtherGradient) {
      state = kKeptOnceGradient;
      write_content(writer, gradient_item(name), leaf.grad());
    } else if (!carried && !keep_all && leaf.is_leaf() && leaf.requires_grad()) {
      watches().expect(leaf, findings[i].place);
    }
    const bool is_here = state != kNoGradient && state != kGradientElsewhere;
    descriptions.push_back(described(is_here ? SparseForm::of(leaf.grad()) : SparseForm(), state));
  }
  return descriptions;
}

void read_gradient(const StateReader& reader, const NamedLeaf& leaf,
                   const std::string& description) {
  std::string state = description;
  const SparseForm form = take_form(state);
  if (state == kGradientElsewhere || !leaf.tensor.is_leaf()) return;
  if (state == kNoGradient) return leaf.tensor.mutable_grad().reset();
  // As it was when this was recorded: later checkpoints are to have the same form.
  if (state == kKeptGradient) carried = true;
  if (state == kKeptGradient || state == kKeptOnceGradient) {
    read_content(reader, gradient_item(leaf.name), leaf.tensor, form);
  } else {
    set_content(leaf.tensor, form, state == kZeroGradient);
  }
}

Gradients::Gradients(torch::nn::Module& module) : module_(&module) { kept_modules().add(module_); }
Gradients::~Gradients() { kept_modules().remove(module_); }

void Gradients::save(const StateWriter& writer) const {
  std::vector<LayoutEntry> entries;
  for (const auto& item : module_->named_parameters()) {
    const at::Tensor& gradient = item.value().grad();
    LayoutEntry entry{.kind = "gradient", .name = item.key()};
    entry.gradient = kNoGradient;
    if (gradient.defined()) {
      entry.type = type_name(gradient.scalar_type());
      entry.shape = shape_text(gradient.sizes());
      entry.gradient = described(SparseForm::of(gradient), kKeptGradient);
      write_content(writer, item.key(), gradient);
    }
    entries.push_back(std::move(entry));
  }
  writer.bytes(kLayoutItem, to_text(entries));
}

void Gradients::load(const StateReader& reader) {
  const auto parameters = module_->named_parameters();
  for (const LayoutEntry& entry : parse_layout(reader.bytes(kLayoutItem))) {
    const at::Tensor* leaf = parameters.find(entry.name);
    if (!leaf) {
      throw Error("the gradient '" + reader.full_name(entry.name) +
                  "' was recorded, but the model has no such parameter now");
    }
    if (entry.gradient == kNoGradient) {
      leaf->mutable_grad().reset();
    } else {
      std::string state = entry.gradient;
      read_content(reader, entry.name, *leaf, take_form(state));
    }
  }
}

}  // namespace flor::libtorch
