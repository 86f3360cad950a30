#include <flor/data/sample_stream.h>
#include <flor/dist/group.h>
#include <flor/log.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace flor {
namespace {

using Object = nlohmann::ordered_json;

constexpr int kVersion = 1;

Object to_json(const std::vector<SampleSpan>& spans) {
  Object list = Object::array();
  for (const SampleSpan& span : spans) list.push_back({span.from, span.to, span.world});
  return list;
}

std::uint64_t digest_of(const std::vector<std::int64_t>& groups) {
  std::uint64_t digest = 0;
  for (const std::int64_t group : groups) {
    digest = detail::mix64(digest ^ static_cast<std::uint64_t>(group));
  }
  return digest;
}

/// The fields of a setup that must be equal when a state is loaded.
Object identity(const SampleSetup& setup, std::uint64_t groups_digest) {
  Object json{{"samples", setup.samples},
              {"shuffle", to_string(setup.shuffle)},
              {"seed", setup.seed},
              {"tail", to_string(setup.tail)},
              {"data", setup.data}};
  if (!setup.groups.empty()) {
    json["batch_size"] = setup.batch_size;
    json["groups"] = groups_digest;
  }
  if (setup.sharded) json["sharded"] = true;
  return json;
}

void check_identity(const Object& recorded, const Object& here) {
  for (const auto* side : {&recorded, &here}) {
    for (const auto& [key, ignored] : side->items()) {
      const std::string was = recorded.contains(key) ? recorded[key].dump() : "none";
      const std::string is = here.contains(key) ? here[key].dump() : "none";
      if (was != is) {
        throw Error(
            fmt::format("the saved position in the data does not fit: it was saved with {} {}, "
                        "and this program has {}; nothing was changed",
                        key, was, is));
      }
    }
  }
}

}  // namespace

struct SampleStream::Units {
  std::uint64_t epoch, lanes;
  SampleOrder order;
  std::optional<GroupedBatches> batches;

  /// Calls `use` with each sample of a unit, and returns the sum of the samples' digests.
  template <typename Use>
  std::uint64_t visit(std::uint64_t unit, Use use) const {
    std::uint64_t digest = 0;
    const auto one = [&](std::uint64_t sample) {
      use(sample);
      digest += detail::sample_digest(sample);
    };
    if (batches) {
      for (const std::uint64_t sample : (*batches)[unit]) one(sample);
    } else {
      one(order[unit]);
    }
    return digest;
  }
};

SampleStream::SampleStream(SampleSetup setup, std::uint64_t world, std::uint64_t rank)
    : setup_(std::move(setup)), world_(world), rank_(rank) {
  if (world == 0 || rank >= world) {
    throw Error(
        fmt::format("there is no rank {} among {} replicas: ranks count from 0", rank, world));
  }
  units_ = setup_.samples;
  if (!setup_.groups.empty()) {
    if (setup_.groups.size() != setup_.samples) {
      throw Error(fmt::format("groups were given for {} samples, but the data set has {} samples",
                              setup_.groups.size(), setup_.samples));
    }
    units_ = GroupedBatches::count(setup_.groups, setup_.batch_size, setup_.tail);
    groups_digest_ = digest_of(setup_.groups);
    if (setup_.sharded) {
      throw Error(
          "batches of groups cannot be taken from a sharded data set: use one or the other");
    }
  }
  if (setup_.tail == Tail::drop && setup_.samples > 0 && units_ < world) {
    throw Error(
        fmt::format("{} {} are not enough for {} replicas if what is left over is dropped: "
                    "none would get any",
                    units_, setup_.groups.empty() ? "samples" : "batches", world));
  }
  place_ = first_of(0);
}

Share SampleStream::share_from(std::uint64_t base) const {
  return {.units = units_,
          .base = base,
          .world = world_,
          .rank = rank_,
          .tail = setup_.groups.empty() ? setup_.tail : tail_of_batches(setup_.tail)};
}

SampleStream::Place SampleStream::first_of(std::uint64_t epoch) const {
  Place place;
  place.epoch = epoch;
  place.lanes = setup_.sharded ? world_ : 0;
  place.share = share_from(0);
  return place;
}

// Epochs ------------------------------------------------------------------------------------------

bool SampleStream::complete(const Place& place) {
  return place.ended || place.count >= place.share.size();
}
bool SampleStream::complete() const { return complete(place_); }

