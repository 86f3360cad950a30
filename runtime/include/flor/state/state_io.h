// The pieces of state that an object hands over when it is saved and gets back when it is restored.
// Programs need this only for types of their own, see flor::StateTraits.
#pragma once

#include <flor/store/checkpoint.h>
#include <flor/store/error.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace flor {

using store::ElementType;

/// An asynchronous copy from a device that was enqueued and may still be under way.
class PendingCopy {
 public:
  virtual ~PendingCopy() = default;
  /// Returns when the bytes have arrived; called from another thread than the one that began it.
  virtual void wait() = 0;
};

/// The content of a tensor on a device, copied on the device: the training goes on while the copy is
/// brought to the host. Destroyed by any thread; frees the device's memory.
class StagedCopy {
 public:
  virtual ~StagedCopy() = default;
  /// Whether it holds the same bits as the copy that it was made after. Waits for the device. Any
  /// thread but the one that trains, which would wait for its own work.
  virtual bool unchanged() = 0;
  /// Writes the content to `into`, pinned host memory. Waits for it; the device's other work continues.
  virtual void copy(std::byte* into) = 0;
};

/// Keeps the memory of a tensor alive and tells whether the tensor was written.
class WriteWatch {
 public:
  virtual ~WriteWatch() = default;
  /// Another value than before: the tensor was written, or that memory is no longer its content.
  /// Any thread.
  virtual std::uint64_t version() const = 0;
};

/// The content of a tensor at this moment, row-major without gaps.
struct TensorSource {
  ElementType type = ElementType::bytes;
  std::vector<std::int64_t> sizes;
  std::size_t bytes = 0;
  /// The content, where it lies contiguous in host memory; read before the call returns.
  const std::byte* host = nullptr;
  /// Otherwise: writes the content to `into`, `bytes` long. May return a copy that is still under
  /// way, provided that later writes to the tensor cannot overtake it (they are on one stream).
  std::function<std::shared_ptr<PendingCopy>(std::byte* into)> copy;
  /// The content is on a device: `into` should be pinned host memory.
  bool device = false;
  /// With `device`: copies the content on the device. `last`: an earlier copy of the same tensor to
  /// compare with, or null. Returns null where the device has no memory to spare.
  std::function<std::shared_ptr<StagedCopy>(const std::shared_ptr<StagedCopy>& last)> stage = nullptr;
  /// With `host`: the content may be read after the call, if the user chose flor::overlapping. Only
  /// for tensors that only code known to the user writes.
  std::shared_ptr<WriteWatch> watch = nullptr;
};

/// Where the content of a tensor is to go. Must fit the recorded type and sizes, else restoring
/// throws an error that names the tensor and both shapes.
struct TensorTarget {
  ElementType type = ElementType::bytes;
  std::vector<std::int64_t> sizes;
  std::size_t bytes = 0;
  /// Contiguous host memory that is written some time before the restore returns, or
  std::byte* host = nullptr;
  /// is called with the content, on the restoring thread, before the restore returns.
  std::function<void(const std::byte* content)> assign;
  /// Keeps the memory at `host` alive until then.
  std::shared_ptr<void> keep_alive;
};

/// How a tensor came to be, as far as computing gradients depends on it.
enum class Standing : int {
  plain,
  untracked_view,  ///< of another tensor, made while gradients were switched off
  view,            ///< of one that required no gradient then
  tracked_view,    ///< passes its gradient on to the other tensor
  computed,        ///< passes its gradient on to the tensors it was computed from
};

struct Lineage {
  Standing standing = Standing::plain;
  const void* base = nullptr;  ///< of a view: the other tensor's object
  bool base_trains = false;    ///< that one requires a gradient
  bool base_is_leaf = true;    ///< and was not computed itself

  bool is_view() const { return standing != Standing::plain && standing != Standing::computed; }

  /// The tensor can stay as it is where one is restored whose base is not part of the state.
  bool fits(bool computed) const {
    switch (standing) {
      case Standing::plain:
        return true;
      case Standing::untracked_view:
      case Standing::view:
        return !computed && !base_trains;
      case Standing::tracked_view:
        return computed && base_is_leaf;
      case Standing::computed:
        return false;  // from which tensors, no restore can know
    }
    return false;
  }
};

