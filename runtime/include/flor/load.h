// flor::load: a checkpoint of any run of the store, put into objects of the running program.
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
/// For a program that reads the checkpoint by itself: writes it as a .safetensors file.
void load_to_file(std::string_view checkpoint, const std::filesystem::path& file);

}  // namespace detail

/// Puts the state of a checkpoint into objects, and returns which one it was:
///
///   flor::load("linear@12", net, optimizer);
///   flor::load("linear@best:loss:min", flor::named("teacher", teacher));
///   flor::load("linear@latest");   // into all that is registered with the session
///
/// `checkpoint` is written as for `flor export`: RUN@12, RUN@NAME of a saved one, RUN@latest,
/// RUN@best, RUN@best:METRIC:min; RUN alone is its latest epoch. A name of an experiment means its
/// latest run but the one that is being recorded. Objects are those of `flor::checkpoints`, with
/// the same names: by their order within their kind ("model", "model2", "optimizer"), or by
/// `flor::named`. They may be fewer than were recorded, and need not be registered. Generators and
/// the number of threads stay as they are. Refers to the objects only during the call, and holds a
/// copy of their state meanwhile.
///
/// The run logs what was loaded as `flor.load`, by key, epoch and digest. A replay, and a run that
/// is resumed, load the same content again where they come to the same load, whatever its text
/// means by then, and throw again what was thrown and the program has come past. A load that the
/// record does not have, as one that was added for a replay, takes what its text means now. Without
/// a session the store is $FLOR_HOME, else ~/.flor.
///
/// All state of an object is loaded: of a module also gradients, which parameters are trained, and
/// the training mode. What is to be frozen is frozen after the load.
///
/// Throws NotFound where there is no such checkpoint, or none of its objects has the name; Error
/// where a type or shape differs; each names it. The objects are then as before. With a session
/// only for the thread that called flor::init; else for any, as long as no other uses the objects.
template <typename... T>
Checkpoint load(std::string_view checkpoint, T&&... objects) {
  std::vector<detail::Slot> slots;
  slots.reserve(sizeof...(T));
  (slots.push_back(detail::slot_of(std::forward<T>(objects))), ...);
  return detail::load_checkpoint(checkpoint, std::move(slots));
}

}  // namespace flor
