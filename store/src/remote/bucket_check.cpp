// Implements `verify`: compares manifests with the objects that exist.
#include "base/worker_pool.h"
#include "remote/bucket_check.h"
#include "remote/chunk_proof.h"
#include "remote/contents.h"
#include "remote/facts/run_catalog.h"
#include "remote/objects/object_keys.h"
#include "remote/objects/parcels.h"
#include "remote/objects/sha256.h"
#include "remote/remote.h"
#include "remote/run_listing.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <set>

namespace flor::remote {
namespace {

/// The content of a parcel according to the catalogs.
struct Expected {
  std::uint64_t bytes = 0;
  std::vector<Record> records;
  std::vector<std::string> runs;
};

class Verification {
 public:
  Verification(ObjectStore& objects, const TransferOptions& options)
      : objects_(objects), options_(options) {}

  void add(const RemoteRun& run) {
    try {
      RunCatalog catalog(objects_, run, {});
      add(run, catalog);
      ++report_.runs;
    } catch (const NotFound& error) {
      find(fmt::format("run {} is lost: {}", run.key, error.what()));
    } catch (const Damaged& error) {
      find(fmt::format("run {} is lost: {}", run.key, error.what()));
    } catch (const Unreachable&) {
      throw;
    } catch (const Error& error) {  // spooled by a newer Flor, or not readable for this user
      find(error.what());
    }
  }

  VerifyReport finish(bool read_data) {
    const FoundParcels listing = list_parcels(objects_);
    std::vector<std::string> names;
    TransferProgress progress;
    for (const std::string& name : order_) {
      const Expected& parcel = expected_.at(name);
      ++report_.parcels;
      report_.bytes += parcel.bytes;
      const auto there = listing.find(name);
      if (there == listing.end()) {
        lose(name, "is missing");
      } else if (there->second.bytes != parcel.bytes) {
        lose(name, fmt::format("has {} bytes instead of {}", there->second.bytes, parcel.bytes));
      } else {
        names.push_back(name);
        progress.all += parcel.bytes;
      }
    }
    if (read_data) read_all(names, progress);
    std::ranges::sort(report_.findings);
    return std::move(report_);
  }

  void find(std::string finding) { report_.findings.push_back(std::move(finding)); }
  const std::set<std::string>& lost() const { return lost_; }

  void add(const RemoteRun& run, RunCatalog& catalog) {
    const ContentReader reader(catalog.connection(), catalog.run());
    Records records;
    for (const auto& list : {reader.checkpoints(), reader.objects()}) {
      for (const Content& content : list) {
        reader.check(content);
        reader.add_records(content.chunks, records);
      }
    }
    // In the order of the records, so that bases come first.
    for (const Record& record : records.list()) {
      expect(record.parcel).records.push_back(record);
      ++report_.chunks;
    }
    const auto packs = catalog.connection()("SELECT name, bytes FROM pack");
    while (packs->step()) {
      Expected& parcel = expect(packs->text(0));
      parcel.bytes = static_cast<std::uint64_t>(packs->integer(1));
      parcel.runs.push_back(run.key);
    }
  }

 private:
  Expected& expect(const std::string& parcel) {
    const auto [entry, is_new] = expected_.try_emplace(parcel);
    if (is_new) order_.push_back(parcel);
    return entry->second;
  }

  /// Removes duplicates. Runs share parcels, and their catalogs agree about the records unless one
  /// is wrong.
  void drop_repeated() {
    for (auto& [name, parcel] : expected_) {
      std::ranges::stable_sort(parcel.records, {}, &Record::offset);
      const auto repeated =
          std::unique(parcel.records.begin(), parcel.records.end(),
                      [](const Record& a, const Record& b) {
                        return a.offset == b.offset && a.is_same_record(b);
                      });
      parcel.records.erase(repeated, parcel.records.end());
    }
  }

  /// Reads the parcels, and decodes every record and compares it with its digest.
  void read_all(const std::vector<std::string>& names, TransferProgress& progress) {
    drop_repeated();
    const WorkDirectory work;
    std::mutex mutex;
    ChunkProof proof(
        work.path(), [](const Digest&, std::span<std::byte>) { return false; },
        [&](const Record& record, const std::string& why) {
          const std::lock_guard lock(mutex);
          lose(record.parcel,
               fmt::format("is damaged: the record at offset {}: {}", record.offset, why));
        });
    for (const std::string& name : order_) {
      for (const Record& record : expected_.at(name).records) proof.expect(record);
    }
    for (const std::string& name : lost_) give_up(name, proof);
    store::WorkerPool(options_.threads, nullptr).for_each(names.size(), [&](std::size_t i) {
      const Expected& parcel = expected_.at(names[i]);
      const std::string flaw = read(names[i], parcel, proof);
      if (!flaw.empty()) give_up(names[i], proof);
      const std::lock_guard lock(mutex);
      if (!flaw.empty()) lose(names[i], flaw);
      report_.bytes_read += parcel.bytes;
      progress.done += parcel.bytes;
      if (options_.progress) options_.progress(progress);
    });
  }

  void give_up(const std::string& name, ChunkProof& proof) const {
    for (const Record& record : expected_.at(name).records) proof.give_up(record);
  }

  /// Returns a description if the parcel as a whole is damaged. Otherwise passes its records to
  /// `proof` and returns an empty text.
  std::string read(const std::string& name, const Expected& parcel, ChunkProof& proof) const {
    try {
      const std::string key = parcel_key(name);
      const std::vector<std::byte> bytes = objects_.get(key, parcel.bytes);
      if (sha256_hex(bytes) != name) return "is damaged: its content does not have its SHA-256";
      for (const Record& record : parcel.records) {
        if (record.offset + record.bytes() > bytes.size()) return "is shorter than its records";
        check_record(record, std::span<const std::byte>(bytes).subspan(record.offset), key);
      }
      for (const Record& record : parcel.records) {
        proof.take(record, std::span<const std::byte>(bytes).subspan(record.offset));
      }
    } catch (const NotFound&) {
      return "is missing";
    } catch (const Damaged& error) {
      return fmt::format("is damaged: {}", error.what());
    } catch (const Unreachable&) {
      throw;
    } catch (const Error& error) {
      return fmt::format("cannot be read: {}", error.what());
    }
    return {};
  }

  void lose(const std::string& name, const std::string& flaw) {
    std::string runs;
    for (const std::string& run : expected_.at(name).runs) {
      runs += (runs.empty() ? "" : ", ") + run;
    }
    if (!lost_.insert(name).second) return;  // each parcel is reported once
    find(fmt::format("{}/{} {}; needed by run {}", objects_.url(), parcel_key(name), flaw, runs));
  }

  ObjectStore& objects_;
  const TransferOptions& options_;
  std::map<std::string, Expected> expected_;
  std::vector<std::string> order_;  ///< names of the parcels, in an order in which bases mostly
                                    ///< come first
  std::set<std::string> lost_;
  VerifyReport report_;
};

}  // namespace

std::set<std::string> damaged_parcels(ObjectStore& objects, const RemoteRun& run,
                                      RunCatalog& catalog, const TransferOptions& options) {
  Verification verification(objects, options);
  verification.add(run, catalog);
  verification.finish(true);
  return verification.lost();
}

VerifyReport verify(ObjectStore& objects, const std::vector<RemoteRun>& runs, bool read_data,
                    const TransferOptions& options) {
  Verification verification(objects, options);
  for (const RemoteRun& run : runs) verification.add(run);
  for (std::string& finding : check_listing(objects, runs)) verification.find(std::move(finding));
  return verification.finish(read_data);
}

}  // namespace flor::remote