/// Where in memory a piece of state lies. Pieces that share memory when a checkpoint is taken share
/// it after a restore, and no others do.
struct Place {
  std::string type;             ///< pieces of another type are at best in the same block
  const void* block = nullptr;  ///< the memory that the piece is a part of
  std::uint64_t block_bytes = 0;
  std::uint64_t offset = 0;  ///< of the piece in the block
  std::uint64_t bytes = 0;   ///< how far the piece reaches from there
  std::vector<std::int64_t> strides;
  const void* object = nullptr;  ///< handles of one object have the same
  /// The piece with the higher number keeps its memory where two must be separated: a parameter
  /// (2), a tensor that is trained (1), others (0). A piece that a restore makes anew in any case
  /// is below 0.
  int firmness = 0;
  Lineage lineage = {};
  std::shared_ptr<void> handle;  ///< a handle of the object
};

/// Tells a restore how to handle the memory of a piece, if it is not just to fill it.
struct Placement {
  bool in_place = true;  ///< else it gets another object
  std::string type;
  /// The part of the block that it has.
  std::uint64_t offset = 0;
  std::vector<std::int64_t> strides;
  std::uint64_t block_bytes = 0;  ///< of a block that has to be made
  /// A handle of some piece in the shared block, and of the piece's object; null until one is made.
  /// Pieces that share have the same two pointers. `block` is null for a piece that shares nothing.
  std::shared_ptr<std::shared_ptr<void>> block, object;
  Standing standing = Standing::plain;
  std::shared_ptr<const Placement> base = {};  ///< of the piece that it is a view of
};

/// Receives the pieces of the state. Names are full: "model/fc1.weight".
class StateSink {
 public:
  virtual ~StateSink() = default;
  virtual void bytes(std::string name, std::string_view content) = 0;
  virtual void tensor(std::string name, const TensorSource& source) = 0;
  /// Where the piece of that name lies.
  virtual void place(const std::string& /*name*/, const Place& /*place*/) {}
  /// False where only the places are of interest.
  virtual bool wants_content() const { return true; }
};

/// Supplies the recorded pieces. Asking for a name that was not recorded throws an error that names
/// it.
class StateSource {
 public:
  virtual ~StateSource() = default;
  virtual bool has(const std::string& name) const = 0;
  virtual const store::Item& item(const std::string& name) const = 0;
  virtual std::string bytes(const std::string& name) = 0;
  virtual void tensor(const std::string& name, TensorTarget target) = 0;
  /// Null: the piece is filled in place, or made where it is missing.
  virtual const Placement* placement(const std::string& /*name*/) const { return nullptr; }
};

namespace detail {
/// The item as messages call it: its name, or a description of state that Flor keeps by itself.
std::string item_title(std::string_view item);

inline std::string join_names(std::string_view prefix, std::string_view name) {
  if (prefix.empty()) return std::string(name);
  if (name.empty()) return std::string(prefix);
  std::string joined;
  joined.reserve(prefix.size() + 1 + name.size());
  joined.append(prefix).append("/").append(name);
  return joined;
}

template <typename T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// The element type that a C++ number of this kind is stored as.
template <Number T>
constexpr ElementType element_type_of() {
  if constexpr (std::is_enum_v<T>) {
    return element_type_of<std::underlying_type_t<T>>();
  } else if constexpr (std::same_as<T, bool>) {
    return ElementType::boolean;
  } else if constexpr (std::same_as<T, float>) {
    return ElementType::f32;
  } else if constexpr (std::same_as<T, double>) {
    return ElementType::f64;
  } else if constexpr (std::floating_point<T> || sizeof(T) > 8) {
    return ElementType::bytes;
  } else if constexpr (sizeof(T) == 1) {
    return std::is_signed_v<T> ? ElementType::i8 : ElementType::u8;
  } else if constexpr (sizeof(T) == 2) {
    return ElementType::i16;
  } else if constexpr (sizeof(T) == 4) {
    return ElementType::i32;
  } else {
    return ElementType::i64;
  }
}

/// The bytes of a number that count: a long double has padding with arbitrary content.
template <Number T>
constexpr std::size_t bytes_that_count() {
  return std::same_as<T, long double> && std::numeric_limits<T>::digits == 64 ? 10 : sizeof(T);
}
}  // namespace detail