std::uint64_t SampleStream::consumed_by_all(const Place& place) {
  const Share& share = place.share;
  const bool all_used = !place.ended && complete(place);
  // Equal shares end at the same step. Units that no share contains then count as consumed.
  if (all_used && share.tail != Tail::uneven) return share.units;
  if (place.others > 0) return place.others;
  if (all_used) return share.units;
  return std::min(share.units, share.base + place.count * share.world);
}
std::uint64_t SampleStream::consumed_by_all() const { return consumed_by_all(place_); }

bool SampleStream::finished() const {
  return units_ > 0 && (place_.ended || consumed_by_all() == units_);
}

void SampleStream::check_reported(const std::string& what) const {
  const bool all_drawn = drawn_ > 0 && drawn_ == size();
  if (iterating_ && all_drawn && place_.count == begun_at_ && !complete()) {
    throw Error(
        fmt::format("{}: all samples of epoch {} were handed out, but none was reported as "
                    "used: call advance() after each step of the training",
                    what, place_.epoch));
  }
}

void SampleStream::set_epoch(std::uint64_t epoch) {
  check_reported(fmt::format("set_epoch({})", epoch));
  if (epoch == place_.epoch) {
    if (!finished()) return;
    throw Error(
        fmt::format("set_epoch({0}): epoch {0} is complete already; go on with epoch {1} "
                    "(resume_epoch)",
                    epoch, epoch + 1));
  }
  if (place_.share.base + place_.count > 0 && !complete()) {
    throw Error(
        fmt::format("set_epoch({}): epoch {} is used up to {} of {}; finish it, or give up "
                    "the rest with end_epoch()",
                    epoch, place_.epoch, consumed_by_all(), units_));
  }
  begin_epoch(epoch);
}

void SampleStream::begin_epoch(std::uint64_t epoch) {
  // If samples are left but dropped, so that no replica gets any, the epoch ends without a step.
  const std::uint64_t base = place_.share.base;
  if (size() == 0 && base > 0 && base < units_ && rank_ == 0) log_epoch();
  place_ = first_of(epoch);
  forget_drawn();
}

void SampleStream::end_epoch() {
  if (complete()) return;
  place_.ended = true;
  forget_drawn();
  log_epoch();
}

void SampleStream::forget_drawn() {
  iterating_ = false;
  drawn_ = begun_at_ = place_.count;
  digests_.clear();
  batches_.clear();
}

// Drawing and consuming ---------------------------------------------------------------------------

void SampleStream::begin() {
  check_reported("a data loader begins");
  if (complete() && (finished() || (iterating_ && units_ > 0))) begin_epoch(place_.epoch + 1);
  forget_drawn();
  iterating_ = true;
}

std::uint64_t SampleStream::batch_of(std::uint64_t batch_size) const {
  const std::uint64_t left = place_.ended ? 0 : size() - drawn_;
  if (!setup_.groups.empty()) return std::min<std::uint64_t>(left, 1);
  // The other replicas' last batch is full. A sample that they do not have is added to this batch,
  // since it must not become a batch of its own.
  const bool one_more = left == batch_size + 1 && place_.share.least() < size();
  return one_more ? left : std::min(left, batch_size);
}

const SampleStream::Units& SampleStream::units_of(const Place& place) {
  const std::uint64_t epoch = place.epoch, lanes = place.lanes;
  if (order_ && order_->epoch == epoch && order_->lanes == lanes) return *order_;
  order_.reset();  // first, so that there is never more than one in memory
  const auto& [samples, shuffle, seed] = std::tie(setup_.samples, setup_.shuffle, setup_.seed);
  Units made{.epoch = epoch,
             .lanes = lanes,
             .order = lanes > 0 ? SampleOrder::in_lanes(samples, shuffle, seed, epoch, lanes)
                                : SampleOrder(samples, shuffle, seed, epoch),
             .batches = {}};
  if (!setup_.groups.empty()) {
    made.batches.emplace(setup_.groups, setup_.batch_size, setup_.tail, made.order);
  }
  order_ = std::make_shared<const Units>(std::move(made));
  return *order_;
}

