#include <flor/data/sample_audit.h>

#include <flor/data/sample_order.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace flor {
namespace {

using Json = nlohmann::json;

/// The record that one replica logged at the end of an epoch.
struct Record {
  std::uint64_t epoch = 0, samples = 0, seed = 0, count = 0, lanes = 0;
  Shuffle shuffle = Shuffle::none;
  Share share;
  bool batches = false;
  std::string digest;
  Json before = Json::array();

  /// Whether both records are from the same dealing out of the epoch's samples.
  bool together(const Record& other) const {
    return samples == other.samples && seed == other.seed && lanes == other.lanes &&
           shuffle == other.shuffle && share.units == other.share.units &&
           share.base == other.share.base && share.world == other.share.world &&
           share.tail == other.share.tail && before == other.before;
  }
};

std::optional<Record> parse(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("sampler")) return std::nullopt;
  Record record;
  try {
    const auto number = [&](const char* key) { return json.at(key).get<std::uint64_t>(); };
    record = {.epoch = number("epoch"),
              .samples = number("samples"),
              .seed = number("seed"),
              .count = number("count"),
              .lanes = json.value("lanes", std::uint64_t{0}),
              .shuffle = parse_shuffle(json.at("shuffle").get<std::string>()),
              .share = {.units = number("units"),
                        .base = number("base"),
                        .world = number("world"),
                        .rank = number("rank"),
                        .tail = parse_tail(json.at("tail").get<std::string>())},
              .batches = json.contains("groups"),
              .digest = json.at("digest").get<std::string>(),
              .before = json.at("before")};
    if (record.batches) record.share.tail = tail_of_batches(record.share.tail);
  } catch (const Json::exception& error) {
    throw Error(fmt::format("the record of an epoch of samples cannot be read: {}", error.what()));
  }
  const Share& share = record.share;
  if (share.world == 0 || share.rank >= share.world || share.base > share.units ||
      record.count > share.size()) {
    throw Error(
        fmt::format("the record of epoch {} contradicts itself: rank {} of {}, {} of {} "
                    "units from {} on",
                    record.epoch, share.rank, share.world, record.count, share.units, share.base));
  }
  return record;
}

class Count {
 public:
  explicit Count(const std::map<std::uint64_t, Record>& ranks)
      : first_(ranks.begin()->second), uses_(first_.share.units), order_(order_of(first_)) {
    result_ = {.epoch = first_.epoch,
               .samples = first_.share.units,
               .world = first_.share.world,
               .known = ranks.size(),
               .pieces = first_.before.size() + 1,
               .batches = first_.batches,
               .allowed = first_.share.tail == Tail::drop};
    for (const Json& span : first_.before) {
      use_span(span.at(0).get<std::uint64_t>(), span.at(1).get<std::uint64_t>());
    }
    for (std::uint64_t rank = 0; rank < first_.share.world; ++rank) use_rank(ranks, rank);
  }

  EpochAudit result() {
    for (std::uint64_t unit = 0; unit < uses_.size(); ++unit) {
      const Uses& uses = uses_[unit];
      if (uses.due == 1) {
        uses.filling > 0 ? ++result_.repeated : ++result_.once;
      } else {
        ++(uses.due == 0 ? result_.unused : result_.twice);
        const bool expected = uses.due == 0 && result_.allowed;
        if (!expected && result_.examples.size() < 10) result_.examples.push_back(order_[unit]);
      }
    }
    return std::move(result_);
  }

 private:
  static SampleOrder order_of(const Record& record) {
    if (record.batches) return {record.share.units, Shuffle::none, 0, 0};
    if (record.lanes == 0) return {record.samples, record.shuffle, record.seed, record.epoch};
    return SampleOrder::in_lanes(record.samples, record.shuffle, record.seed, record.epoch,
                                 record.lanes);
  }

  struct Uses {
    std::uint8_t due = 0, filling = 0;  ///< counted up to 2
  };

  void use_span(std::uint64_t from, std::uint64_t to) {
    if (to > uses_.size() || from > to) {
      throw Error(fmt::format("the record of epoch {} contradicts itself: units {} to {} of {}",
                              first_.epoch, from, to, uses_.size()));
    }
    for (std::uint64_t unit = from; unit < to; ++unit) use(unit, false);
  }

  void use(std::uint64_t unit, bool filling) {
    std::uint8_t& count = filling ? uses_[unit].filling : uses_[unit].due;
    count = static_cast<std::uint8_t>(std::min(count + 1, 2));
  }

  void use_rank(const std::map<std::uint64_t, Record>& ranks, std::uint64_t rank) {
    const auto found = ranks.find(rank);
    Share share = first_.share;
    share.rank = rank;
    const bool complete = first_.count == first_.share.size();
    // If a replica's record was not given, it is only known that the replica went in step.
    const std::uint64_t count = found != ranks.end() ? found->second.count
                                : complete           ? share.size()
                                                     : std::min(first_.count, share.size());
    std::uint64_t digest = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t unit = share.unit(i);
      use(unit, share.position(i) >= share.units);
      digest += detail::sample_digest(order_[unit]);
    }
    // The record of group batches does not have a digest of their samples.
    if (found == ranks.end() || first_.batches) return;
    if (fmt::format("{:016x}", digest) != found->second.digest) result_.forged.push_back(rank);
  }

  const Record& first_;
  std::vector<Uses> uses_;
  SampleOrder order_;
  EpochAudit result_;
};

}  // namespace

std::vector<EpochAudit> audit_samples(std::span<const std::string> records) {
  std::map<std::uint64_t, std::map<std::uint64_t, Record>> epochs;
  for (const std::string& text : records) {
    std::optional<Record> record = parse(text);
    if (!record) continue;
    auto& ranks = epochs[record->epoch];
    if (!ranks.empty() && !ranks.begin()->second.together(*record)) ranks.clear();
    ranks.insert_or_assign(record->share.rank, std::move(*record));
  }
  std::vector<EpochAudit> audits;
  for (const auto& [epoch, ranks] : epochs) audits.push_back(Count(ranks).result());
  return audits;
}

}  // namespace flor
