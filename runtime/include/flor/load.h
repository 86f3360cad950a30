// flor::load: restores a checkpoint of any run in the store into objects of the running program.
#pragma once

#include <flor/checkpoint_strategy.h>
#include <flor/state.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flor {
namespace detail {

Checkpoint load_checkpoint(std::string_view checkpoint, std::vector<Slot> slots);
/// Writes the checkpoint as a .safetensors file, for a program that reads the content itself.
void load_to_file(std::string_view checkpoint, const std::filesystem::path& file);

}  // namespace detail

/// Restores the state of a checkpoint into objects, and returns which checkpoint it was:
///
///   flor::load("linear@12", net, optimizer);
///   flor::load("linear@best:loss:min", flor::named("teacher", teacher));
///   flor::load("linear@latest");   // into all that is registered with the session
///
/// `checkpoint` is written as for `flor export`: RUN@12, RUN@NAME for a saved one, RUN@latest,
/// RUN@best, RUN@best:METRIC:min; RUN alone means its latest epoch. The name of an experiment means
/// its latest run, other than the one being recorded. Objects have the names that flor::checkpoints
/// gives them: by their order within their kind ("model", "model2", "optimizer"), or by
/// `flor::named`. They may be fewer than were recorded, and need not be registered. Random
/// generators and the number of threads are not restored. The call keeps no reference to the
/// objects, but holds a copy of their state until it returns.
///
/// The run logs what was loaded as `flor.load`: key, epoch and digest. At the same call, a replay
/// or a resumed run loads the same content again, even if the text would name another checkpoint by
/// then. If the recorded call threw an error that the program came past, the error is thrown again.
/// A call that is not in the record, such as one added for a replay, loads what its text names at
/// that time. Without a session the store is $FLOR_HOME, else ~/.flor.
///
/// All state of an object is loaded. For a module this includes gradients, which parameters are
/// trained, and the training mode, so freeze parameters after the load.
///
/// Throws NotFound if there is no such checkpoint or it has no object of a given name, and Error if
/// a type or shape differs; the message names what did not fit. The objects are then unchanged.
/// With a session it belongs to the thread that called flor::init. Without one any thread may call
/// it, as long as no other thread uses the objects.
template <typename... T>
Checkpoint load(std::string_view checkpoint, T&&... objects) {
  std::vector<detail::Slot> slots;
  slots.reserve(sizeof...(T));
  (slots.push_back(detail::slot_of(std::forward<T>(objects))), ...);
  return detail::load_checkpoint(checkpoint, std::move(slots));
}

}  // namespace flor