std::optional<std::vector<std::size_t>> SampleStream::next(std::uint64_t batch_size) {
  if (!iterating_) {
    throw Error(
        "samples are asked for, but the position in the data was changed since the data "
        "loader began: begin it again");
  }
  if (batch_size == 0) throw Error("a batch needs at least one sample: the batch size is 0");
  if (!setup_.groups.empty() && batch_size != setup_.batch_size) {
    throw Error(
        fmt::format("the data loader asks for batches of {}, but the sampler makes batches "
                    "of {}: give both the same batch size",
                    batch_size, setup_.batch_size));
  }
  const std::uint64_t units = batch_of(batch_size);
  if (units == 0) return std::nullopt;
  std::vector<std::size_t> samples;
  samples.reserve(setup_.groups.empty() ? units : batch_size);
  const Units& all = units_of(place_);
  for (std::uint64_t i = 0; i < units; ++i) {
    digests_.push_back(all.visit(place_.share.unit(drawn_ + i), [&](std::uint64_t sample) {
      samples.push_back(static_cast<std::size_t>(sample));
    }));
  }
  drawn_ += units;
  batches_.push_back(drawn_);
  return samples;
}

void SampleStream::advance() {
  if (batches_.empty()) {
    throw Error(
        fmt::format("advance(): every batch that was handed out in epoch {} is reported "
                    "already ({} of {})",
                    place_.epoch, place_.count, size()));
  }
  advance(static_cast<std::int64_t>(batches_.front() - place_.count));
}

void SampleStream::advance(std::int64_t units) {
  const std::uint64_t open = digests_.size();
  if (units < 0 || static_cast<std::uint64_t>(units) > open) {
    throw Error(
        fmt::format("advance({}): {} of {} are used in epoch {}, and {} more were handed "
                    "out; nothing was changed",
                    units, place_.count, size(), place_.epoch, open));
  }
  if (units == 0) return;
  for (std::int64_t i = 0; i < units; ++i) {
    place_.digest += digests_.front();
    digests_.pop_front();
  }
  place_.count += static_cast<std::uint64_t>(units);
  place_.others = 0;
  while (!batches_.empty() && batches_.front() <= place_.count) batches_.pop_front();
  if (complete()) log_epoch();
}

void SampleStream::agree(Group& group) {
  const Place& p = place_;
  const std::vector<std::int64_t> mine{
      static_cast<std::int64_t>(p.epoch),       static_cast<std::int64_t>(p.share.base),
      static_cast<std::int64_t>(p.share.world), static_cast<std::int64_t>(p.share.rank),
      static_cast<std::int64_t>(p.count),       p.ended ? 1 : 0};
  const std::vector<std::int64_t> all = group.all_gather(mine);
  std::uint64_t furthest = p.share.base;
  for (std::size_t rank = 0; rank * mine.size() < all.size(); ++rank) {
    const auto* its = &all[rank * mine.size()];
    const auto count = static_cast<std::uint64_t>(its[4]);
    Place other = p;
    other.share.rank = static_cast<std::uint64_t>(its[3]);
    other.count = count;
    other.ended = its[5] != 0;
    // With uneven shares, only the last unit of a share may be one that other replicas do not have.
    const bool in_step = count == p.count || (complete(other) && complete(p)) ||
                         (complete(other) && count < p.count) || (complete(p) && p.count < count);
    if (its[0] != mine[0] || its[1] != mine[1] || its[2] != mine[2] ||
        its[3] != std::int64_t(rank) || !in_step) {
      const auto where = [](std::int64_t used, std::int64_t epoch, std::int64_t base) {
        return fmt::format("has used {} of epoch {}, which was divided at {}", used, epoch, base);
      };
      throw Error(fmt::format(
          "the replicas are not in step: rank {} of {} {}; rank {} of {} {}: let each rank draw "
          "and advance as often, and call agree() at the same place",
          mine[3], mine[2], where(mine[4], mine[0], mine[1]), its[3], its[2],
          where(its[4], its[0], its[1])));
    }
    // The position after the last unit that the other replica has consumed, if it has consumed any.
    if (count > 0) furthest = std::max(furthest, other.share.position(count - 1) + 1);
  }
  place_.others = std::min(units_, furthest);
}

// State -------------------------------------------------------------------------------------------

std::string SampleStream::print() const {
  const Place& p = place_;
  Object json{{"sampler", kVersion}};
  json["setup"] = identity(setup_, groups_digest_);
  json["epoch"] = p.epoch;
  if (p.lanes > 0) json["lanes"] = p.lanes;
  json["world"] = p.share.world;
  json["rank"] = p.share.rank;
  json["base"] = p.share.base;
  json["count"] = p.count;
  json["digest"] = p.digest;
  if (p.others > 0) json["others"] = p.others;
  if (p.ended) json["ended"] = true;
  if (!p.before.empty()) json["before"] = to_json(p.before);
  return json.dump();
}

