// For a plug-in, which asks a recorded run something new: a function that a replay calls with the
// recorded state of each epoch (docs/replay.md). Needs no library of Flor.
//
//   #include <flor/plugin/probe.h>
//
//   extern "C" void flor_probe(flor::Probe& probe) {
//     const auto total = probe.number<double>("total");
//     probe.log("square", total * total);
//   }
//
//   c++ -std=c++20 -shared -fPIC square.cpp -o square.so
//   flor replay RUN --plugin ./square.so
//
// <flor/plugin/probe_torch.h> shows the state as tensors of libtorch.
#pragma once

#include <flor/log.h>
#include <flor/store/checkpoint.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Version of the interface between a compiled plug-in and the program. Incremented when it
/// changes.
#define FLOR_PROBE_INTERFACE 1
#define FLOR_PROBE_TEXT_(number) #number
#define FLOR_PROBE_TEXT(number) FLOR_PROBE_TEXT_(number)

namespace flor {

/// The points in the loops where a plug-in can be called.
enum class ProbeAt : std::uint32_t {
  epoch_end = 1,   ///< after an iteration of the main loop
  loop_end = 2,    ///< after a nested loop, executed or loaded
  loop_begin = 4,  ///< before a nested loop
  step_end = 8,    ///< after an iteration of a nested loop that is executed
};
/// Combines several points for flor_probe_places.
constexpr std::uint32_t operator|(ProbeAt a, ProbeAt b) {
  return static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b);
}
constexpr std::uint32_t operator|(std::uint32_t a, ProbeAt b) {
  return a | static_cast<std::uint32_t>(b);
}

/// A place in the loops. All indices count from 0.
struct ProbePlace {
  ProbeAt at = ProbeAt::epoch_end;    ///< why the plug-in is called
  std::int64_t epoch = 0;             ///< index over all main loops
  std::int64_t main_loop = 0;         ///< which main loop
  std::int64_t iteration = 0;         ///< iteration of this main loop
  std::int64_t step = -1;             ///< at step_end: iteration of the nested loop
  const char* main_loop_name = "";    ///< name, e.g. "epoch"
  const char* nested_loop_name = "";  ///< name, e.g. "train"; empty at epoch_end
};

class Probe;

namespace detail {

struct ProbedItem {
  const char* name;
  const std::int64_t* sizes;
  std::size_t dimensions;
  std::uint64_t bytes;
  store::ElementType type;
};

/// Services that the program offers to a plug-in: the place, and functions. A function returns
/// false on failure, and `error` then returns the reason; none throws. Later versions of the
/// interface add members at the end and change nothing else.
struct ProbeHost {
  std::uint32_t interface = FLOR_PROBE_INTERFACE;
  ProbePlace place;
  void* self = nullptr;
  const char* (*error)(void* self) = nullptr;
  bool (*list)(void* self, const char* prefix, void* context,
               void (*each)(void* context, const ProbedItem* item)) = nullptr;
  bool (*read)(void* self, std::size_t count, const char* const* names, void* const* into,
               const std::uint64_t* bytes) = nullptr;
  /// A fact of `kind` "run", "experiment" or "argument" (with a name); null if there is none.
  const char* (*fact)(void* self, const char* kind, const char* name) = nullptr;
  void (*log_boolean)(void* self, const char* name, bool value) = nullptr;
  void (*log_integer)(void* self, const char* name, std::int64_t value) = nullptr;
  void (*log_real)(void* self, const char* name, double value) = nullptr;
  void (*log_text)(void* self, const char* name, bool json, const char* text,
                   std::size_t size) = nullptr;
  void (*log_content)(void* self, const char* name, bool image, store::ElementType type,
                      std::size_t dimensions, const std::int64_t* sizes, const void* content,
                      std::uint64_t bytes) = nullptr;
  void (*log_histogram)(void* self, const char* name, const double* values, std::size_t count,
                        int bins) = nullptr;
  void (*log_table)(void* self, const char* name, const Table* table) = nullptr;
};

}  // namespace detail

/// The registered state as the run recorded it, the place in the loops that it belongs to, and a
/// log. Logged values appear beside the recorded ones, with origin `hindsight`.
///
/// Contents that it returns are copies in the plug-in's own memory: changing them does not change
/// the replay. Errors are std::runtime_error with a text of one line. An error that leaves
/// flor_probe ends the replay with status 1; earlier findings are kept. The object is valid until
/// flor_probe returns, and only on the thread that called it.
class Probe {
 public:
  explicit Probe(const detail::ProbeHost& host) : host_(&host) {}  ///< made by the replay

