// An object store in a bucket of S3 or of a server with the same protocol.
#pragma once

#include "remote/objects/object_store.h"
#include "remote/objects/s3/s3_settings.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace flor::remote {

struct S3Limits {
  /// Objects larger than this are uploaded in parts of `part_bytes`.
  std::uint64_t multipart_bytes = std::uint64_t{64} << 20;
  std::uint64_t part_bytes = std::uint64_t{16} << 20;
  std::chrono::milliseconds first_pause{100}, longest_pause{10'000};
  std::chrono::seconds silence{30};  ///< an attempt without progress for this time is given up
  /// After this time no further attempt begins. Otherwise a server that does not answer would cost
  /// `silence` for each attempt.
  std::chrono::milliseconds longest_wait{120'000};
  std::int64_t clock_offset_us = 0;  ///< added to the time with which requests are signed
};

/// Parses "s3://bucket/prefix". Throws UsageError for any other text.
struct S3Place {
  std::string bucket, prefix;  ///< `prefix` is empty or ends with '/'
};
S3Place parse_s3_url(std::string_view url);

std::unique_ptr<ObjectStore> open_s3(const S3Place& place, const S3Settings& settings,
                                     const S3Limits& limits = {});

}  // namespace flor::remote
