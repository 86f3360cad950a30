#include "remote/run_listing.h"

#include "base/unpack.h"
#include "base/worker_pool.h"
#include "journal/fields.h"
#include "remote/objects/sha256.h"

#include <flor/store/error.h>

#include <fmt/core.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <set>

namespace flor::remote {

/// The names of the fields are those of the manifest.
template <class F>
void fields(F& f, ListedRun& listed) {
  f(1, listed.manifest.writer);
  f(2, listed.run.key);
  f(3, listed.run.experiment);
  f(4, listed.run.state);
  f(5, listed.run.started_us);
  f(6, listed.run.spooled_us);
  f(7, listed.run.epochs);
  f(8, listed.run.checkpoints);
  f(9, listed.run.raw_bytes);
  f(10, listed.run.stored_bytes);
  f(11, listed.run.leader);
  f(12, listed.run.rank);
  f(13, listed.run.world);
  f(14, listed.run.sequence);
  f(15, listed.run.catalog);
  f(16, listed.run.catalog_bytes);
}

namespace {

constexpr const char* kListing = "listing/";

/// Parts of about the same length that become one. With n runs each is rewritten at most log n
/// times, to this base.
constexpr std::size_t kFanOut = 8;

/// A part with as many runs is not merged: such parts are read side by side, and none is long.
constexpr std::uint64_t kRunsMax = std::uint64_t{1} << 17;

/// Less than any run takes: half of it is a SHA-256, which cannot be compressed. So memory is in
/// proportion to the bytes that arrive.
constexpr std::uint64_t kRunBytesMin = 32;

/// More than any part has.
constexpr std::uint64_t kPartBytesMax = std::uint64_t{256} << 20;

/// As that of a manifest.
constexpr std::uint32_t kRunBytesMax = std::uint32_t{64} << 10;

/// The most parts that a reader or a merger looks at, however many are there.
constexpr std::size_t kPartsRead = 1024, kPartsMerged = 64;

constexpr int kLevel = 3;

/// By the key of the run: the latest manifest that was met.
using ListedRuns = std::map<std::string, ListedRun>;

void keep_latest(ListedRuns& runs, ListedRun listed) {
  const auto [entry, is_new] = runs.try_emplace(listed.run.key, listed);
  if (!is_new && entry->second.manifest < listed.manifest) entry->second = std::move(listed);
}

/// Takes bytes piece by piece, and hands over each complete run.
class PartReader {
 public:
  PartReader(std::uint64_t runs, const std::function<void(ListedRun)>& sink)
      : left_(runs), sink_(sink) {}

  void take(std::span<const std::byte> bytes) {
    rest_.insert(rest_.end(), bytes.begin(), bytes.end());
    std::span<const std::byte> unread = rest_;
    while (unread.size() >= sizeof(std::uint32_t)) {
      const auto length = store::get<std::uint32_t>(unread);
      if (length > kRunBytesMax || left_ == 0) throw Damaged("it has more than it may have");
      if (unread.size() - sizeof(length) < length) break;
      hand_over(unread.subspan(sizeof(length), length));
      unread = unread.subspan(sizeof(length) + length);
    }
    rest_.erase(rest_.begin(), rest_.end() - static_cast<std::ptrdiff_t>(unread.size()));
  }

  bool is_complete() const { return left_ == 0 && rest_.empty(); }

 private:
  void hand_over(std::span<const std::byte> bytes) {
    auto listed = store::read_fields<ListedRun>(bytes);
    listed.manifest.run = listed.run.key;
    listed.manifest.sequence = listed.run.sequence;
    // Printed as a key and parsed again it is unchanged: so it names a manifest.
    if (!is_sensible(listed.run) || parse_manifest_key(listed.manifest.key()) != listed.manifest) {
      throw Damaged("it names no run");
    }
    --left_;
    sink_(std::move(listed));
  }

