#include "layout.h"

#include "sha256.h"
#include "worker_pool.h"

#include <flor/store/error.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <map>

namespace flor::remote {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

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

std::string parcel_key(std::string_view sha256) { return sharded(kParcels, sha256); }
std::string catalog_key(std::string_view sha256) { return sharded(kCatalogs, sha256) + ".zst"; }
std::string manifest_key(std::string_view run, std::int64_t sequence) {
  return fmt::format("{}{}/{:08}.json", kRuns, run, sequence);
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
  if (slash == key.npos || !is_hex(key.substr(0, slash), 16)) return std::nullopt;
  ManifestName name{std::string(key.substr(0, slash)), 0};
  const std::string_view number = key.substr(slash + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), name.sequence);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
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
    if (json.at("flor_manifest").get<int>() > kFormat) {
      throw Error(fmt::format("{} was written by a newer Flor: upgrade flor", where));
    }
    const std::string checksum = json.at("sha256").get<std::string>();
    json.erase("sha256");
    if (sha256_hex(text_of(json)) != checksum) {
      throw Damaged(fmt::format("{} is damaged: it does not have its SHA-256", where));
    }
    RemoteRun run;
    json.at("run").get_to(run.key);
    json.at("experiment").get_to(run.experiment);
    json.at("state").get_to(run.state);
    json.at("started_us").get_to(run.started_us);
    json.at("spooled_us").get_to(run.spooled_us);
    json.at("epochs").get_to(run.epochs);
    json.at("checkpoints").get_to(run.checkpoints);
    json.at("raw_bytes").get_to(run.raw_bytes);
    json.at("stored_bytes").get_to(run.stored_bytes);
    json.at("leader").get_to(run.leader);
    json.at("rank").get_to(run.rank);
    json.at("world").get_to(run.world);
    json.at("sequence").get_to(run.sequence);
    json.at("catalog").get_to(run.catalog);
    json.at("catalog_bytes").get_to(run.catalog_bytes);
    // They become names of files.
    if (!is_hex(run.key, 16) || !is_hex(run.catalog, 64) ||
        !(run.leader.empty() || is_hex(run.leader, 16))) {
      throw Damaged(fmt::format("{} is damaged: it names no run", where));
    }
    return run;
  } catch (const nlohmann::json::exception& error) {
    throw Damaged(fmt::format("{} is damaged: {}", where, error.what()));
  }
}

std::vector<ManifestName> list_manifests(ObjectStore& objects) {
  std::vector<ManifestName> names;
  for (const ObjectInfo& object : objects.list(kRuns)) {
    if (auto name = parse_manifest_key(object.key)) names.push_back(std::move(*name));
  }
  std::ranges::sort(names, {}, [](const ManifestName& name) {
    return std::pair(std::string_view(name.run), name.sequence);
  });
  return names;
}

std::optional<RemoteRun> latest_manifest(ObjectStore& objects, std::string_view run) {
  // It may be replaced, and the old one removed, between the listing and the reading.
  for (int tries = 0;; ++tries) {
    std::int64_t sequence = 0;
    for (const ObjectInfo& object : objects.list(fmt::format("{}{}/", kRuns, run))) {
      if (const auto name = parse_manifest_key(object.key)) {
        sequence = std::max(sequence, name->sequence);
      }
    }
    if (sequence == 0) return std::nullopt;
    const std::string key = manifest_key(run, sequence);
    try {
      return parse_manifest(objects.get(key), fmt::format("{}/{}", objects.url(), key));
    } catch (const NotFound&) {
      if (tries == 5) throw;
    }
  }
}

RemoteRun choose_run(ObjectStore& objects, std::string_view key) {
  auto run = latest_manifest(objects, key);
  if (!run) throw NotFound(fmt::format("run {} is not in {}: spool it first", key, objects.url()));
  return std::move(*run);
}

std::vector<RemoteRun> list_runs(ObjectStore& objects, unsigned threads) {
  std::map<std::string, std::int64_t> latest;
  for (const ManifestName& name : list_manifests(objects)) latest[name.run] = name.sequence;
  if (latest.empty()) {
    throw NotFound(
        fmt::format("there are no runs in {}: bring one there with flor spool", objects.url()));
  }
  const std::vector<std::pair<std::string, std::int64_t>> names(latest.begin(), latest.end());
  std::vector<std::optional<RemoteRun>> found(names.size());
  store::WorkerPool(threads, nullptr).for_each(names.size(), [&](std::size_t i) {
    const std::string key = manifest_key(names[i].first, names[i].second);
    try {
      found[i] = parse_manifest(objects.get(key), fmt::format("{}/{}", objects.url(), key));
    } catch (const NotFound&) {
      found[i] = latest_manifest(objects, names[i].first);  // replaced since it was listed
    }
  });
  std::vector<RemoteRun> runs;
  for (auto& run : found) {
    if (run) runs.push_back(std::move(*run));
  }
  std::ranges::sort(runs, [](const RemoteRun& a, const RemoteRun& b) {
    return std::pair(b.started_us, std::string_view(a.key)) <
           std::pair(a.started_us, std::string_view(b.key));
  });
  return runs;
}

}  // namespace flor::remote