SampleStream::Place SampleStream::read(const std::string& text) const {
  Place read;
  try {
    const Object json = Object::parse(text);
    if (json.at("sampler").get<int>() != kVersion) {
      throw Error("the position in the data was saved by a later version of Flor");
    }
    check_identity(json.at("setup"), identity(setup_, groups_digest_));
    const auto number = [&](const char* key) { return json.at(key).get<std::uint64_t>(); };
    read.epoch = number("epoch");
    if (setup_.sharded) read.lanes = number("lanes");
    read.share = share_from(number("base"));
    read.share.world = number("world");
    read.share.rank = number("rank");
    read.count = number("count");
    read.digest = number("digest");
    read.others = json.value("others", std::uint64_t{0});
    read.ended = json.value("ended", false);
    for (const Object& span : json.value("before", Object::array())) {
      read.before.push_back({span.at(0).get<std::uint64_t>(), span.at(1).get<std::uint64_t>(),
                             span.at(2).get<std::uint64_t>()});
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(
        fmt::format("the saved position in the data cannot be read ({}); nothing was "
                    "changed",
                    error.what()));
  }
  const Share& share = read.share;
  if (share.world == 0 || share.rank >= share.world || share.base > units_ ||
      read.count > share.size() || read.others > units_ || (setup_.sharded && read.lanes == 0)) {
    throw Error(
        fmt::format("the saved position in the data contradicts itself: rank {} of {}, {} "
                    "units used after the first {} of {}; nothing was changed",
                    share.rank, share.world, read.count, share.base, units_));
  }
  return read;
}

/// Deals the rest of the epoch to this number of replicas, which differs from that of `place`.
void SampleStream::deal_anew(Place& place) const {
  const std::uint64_t consumed = consumed_by_all(place);
  if (consumed > place.share.base) {
    place.before.push_back({place.share.base, consumed, place.share.world});
  }
  place.share = share_from(place.ended ? units_ : consumed);
  place.count = place.digest = place.others = 0;
  if (place.share.base == 0) place.lanes = setup_.sharded ? world() : 0;
}

/// Turns another replica's place in the same deal into this replica's. All replicas keep the deal,
/// whichever state they load. So replicas that load their own state and those that load another's
/// are in step.
void SampleStream::take_own_share(Place& place) {
  const std::uint64_t consumed = consumed_by_all(place);
  Share& share = place.share;
  share.rank = rank();
  place.count = share.size();  // including what fills it up
  while (consumed < units_ && place.count > 0 && share.position(place.count - 1) >= consumed) {
    --place.count;
  }
  place.others = consumed;
  place.digest = 0;
  for (std::uint64_t i = 0; i < place.count; ++i) {
    place.digest += units_of(place).visit(share.unit(i), [](std::uint64_t) {});
  }
}

void SampleStream::parse(const std::string& text) {
  Place read = this->read(text);
  const bool same_deal = read.share.world == world();
  if (!same_deal) {
    deal_anew(read);
  } else if (read.share.rank != rank()) {
    take_own_share(read);
  }
  // A resumed loop first steps forward, and is then told where it is. Its data loader continues in
  // that case.
  const bool goes_on = same_deal && iterating_ && read.epoch == place_.epoch &&
                       read.share.base == place_.share.base && read.lanes == place_.lanes &&
                       begun_at_ <= read.count && read.count <= drawn_ &&
                       read.count >= place_.count;
  const std::uint64_t steps = goes_on ? read.count - place_.count : 0;
  place_ = std::move(read);
  if (!goes_on) return forget_drawn();
  digests_.erase(digests_.begin(), digests_.begin() + static_cast<std::ptrdiff_t>(steps));
  while (!batches_.empty() && batches_.front() <= place_.count) batches_.pop_front();
}

std::string SampleStream::epoch_record() const {
  Object json{{"sampler", kVersion}};
  json["epoch"] = place_.epoch;
  json.update(identity(setup_, groups_digest_));
  json["units"] = units_;
  if (place_.lanes > 0) json["lanes"] = place_.lanes;
  json["world"] = world();
  json["rank"] = rank();
  json["base"] = place_.share.base;
  json["count"] = place_.count;
  json["digest"] = fmt::format("{:016x}", place_.digest);
  json["before"] = to_json(place_.before);
  return json.dump();
}

void SampleStream::log_epoch() const {
  if (setup_.record.empty() || !detail::logging()) return;
  detail::log_json(setup_.record, epoch_record());
}

}  // namespace flor
