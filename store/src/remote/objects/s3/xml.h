// Parses and prints the XML messages of S3.
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
  std::string region;  ///< the region that the server expects; usually empty
};
/// Returns nullopt if the text is not an error message.
std::optional<S3Error> parse_error(std::span<const std::byte> xml);

struct ObjectPage {
  std::vector<ObjectInfo> objects;  ///< their keys include the prefix of the store
  std::string next;                 ///< token for the next page; empty: this is the last page
};
/// Throws Damaged if the text is not such a list, or is a partial one without a token for the rest.
ObjectPage parse_objects(std::span<const std::byte> xml);

struct UnfinishedUpload {
  std::string key, id;
  std::int64_t initiated_us = 0;
};
struct UploadPage {
  std::vector<UnfinishedUpload> uploads;
  std::string next_key, next_id;  ///< empty: this is the last page
};
/// Throws Damaged like `parse_objects`.
UploadPage parse_uploads(std::span<const std::byte> xml);

std::string parse_upload_id(std::span<const std::byte> xml);
/// Returns the request body that completes an upload of the parts with these ETags, in order.
std::string print_parts(const std::vector<std::string>& etags);

/// Parses "2024-05-01T12:00:00.000Z" to Unix time in microseconds; 0 if it is not such a time.
std::int64_t parse_time(std::string_view text);

}  // namespace flor::remote
