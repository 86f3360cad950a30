#include "remote/objects/object_keys.h"

#include "base/json_number.h"
#include "remote/objects/sha256.h"

#include <flor/store/error.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <random>

namespace flor::remote {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

/// Number of digits of a run's key, and of the random name of a writer.
constexpr std::size_t kKeyDigits = 16;

constexpr std::int64_t kSequenceMax = std::int64_t{1} << 52;

/// Limit of a manifest in bytes. Parsing nested JSON takes many times its length.
constexpr std::uint64_t kManifestBytesMax = std::uint64_t{64} << 10;

/// Larger than any number of bytes in a manifest, and so small that sums do not overflow.
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 60;

std::string sharded(const char* directory, std::string_view name) {
  return fmt::format("{}{}/{}", directory, name.substr(0, 2), name);
}

bool is_hex(std::string_view text, std::size_t size) {
  return text.size() == size && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

bool is_sensible(const RemoteRun& run) {
  constexpr std::array<std::string_view, 4> kKnownStates = {"finished", "failed", "running",
                                                            "interrupted"};
  return is_hex(run.key, kKeyDigits) && is_hex(run.catalog, 64) &&
         (run.leader.empty() || is_hex(run.leader, kKeyDigits)) &&
         std::ranges::find(kKnownStates, run.state) != kKnownStates.end() && run.epochs >= 0 &&
         run.checkpoints >= 0 && run.rank >= 0 && run.rank < run.world && run.sequence >= 1 &&
         run.sequence <= kSequenceMax && run.raw_bytes <= kBytesMax &&
         run.stored_bytes <= kBytesMax && run.catalog_bytes <= kBytesMax;
}

std::string parcel_key(std::string_view sha256) { return sharded(kParcels, sha256); }
std::string catalog_key(std::string_view sha256) { return sharded(kCatalogs, sha256) + ".zst"; }

bool is_content_name(std::string_view name) { return is_hex(name, 64); }

std::string ManifestName::key() const {
  return fmt::format("{}{}/{:08}{}{}.json", kRuns, run, sequence, writer.empty() ? "" : "-",
                     writer);
}

bool is_content_key(std::string_view key) {
  const std::string name = name_of(key);
  return is_hex(name, 64) && (key == parcel_key(name) || key == catalog_key(name));
}

bool is_doomed_key(std::string_view key) {
  constexpr std::size_t kDigits = 20;
  const std::string name = name_of(key);
  return name.size() == kDigits && name.find_first_not_of("0123456789") == name.npos &&
         key == fmt::format("{}{}.json", kDoomed, name);
}

std::string name_of(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  if (slash != key.npos) key.remove_prefix(slash + 1);
  return std::string(key.substr(0, key.find('.')));
}

std::optional<ManifestName> parse_manifest_key(std::string_view key) {
  constexpr std::string_view kEnd = ".json";
  const std::string_view begin = kRuns;
  if (!key.starts_with(begin) || !key.ends_with(kEnd)) return std::nullopt;
  key = key.substr(begin.size(), key.size() - begin.size() - kEnd.size());
  const std::size_t slash = key.find('/');
  if (slash == key.npos || !is_hex(key.substr(0, slash), kKeyDigits)) return std::nullopt;
  ManifestName name{std::string(key.substr(0, slash)), 0, ""};
  std::string_view number = key.substr(slash + 1);
  if (const std::size_t dash = number.find('-'); dash != number.npos) {
    name.writer = number.substr(dash + 1);
    if (!is_hex(name.writer, kKeyDigits)) return std::nullopt;
    number = number.substr(0, dash);
  }
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), name.sequence);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  if (!whole || name.sequence < 1 || name.sequence > kSequenceMax) return std::nullopt;
  return name;
}

std::string print_manifest(const RemoteRun& run) {
  Json json;
  json["flor_manifest"] = kFormat;
  json["run"] = run.key;
  json["experiment"] = run.experiment;
  json["state"] = run.state;
  json["started_us"] = run.started_us;
  json["spooled_us"] = run.spooled_us;
  json["epochs"] = run.epochs;
  json["checkpoints"] = run.checkpoints;
  json["raw_bytes"] = run.raw_bytes;
  json["stored_bytes"] = run.stored_bytes;
  json["leader"] = run.leader;
  json["rank"] = run.rank;
  json["world"] = run.world;
  json["sequence"] = run.sequence;
  json["catalog"] = run.catalog;
  json["catalog_bytes"] = run.catalog_bytes;
  json["sha256"] = sha256_hex(text_of(json));
  return text_of(json) + "\n";
}

