#include "plugin/plugin.h"

#include <flor/adapter.h>
#include <flor/store/error.h>

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <map>
#include <string_view>
#include <utility>

namespace flor::detail {
namespace {

/// Restores random generators and the number of threads after a call, whatever the plug-in did with
/// them.
class AmbientGuard final : private StateSink, private StateSource {
 public:
  AmbientGuard() {
    if (adapter().threads) threads_ = adapter().threads();
    save();
    before_ = std::exchange(contents_, {});
  }
  /// Called explicitly, since it may throw, which a destructor may not.
  void put_back() {
    if (threads_ && adapter().threads() != *threads_) adapter().set_threads(*threads_);
    save();
    if (contents_ == before_) return;
    contents_ = before_;
    for (const Slot& slot : adapter().ambient) slot.load(StateReader(*this, slot.name));
  }

 private:
  void save() {
    for (const Slot& slot : adapter().ambient) slot.save(StateWriter(*this, slot.name));
  }

  void bytes(std::string name, std::string_view content) override {
    contents_[std::move(name)] = content;
  }
  void tensor(std::string name, const TensorSource& source) override {
    std::string content(source.bytes, '\0');
    auto* const into = reinterpret_cast<std::byte*>(content.data());
    if (source.host) {
      std::memcpy(into, source.host, source.bytes);
    } else if (const auto pending = source.copy(into)) {
      pending->wait();
    }
    contents_[name] = std::move(content);
    items_[name] = {
        .name = name, .type = source.type, .sizes = source.sizes, .bytes = source.bytes};
  }

  bool has(const std::string& name) const override { return contents_.contains(name); }
  const store::Item& item(const std::string& name) const override { return items_.at(name); }
  std::string bytes(const std::string& name) override { return contents_.at(name); }
  void tensor(const std::string& name, TensorTarget target) override {
    const std::string& content = contents_.at(name);
    const auto* const from = reinterpret_cast<const std::byte*>(content.data());
    if (target.host) {
      std::memcpy(target.host, from, content.size());
    } else {
      target.assign(from);
    }
  }