  const ProbePlace& place() const { return host_->place; }  ///< where the replay is
  std::int64_t epoch() const { return place().epoch; }      ///< index over all main loops

  /// Key of the run, 16 hexadecimal digits.
  std::string run() const { return fact("run").value_or(""); }
  /// The experiment that the run was recorded under.
  std::string experiment() const { return fact("experiment").value_or(""); }
  /// The value that flor::arg returned in the recorded run, as text. Nothing if there was no such
  /// argument, or its value is secret.
  std::optional<std::string> argument(const std::string& name) const {
    return fact("argument", name.c_str());
  }

  /// The items (stored pieces of state) whose names are `prefix` or below it: "model" finds
  /// "model/0.weight" and so on, with the names that `flor export RUN@0` writes. An empty prefix
  /// finds all. At the end of a nested loop, its attached locals are "with:NAME".
  std::vector<store::Item> items(const std::string& prefix = {}) const {
    std::vector<store::Item> found;
    const auto each = [](void* context, const detail::ProbedItem* item) {
      static_cast<std::vector<store::Item>*>(context)->push_back(
          {.name = item->name,
           .type = item->type,
           .sizes = {item->sizes, item->sizes + item->dimensions},
           .bytes = item->bytes});
    };
    check(host_->list(host_->self, prefix.c_str(), &found, each));
    return found;
  }
  /// The item with exactly this name. Throws if there is none.
  store::Item item(const std::string& name) const {
    for (store::Item& item : items(name)) {
      if (item.name == name) return std::move(item);
    }
    throw std::runtime_error("the state has no '" + name + "'; it has " + names());
  }
  /// True if there is an item with exactly this name.
  bool has(const std::string& name) const {
    const auto found = items(name);
    return std::ranges::any_of(found, [&](const store::Item& item) { return item.name == name; });
  }

  /// Reads the contents of several items, row-major, each to `into[i]`, which must have room for
  /// `wanted[i].bytes`. One call for all is quicker than one call for each.
  void read(std::span<const store::Item> wanted, std::span<void* const> into) const {
    std::vector<const char*> names;
    std::vector<std::uint64_t> bytes;
    for (const store::Item& item : wanted) {
      names.push_back(item.name.c_str());
      bytes.push_back(item.bytes);
    }
    if (names.size() != into.size()) throw std::runtime_error("as many places as items are needed");
    check(host_->read(host_->self, names.size(), names.data(), into.data(), bytes.data()));
  }

  /// The content of an item as its stored bytes.
  std::string bytes(const std::string& name) const { return content(item(name)); }

  /// A single number, converted to T from the recorded type. Throws for f16, bf16 and complex
  /// numbers.
  template <typename T>
    requires std::is_arithmetic_v<T>
  T number(const std::string& name) const {
    const std::vector<T> found = numbers<T>(name);
    if (found.size() == 1) return found.front();
    throw std::runtime_error("'" + name + "' is no single number: it has " +
                             std::to_string(found.size()) + " elements");
  }

  /// The elements of a registered container of numbers ("losses/values") or of a tensor, row-major.
  template <typename T>
    requires std::is_arithmetic_v<T>
  std::vector<T> numbers(const std::string& name) const {
    using enum store::ElementType;
    const store::Item found = item(name);
    const std::string text = content(found);
    switch (found.type) {
      case boolean:
      case u8:
        return converted<std::uint8_t, T>(text);
      case i8:
        return converted<std::int8_t, T>(text);
      case i16:
        return converted<std::int16_t, T>(text);
      case i32:
        return converted<std::int32_t, T>(text);
      case i64:
        return converted<std::int64_t, T>(text);
      case f32:
        return converted<float, T>(text);
      case f64:
        return converted<double, T>(text);
      default:
        throw std::runtime_error("'" + name + "' is not of numbers that C++ has");
    }
  }

