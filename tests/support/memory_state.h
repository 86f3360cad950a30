// The state of a program in memory, which the tests of the adapter write to and read from. It fills
// targets only in `finish`, as the engine may do, and can be compared, printed and damaged.
#pragma once

#include <flor/state.h>

#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace flor::testing {

class MemoryState final : public StateSink, public StateSource {
 public:
  struct Entry {
    store::Item item;
    std::vector<std::byte> content;
    bool operator==(const Entry&) const = default;
  };

  void bytes(std::string name, std::string_view content) override {
    const auto* begin = reinterpret_cast<const std::byte*>(content.data());
    add({std::move(name), ElementType::bytes, {}, content.size()}, {begin, begin + content.size()});
  }
  void tensor(std::string name, const TensorSource& source) override {
    std::vector<std::byte> content(source.bytes);
    if (source.copy) {
      if (const auto pending = source.copy(content.data())) pending->wait();
    } else if (source.bytes > 0) {
      std::memcpy(content.data(), source.host, source.bytes);
    }
    add({std::move(name), source.type, source.sizes, source.bytes}, std::move(content));
  }

  bool has(const std::string& name) const override { return entries_.contains(name); }
  const store::Item& item(const std::string& name) const override { return entry(name).item; }
  std::string bytes(const std::string& name) override {
    const std::vector<std::byte>& content = entry(name).content;
    return {reinterpret_cast<const char*>(content.data()), content.size()};
  }
  void tensor(const std::string& name, TensorTarget target) override {
    const Entry& found = entry(name);
    if (target.type != found.item.type || target.sizes != found.item.sizes ||
        target.bytes != found.item.bytes) {
      throw Error("'" + name + "' does not have the recorded shape");
    }
    waiting_.emplace_back(&found, std::move(target));
  }
  /// Fills the targets that were requested since the last call.
  void finish() {
    for (auto& [found, target] : std::exchange(waiting_, {})) {
      if (target.assign) {
        target.assign(found->content.data());
      } else if (target.bytes > 0) {
        std::memcpy(target.host, found->content.data(), target.bytes);
      }
    }
  }

  template <typename T>
  void save(const std::string& name, const T& value) {
    StateTraits<T>::save(value, StateWriter(*this, name));
  }
  template <typename T>
  void load(const std::string& name, T& value) {
    StateTraits<T>::load(value, StateReader(*this, name));
    finish();
  }

  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& [name, ignored] : entries_) all.insert(name);
    return all;
  }
  void erase(const std::string& name) { entries_.erase(name); }
  bool operator==(const MemoryState& other) const { return entries_ == other.entries_; }

  /// All entries as text, readable enough to find a difference.
  std::string dump() const {
    std::string text;
    for (const auto& [name, found] : entries_) {
      text += name + " " + std::to_string(static_cast<int>(found.item.type)) + " ";
      for (const std::byte byte : found.content) {
        constexpr char kDigits[] = "0123456789abcdef";
        text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
        text += kDigits[std::to_integer<unsigned>(byte) & 15U];
      }
      text += '\n';
    }
    return text;
  }

 private:
  void add(store::Item item, std::vector<std::byte> content) {
    const std::string name = item.name;
    if (!entries_.emplace(name, Entry{std::move(item), std::move(content)}).second) {
      throw Error("'" + name + "' was written twice");
    }
  }
  const Entry& entry(const std::string& name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) throw Error("'" + name + "' was not recorded");
    return found->second;
  }

  std::map<std::string, Entry> entries_;
  std::vector<std::pair<const Entry*, TensorTarget>> waiting_;
};

}  // namespace flor::testing
