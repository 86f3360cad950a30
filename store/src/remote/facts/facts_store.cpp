#include "remote/facts/facts_store.h"

#include "index/catalog/labels.h"
#include "index/copies/row_copy.h"
#include "remote/contents.h"
#include "remote/facts/evaluation_rows.h"

#include <algorithm>

namespace flor::remote {

using store::Connection;

FactsStore::FactsStore()
    : store_(store::Store::open(work_.path(), store::OpenMode::create)),
      connection_(work_.path() / "catalog.db", Connection::Mode::existing) {}

std::int64_t FactsStore::add(RunCatalog& catalog, const RemoteRun& run) {
  Connection& from = catalog.connection();
  const ContentReader reader(from, catalog.run());
  RunContents contents;
  for (Content& content : reader.checkpoints()) contents.add(reader, std::move(content));
  contents.objects = reader.objects();
  for (const Content& content : contents.objects) {
    reader.add_records(content.chunks, contents.records);
  }
  Evaluations evaluations;
  add_evaluations(from, catalog.run(), evaluations);
  store::Transaction transaction(connection_);
  std::int64_t leader = 0;
  if (const auto row = connection_("SELECT id FROM run WHERE key = ?1", run.leader); row->step()) {
    leader = row->integer(0);
  }
  const std::int64_t target = store::copy_facts(
      from, catalog.run(), connection_, leader,
      store::RunOrigin{.kind = store::RunOrigin::Kind::fetched, .from = {}, .since_us = 0});
  store::merge_labels(from, catalog.run(), connection_, target, store::LabelSource::elsewhere);
  put_records(connection_, contents.records, parcel_lengths(from));
  for (const Content& content : contents.checkpoints) put_checkpoint(connection_, target, content);
  for (const Content& content : reader.discarded()) put_discarded(connection_, target, content);
  for (const Content& content : contents.objects) put_object(connection_, content);
  put_evaluations(connection_, evaluations);
  transaction.commit();
  return static_cast<std::int64_t>(contents.checkpoints.size());
}

struct RemoteFacts::Impl {
  FactsStore facts;
};

RemoteFacts::RemoteFacts(ObjectStore& objects, const std::vector<RemoteRun>& runs,
                         const std::filesystem::path& home)
    : impl_(std::make_unique<Impl>()) {
  std::vector<RemoteRun> in_order = runs;
  std::ranges::stable_sort(in_order, {}, &RemoteRun::rank);
  for (const RemoteRun& run : in_order) {
    RunCatalog catalog(objects, run, home.empty() ? home : catalog_cache(home));
    impl_->facts.add(catalog, run);
  }
}

RemoteFacts::~RemoteFacts() = default;
const std::filesystem::path& RemoteFacts::directory() const { return impl_->facts.directory(); }

}  // namespace flor::remote
