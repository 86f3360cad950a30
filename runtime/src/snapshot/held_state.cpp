#include "snapshot/held_state.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace flor::detail {

void HeldState::bytes(std::string name, std::string_view content) {
  const auto all = std::as_bytes(std::span(content.data(), content.size()));
  Piece& piece = pieces_[name];
  piece.item = {std::move(name), ElementType::bytes, {}, content.size()};
  piece.content.assign(all.begin(), all.end());
}

void HeldState::tensor(std::string name, const TensorSource& source) {
  Piece& piece = pieces_[name];
  piece.item = {std::move(name), source.type, source.sizes, source.bytes};
  piece.content.resize(source.bytes);
  if (source.bytes == 0) return;
  if (source.host) {
    std::copy_n(source.host, source.bytes, piece.content.begin());
  } else if (const auto pending = source.copy(piece.content.data())) {
    pending->wait();
  }
}

bool HeldState::has(const std::string& name) const { return pieces_.contains(name); }

const store::Item& HeldState::item(const std::string& name) const { return piece(name).item; }

std::string HeldState::bytes(const std::string& name) {
  const std::vector<std::byte>& content = piece(name).content;
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

void HeldState::tensor(const std::string& name, TensorTarget target) {
  waiting_.emplace_back(&piece(name), std::move(target));
}

void HeldState::finish() {
  for (const auto& [piece, target] : std::exchange(waiting_, {})) {
    if (target.assign) {
      target.assign(piece->content.data());
    } else {
      std::ranges::copy(piece->content, target.host);
    }
  }
}

const HeldState::Piece& HeldState::piece(const std::string& name) const {
  const auto found = pieces_.find(name);
  if (found == pieces_.end()) throw Error(fmt::format("'{}' was not held", item_title(name)));
  return found->second;
}

}  // namespace flor::detail
