// The digest of bytes that come in pieces.
#pragma once

#include <flor/store/digest.h>

#include <cstddef>
#include <span>

struct XXH3_state_s;

namespace flor::store {

/// Computes `digest_of` of the pieces in a row. Reused from one row to the next. Not thread-safe.
class DigestStream {
 public:
  DigestStream();
  ~DigestStream();
  DigestStream(const DigestStream&) = delete;
  DigestStream& operator=(const DigestStream&) = delete;

  /// Forgets the pieces so far.
  void restart();
  void add(std::span<const std::byte> piece);
  Digest digest() const;

 private:
  XXH3_state_s* state_;
};

}  // namespace flor::store
