// Fuzz target of what comes from object stores and from files with credentials. Input: a digit that
// says what the rest is:
//   0 a manifest, whose checksum is made right where it is JSON; 1 a list of objects; 2 of uploads;
//   3 an error; 4 a file of profiles; 5 a key of a manifest; 6 a URL; 7 variables, a line each;
//   8 a part of the listing, before it is compressed.
// Everything is either refused by an error of Flor or makes sense: what is printed is read again as
// the same.
#include "remote/objects/object_keys.h"
#include "remote/objects/s3/s3_objects.h"
#include "remote/objects/s3/s3_settings.h"
#include "remote/objects/s3/xml.h"
#include "remote/objects/sha256.h"
#include "remote/run_listing.h"

#include <flor/store/error.h>

#include <nlohmann/json.hpp>
#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::fuzz::remote_target {
namespace {

using namespace flor::remote;
using Bytes = std::span<const std::byte>;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

void read_manifest_text(const std::string& text) {
  const RemoteRun run = parse_manifest(bytes_of(text), "manifest");
  const std::string printed = print_manifest(run);
  require(print_manifest(parse_manifest(bytes_of(printed), "printed")) == printed,
          "a manifest is not read as it was printed");
  require(is_content_name(run.catalog), "a manifest names a catalog that cannot be");
}

void manifest(std::string_view text) {
  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_object()) {
    json.erase("sha256");
    const auto replace = nlohmann::ordered_json::error_handler_t::replace;
    json["sha256"] = sha256_hex(json.dump(2, ' ', false, replace));
    read_manifest_text(json.dump(2, ' ', false, replace));
  }
  read_manifest_text(std::string(text));
}

void profiles(std::string_view text) {
  for (const auto& [section, values] : parse_profiles(text)) {
    require(section.find('\n') == section.npos, "a section goes over lines");
    for (const auto& [key, value] : values) {
      require(key.find('\n') == key.npos && value.find('\n') == value.npos,
              "a value has two lines");
    }
  }
}

/// Variables of which each line is one.
void settings(std::string_view text) {
  const Sections sections = parse_profiles(text);
  const S3Settings found = find_settings(
      [&](const std::string& name) -> std::optional<std::string> {
        if (name == "HOME") return "/nowhere";
        const auto section = sections.find("");
        if (section == sections.end()) return std::nullopt;
        const auto value = section->second.find(name);
        if (value == section->second.end()) return std::nullopt;
        return value->second;
      },
      "bucket");
  for (const std::string& word : {found.region, found.credentials.key, found.credentials.secret,
                                  found.credentials.token, found.endpoint}) {
    require(word.find_first_of(" \r\n") == word.npos, "a header could be put in");
  }
}

void key(std::string_view text) {
  const auto name = parse_manifest_key(text);
  if (!name) return;
  require(parse_manifest_key(name->key()) == name, "a key is not read as it was written");
  require(name->key().find("..") == std::string::npos, "a key leads elsewhere");
}

void url(std::string_view text) {
  const S3Place place = parse_s3_url(text);
  require(("/" + place.prefix).find("/../") == std::string::npos, "a prefix leads elsewhere");
}

void listing(std::string_view text) {
  std::vector<std::byte> packed(ZSTD_compressBound(text.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  for (const std::uint64_t count : {1, 2, 5}) {
    try {
      parse_part(packed, count, [](const ListedRun& listed) {
        require(parse_manifest_key(listed.manifest.key()) == listed.manifest,
                "a part of the listing names a manifest that cannot be");
        require(is_content_name(listed.run.catalog), "it names a catalog that cannot be");
      });
    } catch (const flor::Damaged&) {
    }
  }
}

void read(int kind, std::string_view text) {
  const auto xml = std::as_bytes(std::span(text));
  switch (kind % 9) {
    case 0:
      return manifest(text);
    case 1:
      return static_cast<void>(parse_objects(xml));
    case 2:
      return static_cast<void>(parse_uploads(xml));
    case 3:
      return static_cast<void>(parse_error(xml));
    case 4:
      return profiles(text);
    case 5:
      return key(text);
    case 6:
      return url(text);
    case 7:
      return settings(text);
    default:
      return listing(text);
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    read((data[0] & 15), {reinterpret_cast<const char*>(data) + 1, size - 1});
  } catch (const flor::Error&) {
  }
  return 0;
}

}  // namespace flor::fuzz::remote_target