/// Writes the pieces of one object, named relative to it; the empty name is the object itself.
class StateWriter {
 public:
  /// Made by Flor.
  StateWriter(StateSink& sink, std::string prefix) : sink_(&sink), prefix_(std::move(prefix)) {}

  /// A piece of any length.
  void bytes(std::string_view name, std::string_view content) const {
    sink_->bytes(detail::join_names(prefix_, name), content);
  }
  /// A tensor, read as its source says.
  void tensor(std::string_view name, const TensorSource& source) const {
    sink_->tensor(detail::join_names(prefix_, name), source);
  }
  /// A number, an enumerator or a boolean.
  template <detail::Number T>
  void number(std::string_view name, const T& value) const {
    std::byte content[sizeof(T)] = {};
    std::memcpy(content, &value, detail::bytes_that_count<T>());
    tensor(name, {.type = detail::element_type_of<T>(),
                  .sizes = {},
                  .bytes = sizeof(T),
                  .host = content,
                  .copy = {}});
  }
  /// Where the piece of that name lies.
  void place(std::string_view name, const Place& place) const {
    sink_->place(detail::join_names(prefix_, name), place);
  }
  /// False: only the places are asked for.
  bool wants_content() const { return sink_->wants_content(); }
  /// The name with the object's before it, for messages; without names that only Flor knows.
  std::string full_name(std::string_view name) const {
    return detail::item_title(detail::join_names(prefix_, name));
  }
  /// A writer for a part of the object.
  StateWriter within(std::string_view name) const {
    return {*sink_, detail::join_names(prefix_, name)};
  }

 private:
  StateSink* sink_;
  std::string prefix_;
};

/// Reads pieces that StateWriter wrote, by the same names. Asking for one that was not recorded
/// throws.
class StateReader {
 public:
  /// Made by Flor.
  StateReader(StateSource& source, std::string prefix)
      : source_(&source), prefix_(std::move(prefix)) {}

  /// True if it was recorded.
  bool has(std::string_view name) const { return source_->has(detail::join_names(prefix_, name)); }
  /// Its type and sizes.
  const store::Item& item(std::string_view name) const {
    return source_->item(detail::join_names(prefix_, name));
  }
  /// The content of a piece.
  std::string bytes(std::string_view name) const {
    return source_->bytes(detail::join_names(prefix_, name));
  }
  /// For Flor's own adapters.
  const Placement* placement(std::string_view name) const {
    return source_->placement(detail::join_names(prefix_, name));
  }
  /// The target is filled before the restore as a whole returns, not before this call does.
  void tensor(std::string_view name, TensorTarget target) const {
    source_->tensor(detail::join_names(prefix_, name), std::move(target));
  }
  /// Content of numbers that must have been recorded with this type; read at once.
  std::string numbers(std::string_view name, ElementType type) const {
    const std::string item = detail::join_names(prefix_, name);
    if (const ElementType recorded = source_->item(item).type; recorded != type) {
      throw Error("'" + full_name(name) + "' was recorded as " + std::string(store::to_string(recorded)) +
                  ", but is " + std::string(store::to_string(type)) +
                  " here: its type has changed since");
    }
    return source_->bytes(item);
  }
  /// A number that must have been recorded with this type.
  template <detail::Number T>
  void number(std::string_view name, T& value) const {
    const std::string content = numbers(name, detail::element_type_of<T>());
    if (content.size() != sizeof(T)) {
      throw Error("'" + full_name(name) + "' was recorded with " + std::to_string(content.size()) +
                  " bytes, but is a number of " + std::to_string(sizeof(T)) +
                  " here: its type has changed since");
    }
    std::copy(content.begin(), content.end(), reinterpret_cast<char*>(&value));
  }
  /// The name with the object's before it, for messages; without names that only Flor knows.
  std::string full_name(std::string_view name) const {
    return detail::item_title(detail::join_names(prefix_, name));
  }
  /// A reader for a part of the object.
  StateReader within(std::string_view name) const {
    return {*source_, detail::join_names(prefix_, name)};
  }

 private:
  StateSource* source_;
  std::string prefix_;
};

}  // namespace flor
