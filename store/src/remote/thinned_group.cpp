#include "remote/thinned_group.h"

#include "index/catalog/labels.h"
#include "index/copies/row_copy.h"
#include "remote/facts/evaluation_rows.h"
#include "remote/facts/facts_store.h"
#include "remote/objects/sha256.h"
#include "retention/retention.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>

namespace flor::remote {
namespace {

using store::Connection;

/// Returns the rules for one run: those of the options, otherwise the program's own.
std::optional<store::KeepRules> rules_for(const store::Store& store, std::int64_t run,
                                          const PruneOptions& options) {
  if (options.rules) return options.rules;
  const auto strategy = store.catalog().strategy(run);
  if (!strategy || !strategy->num_to_keep) return std::nullopt;
  return store::rules_of(*strategy);
}

}  // namespace

ThinnedGroup::ThinnedGroup(ObjectStore& objects, std::vector<RemoteRun> ranks) : objects_(objects) {
  members_.reserve(ranks.size());
  for (RemoteRun& run : ranks) {
    auto catalog = std::make_unique<RunCatalog>(objects, run, std::filesystem::path());
    members_.push_back({std::move(run), std::move(catalog)});
  }
}

void ThinnedGroup::read_kept(Connection& from) {
  for (Member& member : members_) {
    const auto row = from("SELECT id FROM run WHERE key = ?1", member.run.key);
    row->step();
    for (const Content& content : ContentReader(from, row->integer(0)).checkpoints()) {
      member.kept.insert(content.name());
    }
  }
}

std::optional<bool> ThinnedGroup::decide(const PruneOptions& options) {
  // Copied into a temporary store, so that the implementation of `flor keep` can be used.
  FactsStore facts;
  for (Member& member : members_) member.stored = facts.add(*member.catalog, member.run);
  const RemoteRun& first = members_.front().run;
  const store::Run run = facts.store().catalog().resolve(first.key);
  const auto rules = rules_for(facts.store(), run.id, options);
  if (!rules) return std::nullopt;
  if (first.rank > 0 && !rules->best.empty()) {
    throw UsageError(fmt::format(
        "run {} is rank {} of a group, and what is best is known of rank 0 alone, which is not in "
        "{}: spool that, too, or prune by --last or --every",
        first.key, first.rank, objects_.url()));
  }
  const store::RetentionReport report =
      store::retain(facts.store(), run.id, *rules, store::Sizes::weighed);
  read_kept(facts.connection());
  return report.fits;
}

std::int64_t ThinnedGroup::deleted() const {
  std::int64_t count = 0;
  for (const Member& member : members_) {
    count += member.stored - static_cast<std::int64_t>(member.kept.size());
  }
  return count;
}

void ThinnedGroup::write(std::int64_t now_us) {
  for (Member& member : members_) {
    if (is_thinner(member)) write(member, now_us);
  }
}

std::map<std::string, std::set<std::string>> ThinnedGroup::plan() const {
  std::map<std::string, std::set<std::string>> plan;
  for (const Member& member : members_) {
    if (!is_thinner(member)) continue;
    std::set<std::string>& parcels = plan[member.run.key];
    // Records were added only for content that stays, so the run needs exactly these.
    const RunContents contents = contents_of(member, 0);
    for (const Record& record : contents.records.list()) parcels.insert(record.parcel);
  }
  return plan;
}

RunContents ThinnedGroup::contents_of(const Member& member, std::int64_t now_us) {
  const ContentReader reader(member.catalog->connection(), member.catalog->run());
  RunContents contents;
  contents.gone = reader.discarded();
  contents.pruned = reader.pruned();
  for (Content& content : reader.checkpoints()) {
    if (member.kept.contains(content.name())) {
      contents.add(reader, std::move(content));
      continue;
    }
    content.discarded_us = now_us;
    contents.pruned.push_back(content);
    contents.gone.push_back(std::move(content));
  }
  contents.objects = reader.objects();
  for (const Content& content : contents.objects) {
    reader.add_records(content.chunks, contents.records);
  }
  return contents;
}

void ThinnedGroup::write(Member& member, std::int64_t now_us) {
  Connection& from = member.catalog->connection();
  const std::int64_t run = member.catalog->run();
  const RunContents contents = contents_of(member, now_us);
  Evaluations evaluations;
  add_evaluations(from, run, evaluations);
  RemoteRun thinner = member.run;
  NewCatalog catalog;
  // Uses the same number of transactions as a spool, because it affects the bytes of the file.
  std::int64_t target = 0;
  catalog.write([&](Connection& to) {
    target = store::copy_facts(from, run, to, 0, std::nullopt);
    store::merge_labels(from, run, to, target, store::LabelSource::elsewhere);
    put_evaluations(to, evaluations);
  });
  catalog.write(
      [&](Connection& to) { put_contents(to, target, contents, parcel_lengths(from), thinner); });
  const std::vector<std::byte> sealed = catalog.seal();
  thinner.catalog = sha256_hex(sealed);
  thinner.catalog_bytes = sealed.size();
  thinner.spooled_us = now_us;
  objects_.put(catalog_key(thinner.catalog), sealed);
  const std::vector<ManifestName> names = list_manifests(objects_, thinner.key);
  const bool is_latest =
      !names.empty() && read_manifest(objects_, names.back()).catalog == member.run.catalog;
  ++thinner.sequence;
  if (!is_latest || !put_manifest(objects_, thinner, names.back())) {
    throw Busy(
        fmt::format("run {} is being spooled to {}: try again", thinner.key, objects_.url()));
  }
  // The older manifests still refer to the deleted checkpoints.
  for (const ManifestName& name : list_manifests(objects_, thinner.key)) {
    if (name.sequence < thinner.sequence) objects_.remove(name.key());
  }
}

}  // namespace flor::remote
