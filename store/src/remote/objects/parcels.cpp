#include "remote/objects/parcels.h"

#include "remote/objects/object_keys.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>

namespace flor::remote {

FoundParcels list_parcels(ObjectStore& objects) {
  FoundParcels parcels;
  for (ObjectInfo& object : objects.list(kParcels)) {
    std::string name = name_of(object.key);
    parcels.emplace(std::move(name), std::move(object));
  }
  return parcels;
}

std::vector<ParcelPlan> plan_parcels(const std::vector<Record>& records,
                                     const std::vector<std::size_t>& ends) {
  std::vector<ParcelPlan> plans;
  ParcelPlan plan;
  std::uint64_t bytes = 0;
  const auto end_parcel = [&] {
    if (!plan.empty()) plans.push_back(std::move(plan));
    plan.clear();
    bytes = 0;
  };
  auto end = ends.begin();
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (; end != ends.end() && *end <= i; ++end) {
      if (bytes >= kParcelBytes / 4) end_parcel();
    }
    if (!records[i].parcel.empty()) continue;
    if (bytes + records[i].bytes() > kParcelBytes) end_parcel();
    plan.push_back(i);
    bytes += records[i].bytes();
  }
  end_parcel();
  return plans;
}

void RecordSource::append(const Record& record, std::vector<std::byte>& parcel) {
  store::ChunkRow row{.digest = record.digest,
                      .offset = record.offset,
                      .raw_bytes = record.raw_bytes,
                      .stored_bytes = record.stored_bytes,
                      .codec = record.codec,
                      .type = record.type,
                      .depth = record.depth,
                      .base = record.has_base() ? 1U : 0U};
  {
    const std::lock_guard lock(mutex_);
    const auto [number, is_new] =
        numbers_.try_emplace(record.parcel, static_cast<std::int64_t>(numbers_.size()) + 1);
    row.pack = number->second;
    if (is_new) packs_.add(row.pack, record.parcel);
  }
  try {
    std::vector<std::byte> buffer;
    packs_.read(row, buffer, true);
    const auto bytes = std::span<const std::byte>(buffer).first(record.bytes());
    check_record(record, bytes, packs_.path(row.pack).string());
    parcel.insert(parcel.end(), bytes.begin(), bytes.end());
  } catch (const store::PackMissing&) {
    throw Moved();
  }
}

void check_record(const Record& record, std::span<const std::byte> bytes,
                  const std::string& where) {
  const auto damaged = [&] {
    return Damaged(fmt::format("{} is damaged: the record at offset {} is not what it should be",
                               where, record.offset));
  };
  if (bytes.size() < record.bytes()) throw damaged();
  const auto header = store::decode_record_header(bytes.first<store::kRecordHeaderBytes>());
  if (!header || !record.is_described_by(*header)) throw damaged();
  const auto payload = bytes.subspan(store::kRecordHeaderBytes, record.stored_bytes);
  if (store::checksum(payload) != header->payload_checksum) throw damaged();
}

}  // namespace flor::remote
