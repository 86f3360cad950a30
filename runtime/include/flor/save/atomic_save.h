// Writes files that exist either completely or not at all, from any objects that Flor can save, or
// from any bytes.
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

/// Writes the state of objects into `file`. Takes everything that flor::checkpoints takes (with
/// <flor/torch.h> also modules, optimizers, schedulers and tensors), and names it in the same way
/// ("model", "optimizer", or by flor::named).
///
/// The file appears under its name when it is complete and durable (it and its directory are
/// synced). Until then, and if anything fails, an existing file of that name stays as it is. Any
/// number of processes and threads may write the same file: the last one wins. What a killed
/// process has left is removed by the next call for the same file.
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
/// flor::Error if the file cannot be read, or if an object does not fit, which the message names.
/// Objects before that one may have been changed by then.
template <typename... T>
void atomic_load(const std::filesystem::path& file, T&&... objects) {
  std::vector<detail::Slot> slots;
  slots.reserve(sizeof...(T));
  (slots.push_back(detail::slot_of(std::forward<T>(objects))), ...);
  detail::load_slots(file, slots);
}

/// Writes the output of `write` to `file`, with the same guarantees as atomic_save, for the
/// formats of other libraries, e.g.
///   flor::atomic_write("net.pt", [&](std::ostream& out) { torch::save(net, out); });
/// The content is collected in memory first. If `write` throws, an existing file stays as it is.
void atomic_write(const std::filesystem::path& file,
                  const std::function<void(std::ostream&)>& write);

}  // namespace flor