  std::uint64_t left_;
  const std::function<void(ListedRun)>& sink_;
  std::vector<std::byte> rest_;
};

ListingPart put_part(ObjectStore& objects, std::span<const ListedRun* const> runs) {
  std::vector<std::byte> text;
  for (const ListedRun* listed : runs) {
    const std::vector<std::byte> bytes = store::write_fields(*listed);
    store::append(text, static_cast<std::uint32_t>(bytes.size()));
    text.insert(text.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> object(ZSTD_compressBound(text.size()));
  const std::size_t bytes =
      ZSTD_compress(object.data(), object.size(), text.data(), text.size(), kLevel);
  if (ZSTD_isError(bytes)) throw Error("the listing cannot be compressed");
  object.resize(bytes);
  const ListingPart part{runs.size(), sha256_hex(object), object.size()};
  objects.put(part.key(), object);
  return part;
}

/// Keys of the parts that have them now.
std::set<std::string> put_parts(ObjectStore& objects, const ListedRuns& runs) {
  std::vector<const ListedRun*> all;
  for (const auto& [key, listed] : runs) all.push_back(&listed);
  std::set<std::string> keys;
  for (std::span<const ListedRun* const> left = all; !left.empty();) {
    const std::size_t count = std::min<std::size_t>(left.size(), kRunsMax);
    keys.insert(put_part(objects, left.first(count)).key());
    left = left.subspan(count);
  }
  return keys;
}

void remove_parts(ObjectStore& objects, std::span<const ListingPart> parts,
                  const std::set<std::string>& but) {
  for (const ListingPart& part : parts) {
    if (!but.contains(part.key())) objects.remove(part.key());
  }
}

/// Returns false if there is nothing to merge, or another process is merging. A process that dies
/// in between leaves runs in two parts, which say the same of them.
bool merge(ObjectStore& objects) {
  std::map<int, std::vector<ListingPart>> by_level;
  for (const ListingPart& part : list_parts(objects)) {
    int level = 0;
    for (std::uint64_t count = part.count; count >= kFanOut; count /= kFanOut) ++level;
    auto& same = by_level[level];
    if (part.count < kRunsMax && same.size() < kPartsMerged) same.push_back(part);
  }
  for (const auto& [level, same] : by_level) {
    if (same.size() < kFanOut) continue;
    ListedRuns runs;
    for (const ListingPart& part : same) {
      try {
        read_part(objects, part, [&](ListedRun listed) { keep_latest(runs, std::move(listed)); });
      } catch (const NotFound&) {
        return false;
      } catch (const Damaged&) {  // it is removed; the manifests hold the same
      }
    }
    remove_parts(objects, same, put_parts(objects, runs));
    return true;
  }
  return false;
}

/// The latest manifest of each run, in the order of their keys.
std::vector<ManifestName> latest_manifests(ObjectStore& objects) {
  std::vector<ManifestName> latest;
  for (ManifestName& name : list_manifests(objects)) {
    if (!latest.empty() && latest.back().run == name.run) latest.pop_back();
    latest.push_back(std::move(name));
  }
  return latest;
}

/// Sets found[i] to the entry of the listing for names[i]. Where the part with that entry cannot be
/// read, found[i] stays empty.
void read_listing(ObjectStore& objects, unsigned threads, std::span<const ManifestName> names,
                  std::vector<std::optional<RemoteRun>>& found) {
  std::mutex mutex;
  std::set<std::string> read;
  for (int round = 0; round < 3; ++round) {  // parts may be merged meanwhile
    std::vector<ListingPart> parts = list_parts(objects);
    std::erase_if(parts, [&](const ListingPart& part) { return !read.insert(part.key()).second; });
    // If there are too many parts, the longest ones save most.
    std::ranges::stable_sort(parts, std::greater(), &ListingPart::count);
    parts.resize(std::min(parts.size(), kPartsRead));
    std::atomic<bool> merged = false;
    store::WorkerPool(threads, nullptr).for_each(parts.size(), [&](std::size_t i) {
      try {
        read_part(objects, parts[i], [&](ListedRun listed) {
          const auto name = std::ranges::lower_bound(names, listed.manifest);
          if (name == names.end() || *name != listed.manifest) return;
          const std::lock_guard lock(mutex);
          found[static_cast<std::size_t>(name - names.begin())] = std::move(listed.run);
        });
      } catch (const NotFound&) {
        merged = true;
      } catch (const Damaged&) {  // `flor remote verify` names it
      }
    });
    if (!merged) return;
  }
}

}  // namespace

std::string ListingPart::key() const {
  return fmt::format("{}{:08}-{}.zst", kListing, count, sha256);
}

std::optional<ListingPart> parse_part_key(std::string_view key) {
  ListingPart part;
  const std::string name = name_of(key);
  const std::size_t dash = name.find('-');
  if (dash == name.npos) return std::nullopt;
  std::from_chars(name.data(), name.data() + dash, part.count);
  part.sha256 = name.substr(dash + 1);
  if (!is_content_name(part.sha256) || part.count == 0 || part.key() != key) return std::nullopt;
  return part;
}

std::vector<ListingPart> list_parts(ObjectStore& objects) {
  std::vector<ListingPart> parts;
  for (const ObjectInfo& object : objects.list(kListing)) {
    auto part = parse_part_key(object.key);
    if (!part || part->count > kRunsMax || object.bytes > kPartBytesMax) continue;
    part->bytes = object.bytes;
    parts.push_back(std::move(*part));
  }
  return parts;
}

void read_part(ObjectStore& objects, const ListingPart& part,
               const std::function<void(ListedRun)>& sink) {
  try {
    const std::vector<std::byte> object = objects.get(part.key(), part.bytes);
    if (sha256_hex(object) != part.sha256) throw Damaged("it does not have its SHA-256");
    parse_part(object, part.count, sink);
  } catch (const Damaged& error) {
    throw Damaged(fmt::format(
        "{}/{} is damaged: {}: flor remote prune writes the listing anew; until then manifests are "
        "read one by one",
        objects.url(), part.key(), error.what()));
  }
}

void parse_part(std::span<const std::byte> object, std::uint64_t count,
                const std::function<void(ListedRun)>& sink) {
  const Damaged too_short("it has less than its name says");
  if (count > kRunsMax || object.size() / kRunBytesMin < count) throw too_short;
  PartReader reader(count, sink);
  const std::string_view flaw =
      store::unpack(object, [&](std::span<const std::byte> piece) { reader.take(piece); });
  if (!flaw.empty()) throw Damaged(fmt::format("it {}", flaw));
  if (!reader.is_complete()) throw too_short;
}

void enter_in_listing(ObjectStore& objects, const ListedRun& listed) noexcept {
  try {
    const ListedRun* const one = &listed;
    put_part(objects, {&one, 1});
    while (merge(objects)) {
    }
  } catch (const std::exception&) {  // the run's manifest holds the same
  }
}

RunList list_runs(ObjectStore& objects, unsigned threads, RunsFrom from) {
  const std::vector<ManifestName> names = latest_manifests(objects);
  std::vector<std::optional<RemoteRun>> found(names.size());
  std::vector<std::optional<UnreadableRun>> unreadable(names.size());
  if (from == RunsFrom::listing && names.size() > kFanOut) {
    read_listing(objects, threads, names, found);
  }
  store::WorkerPool(threads, nullptr).for_each(names.size(), [&](std::size_t i) {
    if (found[i]) return;
    try {
      try {
        found[i] = read_manifest(objects, names[i]);
      } catch (const NotFound&) {
        found[i] = latest_manifest(objects, names[i].run);  // replaced since it was listed
      }
    } catch (const NotFound&) {
      unreadable[i] = {
          names[i].run,
          fmt::format("the manifest of run {} is listed in {} and is not there: try again "
                      "later, or spool the run again",
                      names[i].run, objects.url()),
          true};
    } catch (const Damaged& error) {
      unreadable[i] = {names[i].run, error.what(), true};
    } catch (const Unreachable&) {
      throw;
    } catch (const Error& error) {  // of a newer Flor, or not ours to read
      unreadable[i] = {names[i].run, error.what(), false};
    }
  });
  RunList list;
  for (auto& run : found) {
    if (run) list.runs.push_back(std::move(*run));
  }
  for (auto& run : unreadable) {
    if (run) list.unreadable.push_back(std::move(*run));
  }
  std::ranges::sort(list.runs, [](const RemoteRun& a, const RemoteRun& b) {
    return std::pair(b.started_us, std::string_view(a.key)) <
           std::pair(a.started_us, std::string_view(b.key));
  });
  return list;
}

void write_listing_anew(ObjectStore& objects, unsigned threads) {
  const std::vector<ListingPart> before = list_parts(objects);
  const std::vector<ManifestName> names = latest_manifests(objects);
  ListedRuns runs;
  for (RemoteRun& run : list_runs(objects, threads, RunsFrom::manifests).runs) {
    const auto name = std::ranges::lower_bound(names, run.key, {}, &ManifestName::run);
    if (name == names.end() || name->run != run.key || name->sequence != run.sequence) continue;
    const std::string key = run.key;
    runs[key] = {*name, std::move(run)};
  }
  remove_parts(objects, before, put_parts(objects, runs));
}

std::vector<std::string> check_listing(ObjectStore& objects, std::span<const RemoteRun> runs) {
  std::map<std::string_view, const RemoteRun*> by_key;
  for (const RemoteRun& run : runs) by_key[run.key] = &run;
  std::vector<std::string> findings;
  for (const ListingPart& part : list_parts(objects)) {
    try {
      read_part(objects, part, [&](const ListedRun& listed) {
        const auto run = by_key.find(listed.run.key);
        if (run == by_key.end() || run->second->sequence != listed.run.sequence) return;
        if (*run->second == listed.run) return;
        findings.push_back(fmt::format(
            "{}/{} says otherwise of run {} than its manifest: flor remote prune writes the listing "
            "anew",
            objects.url(), part.key(), listed.run.key));
      });
    } catch (const NotFound&) {  // merged meanwhile
    } catch (const Damaged& error) {
      findings.emplace_back(error.what());
    }
  }
  return findings;
}

}  // namespace flor::remote
