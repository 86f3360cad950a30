// Decodes received content and compares it with its digests. Checksums of a record show only that
// it arrived as it was written, not that it contains what its header claims.
#pragma once

#include "codec/decode_scratch.h"
#include "remote/contents.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace flor::remote {

/// Proves records in whatever order they arrive. A chunk that others build on is kept in a file
/// until they have arrived; a record whose base has not arrived is kept in memory, still encoded.
/// All functions except `expect` are thread-safe.
class ChunkProof {
 public:
  /// Reads a chunk from the local store; false if it is not there or has another length.
  using FindHere = std::function<bool(const Digest& digest, std::span<std::byte> raw)>;
  /// Called for a record that does not contain what its header claims, with the reason.
  using OnFlaw = std::function<void(const Record& record, const std::string& why)>;

  /// `scratch`: directory for the (nameless) file; empty: the directory for temporary files.
  ChunkProof(std::filesystem::path scratch, FindHere find_here, OnFlaw on_flaw);
  ~ChunkProof();
  ChunkProof(const ChunkProof&) = delete;
  ChunkProof& operator=(const ChunkProof&) = delete;

  /// Announces a record that will arrive. All records must be announced before the first one
  /// arrives.
  void expect(const Record& record);
  /// Takes a received record, header included; its checksums must have been verified.
  void take(const Record& record, std::span<const std::byte> bytes);
  /// Gives up a record that did not arrive or arrived damaged. Records built on it cannot be proven
  /// either.
  void give_up(const Record& record);
  /// Number of records that contain what their headers claim.
  std::size_t proven() const;

 private:
  using Payload = std::vector<std::byte>;
  struct Arrived {
    Record record;
    Payload payload;
  };
  /// A chunk that other chunks are stored as differences to.
  struct Base {
    enum class State : std::uint8_t { awaited, ready, lost };
    State state = State::awaited;
    std::int64_t slot = -1;        ///< its place in the file, while differences to it are expected;
                                   ///< otherwise -1
    std::size_t bytes = 0;         ///< length of the content in the slot
    std::int64_t dependents = 0;   ///< differences to it that are not proven yet
    std::vector<Arrived> waiting;  ///< records that wait for this chunk
  };

  bool must_wait(const Record& record, std::span<const std::byte> payload);
  void settle(Arrived arrived);
  bool is_proven(const Record& record, std::span<const std::byte> payload,
                 std::vector<std::byte>& raw);
  void find_base(const Digest& digest, Base& base, std::uint32_t bytes);
  std::vector<Arrived> conclude(const Record& record, bool proven, std::span<const std::byte> raw);
  void keep(Base& base, std::span<const std::byte> raw);
  void open_file();

  std::filesystem::path scratch_;
  FindHere find_here_;
  OnFlaw on_flaw_;
  store::DecodeScratchPool pool_;
  mutable std::mutex mutex_;
  std::unordered_set<Digest> expected_;
  std::unordered_map<Digest, Base> bases_;
  std::vector<std::int64_t> free_slots_;
  std::int64_t slots_ = 0;
  std::uint64_t expected_bytes_ = 0;
  std::size_t proven_ = 0;
  int file_ = -1;
};

}  // namespace flor::remote
