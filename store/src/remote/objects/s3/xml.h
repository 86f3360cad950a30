// Parses and prints the XML of S3.
#pragma once

#include "remote/objects/object_store.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::remote {

struct S3Error {
  std::string code, message;
  std::string region;  ///< that the server wants; mostly empty
};
/// Nothing if the text is no error.
std::optional<S3Error> parse_error(std::span<const std::byte> xml);

struct ObjectPage {
  std::vector<ObjectInfo> objects;  ///< keys with the prefix of the store
  std::string next;                 ///< token for the next page; empty: there is none
};
/// Throws Damaged where the text is no such list, or is a part of one that does not say where it
/// continues.
ObjectPage parse_objects(std::span<const std::byte> xml);

struct UnfinishedUpload {
  std::string key, id;
  std::int64_t initiated_us = 0;
};
struct UploadPage {
  std::vector<UnfinishedUpload> uploads;
  std::string next_key, next_id;  ///< empty: there is no further page
};
/// Throws as parse_objects does.
UploadPage parse_uploads(std::span<const std::byte> xml);

std::string parse_upload_id(std::span<const std::byte> xml);
/// The request body that completes an upload of these parts, given by their ETags in order.
std::string print_parts(const std::vector<std::string>& etags);

/// "2024-05-01T12:00:00.000Z" as Unix time in microseconds; 0 if it is no such time.
std::int64_t parse_time(std::string_view text);

}  // namespace flor::remote
