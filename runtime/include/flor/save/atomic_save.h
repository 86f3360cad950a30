// Files that are there as a whole or not at all: any set of objects that Flor can keep, or any
// bytes.
#pragma once

#include <flor/state.h>

#include <filesystem>
#include <functional>
#include <ostream>
#include <utility>
#include <vector>

namespace flor {

namespace detail {
void save_slots(const std::filesystem::path& file, const std::vector<Slot>& slots);
void load_slots(const std::filesystem::path& file, const std::vector<Slot>& slots);
}  // namespace detail

/// Writes the state of objects into `file`: with <flor/torch.h> modules, optimizers, schedulers and
/// tensors, else everything that flor::checkpoints takes, named in the same way ("model",
/// "optimizer", or flor::named).
///
/// The file appears under its name when it is whole and durable (it and its directory are synced);
/// until then, and if anything fails, an older file of that name stays as it is. Any number of
/// processes and threads may write it, the last one wins. Remains of a killed process are removed
/// by the next call for the same file.
///
/// The format is .safetensors: tensors under their names ("model/fc1.weight"), everything else in
/// the metadata. Throws flor::Error if an object cannot be saved or the file cannot be written.
template <typename... T>
void atomic_save(const std::filesystem::path& file, T&&... objects) {
  std::vector<detail::Slot> slots;
  slots.reserve(sizeof...(T));
  (slots.push_back(detail::slot_of(std::forward<T>(objects))), ...);
  detail::save_slots(file, slots);
}

/// Restores the state in `file` into the same objects, given in the same order or named. Throws
/// flor::Error if the file cannot be read, or naming what does not fit; objects before that one may
/// have been loaded then.
template <typename... T>
void atomic_load(const std::filesystem::path& file, T&&... objects) {
  std::vector<detail::Slot> slots;
  slots.reserve(sizeof...(T));
  (slots.push_back(detail::slot_of(std::forward<T>(objects))), ...);
  detail::load_slots(file, slots);
}

/// Writes the output of `write`, with the same promises: for formats of other libraries, e.g.
///   flor::atomic_write("net.pt", [&](std::ostream& out) { torch::save(net, out); });
/// The content is made in memory first. If `write` throws, the file stays as it is.
void atomic_write(const std::filesystem::path& file,
                  const std::function<void(std::ostream&)>& write);

}  // namespace flor
