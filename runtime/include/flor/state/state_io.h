// The interfaces through which an object hands over pieces of its state when it is saved, and gets
// them back when it is restored. Programs need them only for types of their own, see
// flor::StateTraits.
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

/// An asynchronous copy from a device that has been enqueued and may not be complete yet.
class PendingCopy {
 public:
  virtual ~PendingCopy() = default;
  /// Returns when the bytes have arrived. Called from a thread other than the one that began the
  /// copy.
  virtual void wait() = 0;
};

/// The content of a tensor, copied to another place on its device, so that the training can go on
/// while this copy is brought to the host. May be destroyed by any thread, which frees the device's
/// memory.
class StagedCopy {
 public:
  virtual ~StagedCopy() = default;
  /// Whether it holds the same bits as the earlier copy that `TensorSource::stage` got. Waits for
  /// the device. May be called from any thread but the training thread, which would wait for its
  /// own work.
  virtual bool unchanged() = 0;
  /// Writes the content to `into`, pinned host memory, and waits until it is there. Other work on
  /// the device continues.
  virtual void copy(std::byte* into) = 0;
};

/// Keeps the memory of a tensor alive, and tells whether the tensor was written.
class WriteWatch {
 public:
  virtual ~WriteWatch() = default;
  /// A number that changes when the tensor is written, or when its content moves to other memory.
  /// May be called from any thread.
  virtual std::uint64_t version() const = 0;
};

/// The content of a tensor at this moment, in row-major order without gaps.
struct TensorSource {
  ElementType type = ElementType::bytes;
  std::vector<std::int64_t> sizes;
  std::size_t bytes = 0;
  /// The content, if it is contiguous in host memory. It is read before the receiving call returns.
  const std::byte* host = nullptr;
  /// Set if `host` is null. Writes the content, which has `bytes` bytes, to `into`. May return
  /// while the copy is still under way, provided that later writes to the tensor come after it
  /// (both are on one stream).
  std::function<std::shared_ptr<PendingCopy>(std::byte* into)> copy;
  /// The content is on a device, so `into` should be pinned host memory.
  bool device = false;
  /// With `device`: makes a copy on the device. `last` is an earlier copy of the same tensor to
  /// compare with, or null. Returns null if the device has not enough memory.
  std::function<std::shared_ptr<StagedCopy>(const std::shared_ptr<StagedCopy>& last)> stage = nullptr;
  /// With `host`, set only if no code unknown to the user writes the tensor: lets the content be
  /// read after the call returned, if the user chose flor::overlapping.
  std::shared_ptr<WriteWatch> watch = nullptr;
};

/// Where to put the content of a tensor. Type and sizes must be the recorded ones, else the restore
/// throws an error that names the tensor and both shapes.
struct TensorTarget {
  ElementType type = ElementType::bytes;
  std::vector<std::int64_t> sizes;
  std::size_t bytes = 0;
  /// Contiguous host memory, which is written at some time before the restore as a whole returns.
  std::byte* host = nullptr;
  /// If `host` is null: called with the content, on the restoring thread, before the restore
  /// returns.
  std::function<void(const std::byte* content)> assign;
  /// Keeps the memory at `host` alive until it is written.
  std::shared_ptr<void> keep_alive;
};

/// How a tensor was made, as far as computing gradients depends on it.
enum class Standing : int {
  plain,
  untracked_view,  ///< a view of another tensor, made while gradients were off
  view,            ///< a view of a tensor that required no gradient when it was made
  tracked_view,    ///< a view that passes its gradient on to the other tensor
  computed,        ///< passes its gradient on to the tensors that it was computed from
};

struct Lineage {
  Standing standing = Standing::plain;
  const void* base = nullptr;  ///< of a view: the object of the other tensor, its base
  bool base_trains = false;    ///< the base requires a gradient
  bool base_is_leaf = true;    ///< the base was not computed from others

  bool is_view() const { return standing != Standing::plain && standing != Standing::computed; }

  /// Whether this tensor can be kept when a restore needs a tensor that was `computed` or not, and
  /// the base of a view is not part of the state.
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
        return false;  // a restore cannot know from which tensors it was computed
    }
    return false;
  }
};

/// Where in memory a piece of state lies. Pieces share memory after a restore exactly if they did
/// when the checkpoint was taken.
struct Place {
  /// Pieces of different types never become one object; they can only lie in one block.
  std::string type;
  const void* block = nullptr;  ///< the memory block that contains the piece
  std::uint64_t block_bytes = 0;
  std::uint64_t offset = 0;  ///< of the piece in the block, in bytes
  std::uint64_t bytes = 0;   ///< how many bytes of the block the piece spans from there
  std::vector<std::int64_t> strides;
  const void* object = nullptr;  ///< equal for all handles of one object
  /// Which of two pieces keeps its memory when they must be separated: the one with the higher
  /// number. 2 for a parameter, 1 for a tensor that is trained, 0 for others, below 0 for a piece
  /// that a restore makes anew in any case.
  int firmness = 0;
  Lineage lineage = {};
  std::shared_ptr<void> handle;  ///< a handle of the object
};

/// Tells a restore what to do with the memory of a piece besides filling it.
struct Placement {
  bool in_place = true;  ///< false: the piece gets another object
  std::string type;
  /// Where in the block the piece begins, in bytes.
  std::uint64_t offset = 0;
  std::vector<std::int64_t> strides;
  std::uint64_t block_bytes = 0;  ///< if the block has to be made
  /// A handle of some piece in the shared block, and a handle of the piece's object; each is null
  /// until one is made. Pieces that share a block or an object have the same pointers here. `block`
  /// is null for a piece that shares nothing.
  std::shared_ptr<std::shared_ptr<void>> block, object;
  Standing standing = Standing::plain;
  /// Placement of the piece that this one is a view of.
  std::shared_ptr<const Placement> base = {};
};