RemoteRun parse_manifest(std::span<const std::byte> text, const std::string& where) {
  try {
    const auto* begin = reinterpret_cast<const char*>(text.data());
    Json json = Json::parse(begin, begin + text.size());
    // Printing nested JSON would need a stack proportional to its depth.
    if (std::ranges::any_of(json, [](const Json& value) { return value.is_structured(); })) {
      throw Damaged(fmt::format("{} is damaged: it is nested", where));
    }
    if (store::whole_number<int>(json.at("flor_manifest")).value_or(kFormat + 1) > kFormat) {
      throw NewerFormat(fmt::format("{} was written by a newer Flor: upgrade flor", where));
    }
    const std::string checksum = json.at("sha256").get<std::string>();
    json.erase("sha256");
    if (sha256_hex(text_of(json)) != checksum) {
      throw Damaged(
          fmt::format("{} is damaged: it does not have its SHA-256: spool the run again from where "
                      "it was recorded",
                      where));
    }
    const auto read = [&]<typename Number>(const char* name, Number& to) {
      const auto number = store::whole_number<Number>(json.at(name));
      if (!number) throw Damaged(fmt::format("{} is damaged: its {} cannot be", where, name));
      to = *number;
    };
    RemoteRun run;
    json.at("run").get_to(run.key);
    json.at("experiment").get_to(run.experiment);
    json.at("state").get_to(run.state);
    json.at("leader").get_to(run.leader);
    json.at("catalog").get_to(run.catalog);
    read("started_us", run.started_us);
    read("spooled_us", run.spooled_us);
    read("epochs", run.epochs);
    read("checkpoints", run.checkpoints);
    read("raw_bytes", run.raw_bytes);
    read("stored_bytes", run.stored_bytes);
    read("rank", run.rank);
    read("world", run.world);
    read("sequence", run.sequence);
    read("catalog_bytes", run.catalog_bytes);
    if (!is_sensible(run)) {
      throw Damaged(fmt::format(
          "{} is damaged: it names no run: spool the run again from where it was recorded", where));
    }
    return run;
  } catch (const nlohmann::json::exception&) {
    throw Damaged(fmt::format(
        "{} is damaged: it is no manifest: spool the run again from where it was recorded", where));
  }
}

RemoteRun read_manifest(ObjectStore& objects, const ManifestName& name) {
  const std::string where = fmt::format("{}/{}", objects.url(), name.key());
  RemoteRun run = parse_manifest(objects.get(name.key(), kManifestBytesMax), where);
  if (run.key != name.run || run.sequence != name.sequence) {
    throw Damaged(
        fmt::format("{} is damaged: it is the manifest of another run: spool the run again from "
                    "where it was recorded",
                    where));
  }
  return run;
}

std::vector<ManifestName> list_manifests(ObjectStore& objects, std::string_view run) {
  std::vector<ManifestName> names;
  const std::string prefix = run.empty() ? kRuns : fmt::format("{}{}/", kRuns, run);
  for (const ObjectInfo& object : objects.list(prefix)) {
    if (auto name = parse_manifest_key(object.key)) names.push_back(std::move(*name));
  }
  std::ranges::sort(names);
  return names;
}

std::optional<RemoteRun> latest_manifest(ObjectStore& objects, std::string_view run) {
  // Repeated, because the manifest may be replaced and deleted between listing and reading.
  for (int tries = 0;; ++tries) {
    const std::vector<ManifestName> names = list_manifests(objects, run);
    if (names.empty()) return std::nullopt;
    try {
      return read_manifest(objects, names.back());
    } catch (const NotFound&) {
      if (tries == 5) throw;
    }
  }
}

namespace {

std::string random_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

/// For servers that cannot create objects exclusively: each writer lists the manifests after
/// writing its own, and deletes its own if it sees another one. Of two concurrent writers at least
/// the later one lists when both exist, so never do both stay.
bool stands_alone(ObjectStore& objects, const ManifestName& mine,
                  const std::optional<ManifestName>& before) {
  std::optional<ManifestName> latest;
  bool is_there = false;
  for (const ManifestName& name : list_manifests(objects, mine.run)) {
    if (name == mine) {
      is_there = true;
    } else if (name.sequence >= mine.sequence) {
      return false;
    } else {
      latest = name;
    }
  }
  return is_there && latest == before;
}

}  // namespace

std::optional<ManifestName> put_manifest(ObjectStore& objects, const RemoteRun& run,
                                         const std::optional<ManifestName>& before) {
  ManifestName name{run.key, run.sequence, ""};
  const std::string manifest = print_manifest(run);
  const auto text = std::as_bytes(std::span(manifest));
  if (objects.makes_exclusively()) {
    if (!objects.put_if_absent(name.key(), text)) return std::nullopt;
    return name;
  }
  name.writer = random_name();
  objects.put(name.key(), text);
  if (stands_alone(objects, name, before)) return name;
  objects.remove(name.key());
  return std::nullopt;
}

RemoteRun choose_run(ObjectStore& objects, std::string_view key) {
  auto run = latest_manifest(objects, key);
  if (!run) throw NotFound(fmt::format("run {} is not in {}: spool it first", key, objects.url()));
  return std::move(*run);
}

}  // namespace flor::remote
