// Parcels: objects that consist of records one after another and are named after their content.
#pragma once

#include "remote/contents.h"
#include "remote/remote.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace flor::remote {

/// Desired length of a parcel. With one request per MiB, the requests would take as long as the
/// transfer itself; much longer parcels would not be faster, and a failed transfer would lose more.
inline constexpr std::uint64_t kParcelBytes = std::uint64_t{16} << 20;
/// Upper limit of a parcel's length. A parcel may exceed kParcelBytes by a record, which is little
/// longer than a MiB.
inline constexpr std::int64_t kParcelBytesMax = std::int64_t{64} << 20;

/// The longest permitted chain of differences; chains are read recursively.
inline constexpr int kDepthMax = 64;

/// The parcels in an object store, by name.
using FoundParcels = std::map<std::string, ObjectInfo>;
FoundParcels list_parcels(ObjectStore& objects);

/// The records of one parcel, as indices into a list of records.
using ParcelPlan = std::vector<std::size_t>;

/// Distributes records that have no parcel yet to parcels, in order; equal records give equal
/// parcels. `ends`: after these records a parcel that is long enough ends, so that deleting a
/// checkpoint frees its parcels.
std::vector<ParcelPlan> plan_parcels(const std::vector<Record>& records,
                                     const std::vector<std::size_t>& ends);

/// Thrown if a record's pack was moved or removed while it was read. The caller reads the catalog
/// again.
struct Moved {};

/// Reads records from a store's packs.
class RecordSource {
 public:
  RecordSource(store::Paths paths, store::Filesystem& files) : packs_(std::move(paths), files) {}
  /// Appends the record, including its header, to `parcel` after verifying its checksums. Here
  /// `record.parcel` is the name of its pack. Thread-safe. Throws Moved if the record is not there
  /// any more.
  void append(const Record& record, std::vector<std::byte>& parcel);

 private:
  store::PackReader packs_;
  std::mutex mutex_;
  std::map<std::string, std::int64_t> numbers_;
};

/// Verifies that these bytes begin with this record (header and payload) and match its checksums.
/// Throws Damaged if not.
void check_record(const Record& record, std::span<const std::byte> bytes, const std::string& where);

}  // namespace flor::remote
