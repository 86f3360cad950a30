// Support for libtorch: lets flor::checkpoints and flor::log take modules, optimizers, schedulers
// and tensors. Including it in one file of a program also registers libtorch's random generators
// and number of threads with Flor.
//
// It includes no header of libtorch, so including it costs little. A program includes
// <torch/torch.h>, or the narrower headers it needs, itself and in any order.
#pragma once

#include <flor/log.h>
#include <flor/state.h>

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace at {
struct Generator;
class Tensor;
}  // namespace at
namespace torch::nn {
class AnyModule;
class Module;
}  // namespace torch::nn
namespace torch::optim {
class LRScheduler;
class Optimizer;
class ReduceLROnPlateauScheduler;
}  // namespace torch::optim
namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace flor {
namespace libtorch {

// `save` reads an object, and `load` writes into it in place wherever the shapes allow, so that
// references to the tensors (an optimizer's, a view's) stay valid. Both belong to the training
// thread. All throw flor::Error with the name of the tensor. A `load` that throws because names or
// shapes do not fit has not changed the object.

/// Saves parameters and buffers by their names ("fc1.weight"), whether each requires a gradient,
/// its gradient ("grad/fc1.weight", unless it is undefined or zero), and whether each submodule is
/// in training mode.
void save(const ::torch::nn::Module& module, const StateWriter& writer);
void load(::torch::nn::Module& module, const StateReader& reader);

/// Saves the hyper-parameters of each group ("group0/lr"), and the state of each parameter by group
/// and index ("group0/3/exp_avg"). Exact for the optimizers of libtorch. For other optimizers it
/// saves what their `serialize` functions write, and no data members besides options and parameter
/// states.
void save(const ::torch::optim::Optimizer& optimizer, const StateWriter& writer);
void load(::torch::optim::Optimizer& optimizer, const StateReader& reader);

/// Saves the number of steps taken. The learning rates are part of the optimizer, and the rest of a
/// scheduler is constant.
void save(const ::torch::optim::LRScheduler& scheduler, const StateWriter& writer);
void load(::torch::optim::LRScheduler& scheduler, const StateReader& reader);

/// Defined only if libtorch has this scheduler.
void save(const ::torch::optim::ReduceLROnPlateauScheduler& scheduler, const StateWriter& writer);
void load(::torch::optim::ReduceLROnPlateauScheduler& scheduler, const StateReader& reader);

/// Saves any tensor, including undefined, sparse and quantized ones. On load, a tensor whose shape
/// or type is not the recorded one is replaced by a new tensor.
void save(const at::Tensor& tensor, const StateWriter& writer);
void load(at::Tensor& tensor, const StateReader& reader);

/// Saves a generator of the program's own. The default generators are saved without being
/// registered.
void save(const at::Generator& generator, const StateWriter& writer);
void load(at::Generator& generator, const StateReader& reader);

/// The module that `any` holds. `any` must not be empty.
::torch::nn::Module& module_of(const ::torch::nn::AnyModule& any);

/// Returns what `write` puts into a libtorch archive. The archive is made in memory, since
/// libtorch's file writer throws in its destructor when it cannot write.
std::string archived(const std::function<void(::torch::serialize::OutputArchive&)>& write);
void unarchive(const std::string& content,
               const std::function<void(::torch::serialize::InputArchive&)>& read);

/// Registers the functions for libtorch with the core of Flor, once per process.
bool register_with_core();
inline const bool kRegistered = register_with_core();

template <typename T>
concept Module = std::derived_from<T, ::torch::nn::Module>;
/// The holder `Net` that TORCH_MODULE(Net) makes for `NetImpl`.
template <typename T>
concept ModuleHolder = requires(const T& holder) {
  requires Module<typename T::ContainedType>;
  holder.ptr();
  holder.is_empty();
};
/// The types for which there are `save` and `load` above.
template <typename T>
concept Known = Module<T> || std::derived_from<T, ::torch::optim::Optimizer> ||
                std::derived_from<T, ::torch::optim::LRScheduler> ||
                std::derived_from<T, ::torch::optim::ReduceLROnPlateauScheduler>;
/// A user's type that saves itself to libtorch's archives.
template <typename T>
concept Archived = !Known<T> && !ModuleHolder<T> &&
                   requires(const T& constant, T& value, ::torch::serialize::OutputArchive& out,
                            ::torch::serialize::InputArchive& in) {
                     constant.save(out);
                     value.load(in);
                   };

template <Known T>
constexpr std::string_view kind_of() {
  if constexpr (Module<T>) {
    return "model";
  } else if constexpr (std::derived_from<T, ::torch::optim::Optimizer>) {
    return "optimizer";
  } else {
    return "scheduler";
  }
}

}  // namespace libtorch

namespace detail {
template <libtorch::Known T>
inline constexpr bool kForeign<T> = true;
template <libtorch::ModuleHolder T>
inline constexpr bool kMustExist<T> = true;
}  // namespace detail

/// Saves the state that libtorch knows of an object, and in addition what a user's derived class
/// saves by its save(std::ostream&) const or save(const flor::StateWriter&) const.
template <libtorch::Known T>
struct StateTraits<T> {
  static constexpr std::string_view kind = libtorch::kind_of<T>();
  static void save(const T& value, const StateWriter& writer) {
    libtorch::save(value, writer);
    if constexpr (detail::HasStateMembers<T>) {
      value.save(writer.within(".own"));
    } else if constexpr (detail::HasStreamMembers<T>) {
      writer.bytes(".own", detail::streamed(value));
    }
  }
  static void load(T& value, const StateReader& reader) {
    libtorch::load(value, reader);
    if constexpr (detail::HasStateMembers<T>) {
      value.load(reader.within(".own"));
    } else if constexpr (detail::HasStreamMembers<T>) {
      detail::load_stream(value, reader.bytes(".own"));
    }
  }
};

template <libtorch::ModuleHolder T>
struct StateTraits<T> {
  using Contained = StateTraits<typename T::ContainedType>;
  static constexpr std::string_view kind = "model";
  static void save(const T& holder, const StateWriter& writer) {
    require_module(holder);
    Contained::save(*holder.ptr(), writer);
  }
  static void load(T& holder, const StateReader& reader) {
    require_module(holder);
    Contained::load(*holder.ptr(), reader);
  }

 private:
  static void require_module(const T& holder) {
    if (holder.is_empty()) {
      throw Error("a registered module holder is empty: register it after it is set");
    }
  }
};

template <>
struct StateTraits<::torch::nn::AnyModule> {
  static constexpr std::string_view kind = "model";
  static void save(const ::torch::nn::AnyModule& any, const StateWriter& writer) {
    libtorch::save(libtorch::module_of(any), writer);
  }
  static void load(::torch::nn::AnyModule& any, const StateReader& reader) {
    libtorch::load(libtorch::module_of(any), reader);
  }
};

template <>
struct StateTraits<at::Tensor> {
  static constexpr std::string_view kind = "tensor";
  static void save(const at::Tensor& tensor, const StateWriter& writer) {
    libtorch::save(tensor, writer);
  }
  static void load(at::Tensor& tensor, const StateReader& reader) {
    libtorch::load(tensor, reader);
  }
};

template <>
struct StateTraits<at::Generator> {
  static constexpr std::string_view kind = "engine";
  static void save(const at::Generator& generator, const StateWriter& writer) {
    libtorch::save(generator, writer);
  }
  static void load(at::Generator& generator, const StateReader& reader) {
    libtorch::load(generator, reader);
  }
};

template <libtorch::Archived T>
  requires(!detail::StreamsState<T> && !detail::WritesState<T>)
struct StateTraits<T> {
  static constexpr std::string_view kind = "object";
  static void save(const T& value, const StateWriter& writer) {
    writer.bytes(
        "", libtorch::archived([&](::torch::serialize::OutputArchive& out) { value.save(out); }));
  }
  static void load(T& value, const StateReader& reader) {
    libtorch::unarchive(reader.bytes(""),
                        [&](::torch::serialize::InputArchive& in) { value.load(in); });
  }
};

/// Logs the value of a tensor with one element, and returns the tensor. If a session records or
/// replays, it waits for the device that computes the tensor. A tensor with more elements, or of
/// complex numbers, is reported once and not logged.
const at::Tensor& log(std::string_view name, const at::Tensor& value);
at::Tensor log(std::string_view name, at::Tensor&& value);

/// Records a whole tensor of any shape and device, but not a sparse or quantized one.
void log_tensor(std::string_view name, const at::Tensor& value);

/// Records the distribution of the elements, see flor::log_histogram in <flor/log.h>.
void log_histogram(std::string_view name, const at::Tensor& values, int bins = 64);

/// Records an image of shape [channels, height, width] or [height, width], with 1, 3 or 4 channels.
/// Bytes are kept as they are; floating point values range from 0 (black) to 1, and are clamped.
void log_image(std::string_view name, const at::Tensor& image);

/// Records a table of shape [rows, columns]. `columns` has their names; if empty they are "0", "1",
/// ...
void log_table(std::string_view name, const at::Tensor& table,
               std::vector<std::string> columns = {});

}  // namespace flor