/// Receives the pieces of state of a save. Names are full, such as "model/fc1.weight".
class StateSink {
 public:
  virtual ~StateSink() = default;
  virtual void bytes(std::string name, std::string_view content) = 0;
  virtual void tensor(std::string name, const TensorSource& source) = 0;
  /// Tells where in memory the piece of that name lies.
  virtual void place(const std::string& /*name*/, const Place& /*place*/) {}
  /// False if only the calls of `place` are needed, not the contents.
  virtual bool wants_content() const { return true; }
};

/// Supplies the recorded pieces to a restore. Asking for a piece that was not recorded throws an
/// error with its name.
class StateSource {
 public:
  virtual ~StateSource() = default;
  virtual bool has(const std::string& name) const = 0;
  virtual const store::Item& item(const std::string& name) const = 0;
  virtual std::string bytes(const std::string& name) = 0;
  virtual void tensor(const std::string& name, TensorTarget target) = 0;
  /// Says whether a restore fills the memory of the piece or places it elsewhere. Null: the piece
  /// is filled in place, or made if it is missing.
  virtual const Placement* placement(const std::string& /*name*/) const { return nullptr; }
};

namespace detail {
/// How messages call an item: by its name, or by a description if it is state that Flor adds
/// itself.
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

/// The bytes of a number that carry its value: a long double has padding with arbitrary content.
template <Number T>
constexpr std::size_t bytes_that_count() {
  return std::same_as<T, long double> && std::numeric_limits<T>::digits == 64 ? 10 : sizeof(T);
}
}  // namespace detail

/// Writes the pieces of one object. Names are relative to the object; the empty name is the object
/// itself.
class StateWriter {
 public:
  /// Made by Flor and passed to `save`.
  StateWriter(StateSink& sink, std::string prefix) : sink_(&sink), prefix_(std::move(prefix)) {}

  /// Writes a piece of any length.
  void bytes(std::string_view name, std::string_view content) const {
    sink_->bytes(detail::join_names(prefix_, name), content);
  }
  /// Writes a tensor, whose content `source` describes.
  void tensor(std::string_view name, const TensorSource& source) const {
    sink_->tensor(detail::join_names(prefix_, name), source);
  }
  /// Writes a number, an enumerator or a boolean.
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
  /// Tells where in memory the piece of that name lies.
  void place(std::string_view name, const Place& place) const {
    sink_->place(detail::join_names(prefix_, name), place);
  }
  /// False if only the calls of `place` are needed, not the contents.
  bool wants_content() const { return sink_->wants_content(); }
  /// The full name of a piece for messages, without the internal names that Flor adds.
  std::string full_name(std::string_view name) const {
    return detail::item_title(detail::join_names(prefix_, name));
  }
  /// A writer for a part of the object, whose names begin with `name`.
  StateWriter within(std::string_view name) const {
    return {*sink_, detail::join_names(prefix_, name)};
  }

 private:
  StateSink* sink_;
  std::string prefix_;
};

/// Reads pieces that StateWriter wrote, by the same names. Throws if a piece was not recorded.
class StateReader {
 public:
  /// Made by Flor and passed to `load`.
  StateReader(StateSource& source, std::string prefix)
      : source_(&source), prefix_(std::move(prefix)) {}

  /// True if the piece was recorded.
  bool has(std::string_view name) const { return source_->has(detail::join_names(prefix_, name)); }
  /// The type and sizes of a piece.
  const store::Item& item(std::string_view name) const {
    return source_->item(detail::join_names(prefix_, name));
  }
  /// The content of a piece.
  std::string bytes(std::string_view name) const {
    return source_->bytes(detail::join_names(prefix_, name));
  }
  /// Says whether a restore fills the memory of a piece or places it elsewhere, see StateSource.
  /// For Flor's own adapters.
  const Placement* placement(std::string_view name) const {
    return source_->placement(detail::join_names(prefix_, name));
  }
  /// Has the content put where `target` says. This happens before the restore as a whole returns,
  /// not necessarily before this call does.
  void tensor(std::string_view name, TensorTarget target) const {
    source_->tensor(detail::join_names(prefix_, name), std::move(target));
  }
  /// The content of a piece of numbers. Throws if it was recorded with another type.
  std::string numbers(std::string_view name, ElementType type) const {
    const std::string item = detail::join_names(prefix_, name);
    if (const ElementType recorded = source_->item(item).type; recorded != type) {
      throw Error("'" + full_name(name) + "' was recorded as " + std::string(store::to_string(recorded)) +
                  ", but is " + std::string(store::to_string(type)) +
                  " here: its type has changed since");
    }
    return source_->bytes(item);
  }
  /// Reads a number. Throws if it was recorded with another type.
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
  /// The full name of a piece for messages, without the internal names that Flor adds.
  std::string full_name(std::string_view name) const {
    return detail::item_title(detail::join_names(prefix_, name));
  }
  /// A reader for a part of the object, whose names begin with `name`.
  StateReader within(std::string_view name) const {
    return {*source_, detail::join_names(prefix_, name)};
  }

 private:
  StateSource* source_;
  std::string prefix_;
};

}  // namespace flor