  std::optional<int> threads_;
  std::map<std::string, std::string> contents_, before_;
  std::map<std::string, store::Item> items_;
};

/// One call of the plug-in, as the program sees it.
struct Call {
  const ProbedRun& run;
  ProbedState& state;
  std::string error = {};
  std::exception_ptr damage = nullptr;
};

Call& call_of(void* self) { return *static_cast<Call*>(self); }

/// Calls `body`, and keeps its exception: no exception of the program may pass through the plug-in.
template <typename Body>
bool guarded(void* self, Body&& body) {
  try {
    body();
    return true;
  } catch (const Damaged& error) {
    call_of(self).error = error.what();
    call_of(self).damage = std::current_exception();
  } catch (const std::exception& error) {
    call_of(self).error = error.what();
  } catch (...) {
    call_of(self).error = "an exception of unknown type";
  }
  return false;
}

bool is_below(std::string_view name, std::string_view prefix) {
  return prefix.empty() || name == prefix ||
         (name.starts_with(prefix) && name[prefix.size()] == '/');
}

bool list(void* self, const char* prefix, void* context, void (*each)(void*, const ProbedItem*)) {
  return guarded(self, [&] {
    for (const store::Item& item : call_of(self).state.items()) {
      if (!is_below(item.name, prefix)) continue;
      const ProbedItem shown{.name = item.name.c_str(),
                             .sizes = item.sizes.data(),
                             .dimensions = item.sizes.size(),
                             .bytes = item.bytes,
                             .type = item.type};
      each(context, &shown);
    }
  });
}

bool read(void* self, std::size_t count, const char* const* names, void* const* into,
          const std::uint64_t* bytes) {
  return guarded(self, [&] {
    std::vector<WantedItem> wanted;
    for (std::size_t i = 0; i < count; ++i) {
      wanted.push_back({names[i], {static_cast<std::byte*>(into[i]), bytes[i]}});
    }
    call_of(self).state.read(wanted);
  });
}

const char* fact(void* self, const char* kind, const char* name) {
  const Call& call = call_of(self);
  const std::string_view text = kind;
  if (text == "run") return call.run.key.c_str();
  if (text == "experiment") return call.run.experiment.c_str();
  return text == "argument" ? call.run.argument(name) : nullptr;
}

void log_text_or_json(void*, const char* name, bool json, const char* text, std::size_t size) {
  json ? log_json(name, {text, size}) : log_text(name, {text, size});
}

void log_content_of(void*, const char* name, bool image, store::ElementType type,
                    std::size_t dimensions, const std::int64_t* sizes, const void* content,
                    std::uint64_t bytes) {
  const store::Item item{
      .name = name, .type = type, .sizes = {sizes, sizes + dimensions}, .bytes = bytes};
  log_content(name, image, item, {static_cast<const std::byte*>(content), bytes});
}

ProbeHost host_of(Call& call, const ProbePlace& place) {
  ProbeHost host;
  host.place = place;
  host.self = &call;
  host.error = [](void* self) { return call_of(self).error.c_str(); };
  host.list = list;
  host.read = read;
  host.fact = fact;
  host.log_boolean = [](void*, const char* name, bool value) { log_boolean(name, value); };
  host.log_integer = [](void*, const char* name, std::int64_t value) { log_integer(name, value); };
  host.log_real = [](void*, const char* name, double value) { log_real(name, value); };
  host.log_text = log_text_or_json;
  host.log_content = log_content_of;
  host.log_histogram = [](void*, const char* name, const double* values, std::size_t count,
                          int bins) { detail::log_histogram(name, {values, count}, bins); };
  host.log_table = [](void*, const char* name, const Table* table) {
    detail::log_table(name, *table);
  };
  return host;
}

std::string where(const ProbePlace& place) {
  const std::string epoch = fmt::format("epoch {}", place.epoch);
  switch (place.at) {
    case ProbeAt::loop_end:
      return fmt::format("at the end of {}, {}", place.nested_loop_name, epoch);
    case ProbeAt::loop_begin:
      return fmt::format("before {}, {}", place.nested_loop_name, epoch);
    case ProbeAt::step_end:
      return fmt::format("after step {} of {}, {}", place.step, place.nested_loop_name, epoch);
    default:
      return "at the end of " + epoch;
  }
}

/// The first line: messages of libtorch continue with a backtrace.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

Plugin::Plugin(PluginFile file) : file_(std::move(file)) {
  const std::string name = file_.path.string();
  const auto facts =
      adapter().environment ? adapter().environment() : std::map<std::string, std::string>();
  if (const auto own = facts.find("libtorch");
      !file_.libtorch.empty() && own != facts.end() && own->second != file_.libtorch) {
    throw UsageError(fmt::format(
        "plug-in {}: it was built with libtorch {}, this program with {}: build it with the "
        "libtorch of the program",
        name, file_.libtorch, own->second));
  }
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const why = ::dlerror();
    throw UsageError(
        fmt::format("plug-in {}: it cannot be loaded: {}", name, why ? why : "unknown error"));
  }
  function_ = reinterpret_cast<decltype(function_)>(::dlsym(handle, "flor_probe"));
  if (!function_) {
    throw UsageError(
        fmt::format("plug-in {}: it has no function flor_probe: define extern \"C\" "
                    "void flor_probe(flor::Probe& probe)",
                    name));
  }
  const auto places =
      reinterpret_cast<decltype(&flor_probe_places)>(::dlsym(handle, "flor_probe_places"));
  places_ = places ? places() : static_cast<std::uint32_t>(ProbeAt::epoch_end);
}

void Plugin::call(const ProbedRun& run, const ProbePlace& place, ProbedState& state) {
  Call call{.run = run, .state = state};
  const ProbeHost host = host_of(call, place);
  Probe probe(host);
  AmbientGuard guard;
  const auto failed = [&](std::string_view what) {
    return Error(fmt::format("{} failed {}: {}", file_.name(), where(place), first_line(what)));
  };
  try {
    function_(probe);
  } catch (const std::exception& error) {
    if (call.damage) std::rethrow_exception(call.damage);
    throw failed(error.what());
  } catch (...) {
    throw failed("an exception of unknown type");
  }
  guard.put_back();
}

}  // namespace flor::detail
