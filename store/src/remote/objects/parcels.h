// Parcels: records one after the other, as objects that are named after their content.
#pragma once

#include "remote/contents.h"
#include "remote/remote.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace flor::remote {

/// The length of the records in a parcel. One request for each MiB would take as long as the MiB
/// itself; a much longer parcel gains nothing, and is lost as a whole when it fails.
inline constexpr std::uint64_t kParcelBytes = std::uint64_t{16} << 20;
/// More than any parcel has: a single record may be a little longer than a MiB.
inline constexpr std::int64_t kParcelBytesMax = std::int64_t{64} << 20;

/// The longest chain of differences, which are read recursively.
inline constexpr int kDepthMax = 64;

/// Parcels in the object store, by name.
using FoundParcels = std::map<std::string, ObjectInfo>;
FoundParcels list_parcels(ObjectStore& objects);

/// The records that a parcel will hold: indices into a list of records.
using ParcelPlan = std::vector<std::size_t>;

/// Shares out the records that have no parcel yet, in their order; the same records give the same
/// parcels. `ends`: after these records a parcel of sufficient length ends early, so that the
/// parcels of a checkpoint go with it.
std::vector<ParcelPlan> plan_parcels(const std::vector<Record>& records,
                                     const std::vector<std::size_t>& ends);

/// Thrown where a pack changed its place while it was read: look at the catalog again.
struct Moved {};

/// Reads records of a store's packs.
class RecordSource {
 public:
  RecordSource(store::Paths paths, store::Filesystem& files) : packs_(std::move(paths), files) {}
  /// Appends the record, header included, after comparing it with its checksums. `record.parcel`
  /// names its pack, where that of a spooled one names its parcel. Thread-safe. Throws Moved if it
  /// is not there any more.
  void append(const Record& record, std::vector<std::byte>& parcel);

 private:
  store::PackReader packs_;
  std::mutex mutex_;
  std::map<std::string, std::int64_t> numbers_;
};

/// The record at the front of these bytes, header included, compared with its checksums. Damaged
/// if it is another one.
void check_record(const Record& record, std::span<const std::byte> bytes, const std::string& where);

}  // namespace flor::remote
