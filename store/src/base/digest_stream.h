// The digest of a content that arrives in pieces.
#pragma once

#include <flor/store/digest.h>

#include <cstddef>
#include <span>

struct XXH3_state_s;

namespace flor::store {

/// Computes the `digest_of` of all added pieces joined together. Can be used for many contents,
/// with `restart` between them. Not thread-safe.
class DigestStream {
 public:
  DigestStream();
  ~DigestStream();
  DigestStream(const DigestStream&) = delete;
  DigestStream& operator=(const DigestStream&) = delete;

  /// Discards the pieces added so far.
  void restart();
  void add(std::span<const std::byte> piece);
  Digest digest() const;

 private:
  XXH3_state_s* state_;
};

}  // namespace flor::store