  /// Logs a value as flor::log does, at the place of this call. `flor query` shows it as a value of
  /// the epoch, or of the step at step_end.
  template <typename T>
  void log(const std::string& name, const T& value) const {
    if constexpr (std::same_as<T, bool>) {
      host_->log_boolean(host_->self, name.c_str(), value);
    } else if constexpr (std::integral<T>) {
      host_->log_integer(host_->self, name.c_str(), static_cast<std::int64_t>(value));
    } else if constexpr (std::floating_point<T>) {
      host_->log_real(host_->self, name.c_str(), static_cast<double>(value));
    } else if constexpr (std::same_as<T, Json>) {
      log_text(name, true, value.text);
    } else {
      static_assert(std::convertible_to<const T&, std::string_view>,
                    "a plug-in logs numbers, booleans, texts and flor::Json; tensors with "
                    "flor::TorchProbe of <flor/plugin/probe_torch.h>");
      log_text(name, false, value);
    }
  }

  /// Logs a whole array: `values` in row-major order, with the shape `sizes`.
  template <typename T>
    requires std::is_arithmetic_v<T>
  void log_tensor(const std::string& name, std::span<const T> values,
                  const std::vector<std::int64_t>& sizes) const {
    log_content(name, false, detail::element_type_of<T>(), sizes, std::as_bytes(values));
  }
  /// Logs the bytes of an array in row-major order, with the shape `sizes`. `image`: show it as an
  /// image.
  void log_content(const std::string& name, bool image, store::ElementType type,
                   const std::vector<std::int64_t>& sizes,
                   std::span<const std::byte> content) const {
    host_->log_content(host_->self, name.c_str(), image, type, sizes.size(), sizes.data(),
                       content.data(), content.size());
  }
  /// Logs the distribution of `values`: counts in `bins` intervals of equal width.
  void log_histogram(const std::string& name, std::span<const double> values, int bins = 64) const {
    host_->log_histogram(host_->self, name.c_str(), values.data(), values.size(), bins);
  }
  /// Logs rows of numbers, such as a confusion matrix.
  void log_table(const std::string& name, const Table& table) const {
    host_->log_table(host_->self, name.c_str(), &table);
  }

 private:
  void check(bool well) const {
    if (!well) throw std::runtime_error(host_->error(host_->self));
  }
  std::optional<std::string> fact(const char* kind, const char* name = "") const {
    const char* text = host_->fact(host_->self, kind, name);
    return text ? std::optional<std::string>(text) : std::nullopt;
  }
  std::string names() const {
    std::string text;
    std::size_t count = 0;
    for (const store::Item& item : items()) {
      constexpr std::size_t kShown = 8;
      if (++count <= kShown) text += (text.empty() ? "" : ", ") + item.name;
      if (count == kShown + 1) text += ", ...";
    }
    return text.empty() ? "nothing" : text;
  }
  std::string content(const store::Item& item) const {
    std::string text(item.bytes, '\0');
    void* const into = text.data();
    read({&item, 1}, {&into, 1});
    return text;
  }
  template <typename From, typename T>
  static std::vector<T> converted(const std::string& text) {
    std::vector<T> values;
    for (std::size_t at = 0; at + sizeof(From) <= text.size(); at += sizeof(From)) {
      From value;
      std::memcpy(&value, text.data() + at, sizeof value);
      values.push_back(static_cast<T>(value));
    }
    return values;
  }
  void log_text(const std::string& name, bool json, std::string_view text) const {
    host_->log_text(host_->self, name.c_str(), json, text.data(), text.size());
  }

  const detail::ProbeHost* host_;
};

}  // namespace flor

extern "C" {

/// The function that a plug-in defines. Called at the end of every epoch of the replay, or at the
/// points that flor_probe_places returns. The values it logs must follow from the state alone:
/// epochs are visited in any order, by several processes, and epochs that it has answered are not
/// visited again.
[[gnu::visibility("default")]] void flor_probe(flor::Probe& probe);

/// Optional function of a plug-in: returns the points at which flor_probe is called, e.g.
/// `flor::ProbeAt::epoch_end | flor::ProbeAt::loop_end`. For loop_begin and step_end the replay has
/// to execute the loop, which the option `--probe LOOP` asks for.
[[gnu::visibility("default")]] std::uint32_t flor_probe_places();

/// The version of the interface as text, which Flor finds in the file before it loads the plug-in.
[[gnu::visibility("default"), gnu::weak]] extern const char flor_probe_interface[];
const char flor_probe_interface[] =
    "flor-probe-interface=" FLOR_PROBE_TEXT(FLOR_PROBE_INTERFACE) ";";

}  // extern "C"
