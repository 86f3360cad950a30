#include "remote/objects/s3/s3_objects.h"

#include "base/worker_pool.h"
#include "remote/objects/object_keys.h"
#include "remote/objects/s3/http_client.h"
#include "remote/objects/s3/xml.h"
#include "remote/objects/sha256.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <random>
#include <thread>

namespace flor::remote {
namespace {

using std::chrono::milliseconds;

/// Limit in bytes of a page of a list and of an error message.
constexpr std::uint64_t kAnswerMax = std::uint64_t{8} << 20;
/// Limit in bytes of an object that is received completely although only a part was requested.
constexpr std::uint64_t kWholeMax = std::uint64_t{64} << 20;

/// The object that `makes_exclusively` writes, and leaves there for later calls.
constexpr const char* kProbe = "probe";
const std::string kProbeText = "flor";

/// Number of pages of a list that are accepted in addition to one per ten objects. Servers may send
/// pages that are not full, but a server that always names a next page must not keep a client
/// forever.
constexpr std::size_t kPagesFree = 1000;
constexpr std::size_t kListedMax = 10'000'000;

/// Long lists are read in parallel. A list is long if it has more than kPagesInARow pages; then
/// kPagesAtOnce pages are read at a time.
constexpr std::size_t kPagesInARow = 4, kPagesMax = SIZE_MAX;
constexpr unsigned kPagesAtOnce = 8;

/// Number of parts of one object that are uploaded at a time.
constexpr unsigned kPartsAtOnce = 4;

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  for (const unsigned char* const end = at + text.size(); at < end;) {
    const int more = *at < 0x80       ? 0
                     : *at >> 5 == 6  ? 1
                     : *at >> 4 == 14 ? 2
                     : *at >> 3 == 30 ? 3
                                      : -1;
    if (more < 0 || end - at <= more) return false;
    if (*at == 0xC0 || *at == 0xC1 || *at > 0xF4) return false;
    for (int i = 1; i <= more; ++i) {
      if (at[i] >> 6 != 2) return false;
    }
    at += more + 1;
  }
  return true;
}

bool may_pass(const Response& response, const std::string& code) {
  if (response.status == 0) return !response.is_final;
  if (response.status == 500 || (response.status >= 502 && response.status <= 504)) return true;
  if (response.status == 408 || response.status == 409 || response.status == 429) return true;
  // The request may have been damaged on the way, so the same request may succeed if it is
  // repeated.
  return code == "RequestTimeout" || code == "BadDigest" || code == "XAmzContentSHA256Mismatch";
}

class S3Objects final : public ObjectStore {
 public:
  S3Objects(S3Place place, S3Settings settings, const S3Limits& limits)
      : place_(std::move(place)),
        settings_(std::move(settings)),
        limits_(limits),
        http_(settings_.ca_bundle, limits_.silence),
        url_(fmt::format(
            "s3://{}{}{}", place_.bucket, place_.prefix.empty() ? "" : "/",
            place_.prefix.substr(0, place_.prefix.empty() ? 0 : place_.prefix.size() - 1))) {
    const std::size_t scheme = settings_.endpoint.find("://") + 3;
    const std::size_t slash =
        std::min(settings_.endpoint.find('/', scheme), settings_.endpoint.size());
    host_ = settings_.endpoint.substr(scheme, slash - scheme);
    base_path_ = settings_.endpoint.substr(slash);
    if (settings_.path_style) {
      base_path_ += "/" + place_.bucket;
    } else {
      host_ = place_.bucket + "." + host_;
    }
    origin_ = settings_.endpoint.substr(0, scheme) + host_;
  }

  const std::string& url() const override { return url_; }

  bool put_if_absent(const std::string& key, std::span<const std::byte> content) override {
    if (content.size() > limits_.multipart_bytes) {
      if (head(key)) return false;
      put_in_parts(key, content);
      return true;
    }
    if (refuses_ != Answer::no) {
      const Response response = send(request("PUT", key, {}, {{"if-none-match", "*"}}), content);
      if (is_good(response)) return true;
      // An earlier attempt, whose answer was lost, may have created the object.
      if (response.status == 412) return response.attempts > 1 && holds(key, content);
      if (!is_unknown(response)) fail("write", key, response);
      refuses_ = Answer::no;
    }
    if (head(key)) return false;
    put(key, content);
    return true;
  }

  /// Some servers do not know the condition, and some accept but ignore it. So this tries to create
  /// an object that already exists.
  bool makes_exclusively() override {
    for (int i = 0; i < 2 && refuses_ == Answer::unknown; ++i) {
      const Response response =
          send(request("PUT", kProbe, {}, {{"if-none-match", "*"}}), bytes_of(kProbeText));
      if (response.status == 412 && response.attempts == 1) {
        refuses_ = Answer::yes;
      } else if (is_unknown(response)) {
        refuses_ = Answer::no;
      } else if (!is_good(response) && response.status != 412) {
        fail("write", kProbe, response);
      } else if (i == 1) {
        refuses_ = response.status == 412 ? Answer::yes : Answer::no;
      }
    }
    return refuses_ == Answer::yes;
  }

  void put(const std::string& key, std::span<const std::byte> content) override {
    if (content.size() > limits_.multipart_bytes) return put_in_parts(key, content);
    const Response response = send(request("PUT", key), content);
    if (!is_good(response)) fail("write", key, response);
  }

  std::vector<std::byte> get(const std::string& key, std::uint64_t most) override {
    Response response = send(request("GET", key), {}, most);
    if (response.is_too_long) {
      throw Damaged(
          fmt::format("{}/{} is larger than it may be: spool the run again from where it "
                      "was recorded",
                      url_, key));
    }
    if (!is_good(response)) fail("read", key, response);
    return std::move(response.body);
  }

  std::vector<std::byte> get_range(const std::string& key, std::uint64_t offset,
                                   std::uint64_t size) override {
    if (size == 0) return {};
    const std::string range = fmt::format("bytes={}-{}", offset, offset + size - 1);
    // A server that does not support ranges sends the whole object.
    Response response =
        send(request("GET", key, {}, {{"range", range}}), {}, std::max(offset + size, kWholeMax));
    const bool cut_off =
        response.status == 416 || (response.status == 206 && response.body.size() != size);
    if (cut_off) {
      throw Damaged(fmt::format("{}/{} is cut off: spool the run again from where it was recorded",
                                url_, key));
    }
    if (response.status == 200 && response.body.size() >= offset + size) {
      return {response.body.begin() + static_cast<std::ptrdiff_t>(offset),
              response.body.begin() + static_cast<std::ptrdiff_t>(offset + size)};
    }
    if (response.status != 206) fail("read", key, response);
    return std::move(response.body);
  }

  std::optional<ObjectInfo> head(const std::string& key) override {
    const Response response = send(request("HEAD", key), {});
    if (response.status == 404) return std::nullopt;
    if (!is_good(response)) fail("look at", key, response);
    ObjectInfo info{key, 0, 0};
    if (const auto size = response.headers.find("content-length"); size != response.headers.end()) {
      info.bytes = std::strtoull(size->second.c_str(), nullptr, 10);
    }
    if (const auto time = response.headers.find("last-modified"); time != response.headers.end()) {
      std::tm parts{};
      if (::strptime(time->second.c_str(), "%a, %d %b %Y %H:%M:%S", &parts)) {
        info.modified_us = static_cast<std::int64_t>(::timegm(&parts)) * 1'000'000;
      }
    }
    return info;
  }

  std::vector<ObjectInfo> list(const std::string& prefix) override {
    std::vector<ObjectInfo> objects;
    ListedSoFar listed;
    std::string token;
    list_from(prefix, {}, {}, kPagesInARow, token, listed, objects);
    if (!token.empty() && listed.in_order && !list_in_pieces(prefix, listed, objects)) {
      objects.clear();
      token.clear();
      list_from(prefix, {}, {}, kPagesMax, token, listed, objects);
    } else if (!token.empty() && !listed.in_order) {
      list_from(prefix, {}, {}, kPagesMax, token, listed, objects);
    }
    std::ranges::sort(objects, {}, &ObjectInfo::key);
    return objects;
  }

  void remove(const std::string& key) override {
    const Response response = send(request("DELETE", key), {});
    if (!is_good(response) && response.status != 404) fail("remove", key, response);
  }

  std::int64_t remove_unfinished(std::int64_t before_us, bool dry_run) override {
    // Only uploads of Flor's own objects, because other programs may be uploading to the same
    // bucket.
    std::int64_t count = 0;
    for (const char* directory : {kCatalogs, kParcels}) {
      count += remove_uploads(directory, before_us, dry_run);
    }
    return count;
  }

 private:
  std::int64_t remove_uploads(const std::string& directory, std::int64_t before_us, bool dry_run) {
    std::int64_t count = 0;
    const std::string prefix = place_.prefix + directory;
    // Without encoding-type: Ceph encodes the keys of this list without saying so.
    Parameters parameters{{"uploads", ""}, {"prefix", prefix}};
    std::size_t seen = 0;
    for (std::size_t pages = 1;; ++pages) {
      check_list(directory, pages, seen);
      const Response response = send(bucket_request("GET", parameters), {});
      if (!is_good(response)) fail("list uploads in", "", response);
      const UploadPage page = parse_uploads(response.body);
      seen += page.uploads.size();
      for (const UnfinishedUpload& upload : page.uploads) {
        if (upload.initiated_us > before_us || !upload.key.starts_with(prefix)) continue;
        ++count;
        if (!dry_run) abandon(upload.key.substr(place_.prefix.size()), upload.id);
      }
      if (page.next_key.empty()) return count;
      std::string& key = parameters["key-marker"];
      std::string& id = parameters["upload-id-marker"];
      if (key == page.next_key && id == page.next_id) throw_circle(directory);
      key = page.next_key;
      id = page.next_id;
    }
  }

  struct ListedSoFar {
    std::atomic<std::size_t> pages = 0, objects = 0;
    std::atomic<bool> in_order = true;
  };

  /// Appends the objects after the last one in `objects`. A server lists pages one after another
  /// and takes time for each. Most keys continue with a hex digit, so the list is read in up to 16
  /// parts in parallel. Returns false if the server lists in an order of its own, so that it is
  /// unknown which keys follow another.
  bool list_in_pieces(const std::string& prefix, ListedSoFar& listed,
                      std::vector<ObjectInfo>& objects) {
    std::vector<std::string> bounds = {objects.empty() ? "" : objects.back().key};
    for (const char digit : std::string_view("123456789abcdef")) {
      std::string bound = prefix + digit;
      if (bound > bounds.front()) bounds.push_back(std::move(bound));
    }
    bounds.emplace_back();
    std::vector<std::vector<ObjectInfo>> pieces(bounds.size() - 1);
    store::WorkerPool(kPagesAtOnce, nullptr).for_each(pieces.size(), [&](std::size_t i) {
      std::string token;
      list_from(prefix, bounds[i], bounds[i + 1], kPagesMax, token, listed, pieces[i]);
    });
    for (auto& piece : pieces) std::ranges::move(piece, std::back_inserter(objects));
    return listed.in_order;
  }

  /// Appends keys after `after` up to `end` (unless empty), also from a server that ignores where
  /// the list should begin. Continues at `token` unless it is empty, and sets it to the beginning
  /// of the next page, or to empty at the end of the list.
  void list_from(const std::string& prefix, const std::string& after, const std::string& end,
                 std::size_t pages_max, std::string& token, ListedSoFar& listed,
                 std::vector<ObjectInfo>& objects) {
    Parameters parameters{
        {"list-type", "2"}, {"encoding-type", "url"}, {"prefix", place_.prefix + prefix}};
    if (!after.empty()) parameters["start-after"] = place_.prefix + after;
    std::string previous;
    for (std::size_t pages = 0; pages < pages_max; ++pages) {
      check_list(prefix, ++listed.pages, listed.objects);
      if (!token.empty()) parameters["continuation-token"] = token;
      const Response response = send(bucket_request("GET", parameters), {});
      if (!is_good(response)) fail("list", prefix, response);
      ObjectPage page = parse_objects(response.body);
      listed.objects += page.objects.size();
      bool ended = page.next.empty();
      for (ObjectInfo& object : page.objects) {
        if (object.key <= previous) listed.in_order = false;
        previous = object.key;
        if (!object.key.starts_with(place_.prefix)) continue;
        object.key.erase(0, place_.prefix.size());
        if (!end.empty() && object.key > end) {
          ended = true;
        } else if (object.key > after) {
          objects.push_back(std::move(object));
        }
      }
      if (!ended && token == page.next) throw_circle(prefix);
      token = ended ? std::string() : std::move(page.next);
      if (ended) return;
    }
  }

  void check_list(const std::string& prefix, std::size_t pages, std::size_t listed) const {
    if (pages <= kPagesFree + listed / 10 && listed <= kListedMax) return;
    throw Damaged(fmt::format(
        "the list of {}/{} has no end: the S3 server named {} pages with {} objects so far", url_,
        prefix, pages, listed));
  }

  [[noreturn]] void throw_circle(const std::string& prefix) const {
    throw Damaged(
        fmt::format("the list of {}/{} goes in a circle: the S3 server names the same next page "
                    "again",
                    url_, prefix));
  }

  Request request(const char* method, const std::string& key, Parameters parameters = {},
                  Headers headers = {}) const {
    headers["host"] = host_;
    return {method, fmt::format("{}/{}{}", base_path_, place_.prefix, key), std::move(parameters),
            std::move(headers)};
  }
  Request bucket_request(const char* method, Parameters parameters) const {
    return {method, base_path_ + "/", std::move(parameters), {{"host", host_}}};
  }

  static bool is_good(const Response& response) {
    return response.status >= 200 && response.status < 300;
  }
  static std::string code_of(const Response& response) {
    const auto error = parse_error(response.body);
    return error ? error->code : "";
  }

  static bool is_unknown(const Response& response) {
    const std::string code = code_of(response);
    return response.status == 501 || code == "NotImplemented" || code == "InvalidArgument";
  }

  bool holds(const std::string& key, std::span<const std::byte> content) {
    try {
      return std::ranges::equal(get(key, content.size()), content);
    } catch (const Damaged&) {
      return false;  // the object is longer
    } catch (const NotFound&) {
      return false;
    }
  }

  /// Signs and sends a request, with growing pauses between attempts, as long as another attempt
  /// may help. An answer has at most `most` bytes.
  Response send(Request request, std::span<const std::byte> content,
                std::uint64_t most = kAnswerMax) {
    const std::string hash = sha256_hex(content);
    const auto begin = std::chrono::steady_clock::now();
    for (int attempt = 1;; ++attempt) {
      sign(request, settings_.credentials, settings_.region, hash,
           now_us() + limits_.clock_offset_us);
      Response response = http_.send(origin_, request, content, std::max(most, kAnswerMax));
      response.attempts = attempt;
      if (is_good(response) && response.body.size() > most) response.is_too_long = true;
      const auto waited = std::chrono::steady_clock::now() - begin;
      if (is_good(response) || attempt >= settings_.attempts || waited >= limits_.longest_wait ||
          !may_pass(response, code_of(response))) {
        response.waited = std::chrono::duration_cast<std::chrono::seconds>(waited);
        return response;
      }
      std::this_thread::sleep_for(pause(attempt));
    }
  }

  /// Returns a random pause from a range that doubles with each attempt, so that many clients do
  /// not retry at the same time.
  milliseconds pause(int attempt) const {
    thread_local std::minstd_rand random{std::random_device{}()};
    const auto most = std::min(limits_.longest_pause, limits_.first_pause * (1 << attempt));
    return milliseconds(
        std::uniform_int_distribution<std::int64_t>(most.count() / 4, most.count())(random));
  }

  void put_in_parts(const std::string& key, std::span<const std::byte> content) {
    const Response begun = send(request("POST", key, {{"uploads", ""}}), {});
    if (!is_good(begun)) fail("write", key, begun);
    const std::string id = parse_upload_id(begun.body);
    try {
      std::vector<std::string> etags((content.size() + limits_.part_bytes - 1) /
                                     limits_.part_bytes);
      store::WorkerPool(kPartsAtOnce, nullptr).for_each(etags.size(), [&](std::size_t i) {
        const std::size_t begin = i * limits_.part_bytes;
        const auto part = content.subspan(
            begin, std::min<std::size_t>(limits_.part_bytes, content.size() - begin));
        const Response sent = send(
            request("PUT", key, {{"partNumber", std::to_string(i + 1)}, {"uploadId", id}}), part);
        if (!is_good(sent) || !sent.headers.contains("etag")) fail("write", key, sent);
        etags[i] = sent.headers.at("etag");
      });
      complete(key, id, etags, content.size());
    } catch (...) {
      try {
        abandon(key, id);
      } catch (const Error&) {
        // `flor remote prune` removes the uploaded parts later.
      }
      throw;
    }
  }

  void complete(const std::string& key, const std::string& id,
                const std::vector<std::string>& etags, std::uint64_t bytes) {
    const std::string parts = print_parts(etags);
    const Response done = send(request("POST", key, {{"uploadId", id}}), bytes_of(parts));
    // An answer with a success status may contain an error, and if the upload was completed by an
    // earlier attempt, the repeated one fails.
    if (is_good(done) && !parse_error(done.body)) return;
    if (done.status == 404) {
      if (const auto info = head(key); info && info->bytes == bytes) return;
    }
    fail("write", key, done);
  }

  void abandon(const std::string& key, const std::string& id) {
    const Response response = send(request("DELETE", key, {{"uploadId", id}}), {});
    if (!is_good(response) && response.status != 404) fail("give up", key, response);
  }

  [[noreturn]] void fail(const char* what, const std::string& key, const Response& response) const {
    const std::string where = fmt::format("{}{}{}", url_, key.empty() ? "" : "/", key);
    const auto error = parse_error(response.body);
    const std::string code = error ? error->code : "";
    if (response.status == 0) {
      const std::string tried =
          response.attempts > 1
              ? fmt::format(" ({} attempts in {} s)", response.attempts, response.waited.count())
              : "";
      const std::string message = fmt::format("cannot {} {}: {} does not answer: {}{}", what, where,
                                              origin_, response.failure, tried);
      if (!response.is_passing) {
        throw Error(message +
                    (response.is_untrusted
                         ? ": AWS_CA_BUNDLE names the file of the certificates that are trusted"
                         : ""));
      }
      throw Unreachable(message);
    }
    if (code == "NoSuchBucket") {
      throw NotFound(fmt::format("there is no bucket {} at {}", place_.bucket, settings_.endpoint));
    }
    if (response.status == 404) throw NotFound(fmt::format("there is no {}", where));
    const std::string message = fmt::format("cannot {} {}: the server says {}{}{}", what, where,
                                            response.status, code.empty() ? "" : " " + code,
                                            remedy(response, code, region_of(response, error)));
    if (may_pass(response, code)) throw Unreachable(message);
    throw Error(message);
  }

  /// Returns the region that the server names in its headers or answer; empty if none.
  static std::string region_of(const Response& response, const std::optional<S3Error>& error) {
    const auto header = response.headers.find("x-amz-bucket-region");
    std::string region = header != response.headers.end() ? header->second
                         : error                          ? error->region
                                                          : "";
    constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const bool sensible = region.size() <= 40 && region.find_first_not_of(kAllowed) == region.npos;
    return sensible ? region : "";
  }

  std::string remedy(const Response& response, const std::string& code,
                     const std::string& region) const {
    if (!region.empty() && region != settings_.region) {
      return fmt::format(": the bucket is in {}: set AWS_REGION={}", region, region);
    }
    if (code == "RequestTimeTooSkewed" || code == "RequestExpired") {
      return ": the clock here is wrong, or the server's is: set it";
    }
    if (code == "SignatureDoesNotMatch" || code == "InvalidAccessKeyId") {
      return ": the access key, its secret or the region is wrong (AWS_ACCESS_KEY_ID, "
             "AWS_SECRET_ACCESS_KEY, AWS_PROFILE, AWS_REGION)";
    }
    if (code == "ExpiredToken" || code == "InvalidToken") {
      return ": the session has ended: get new credentials (AWS_SESSION_TOKEN)";
    }
    if (response.status >= 300 && response.status < 400) {
      return ": it sends elsewhere, where Flor does not follow: give the right endpoint "
             "(AWS_ENDPOINT_URL) and region (AWS_REGION)";
    }
    if (response.status == 403) return ": these credentials may not do so, or are wrong";
    if (code == "AuthorizationHeaderMalformed" || code == "IllegalLocationConstraintException") {
      return fmt::format(": the region {} may be wrong (AWS_REGION)", settings_.region);
    }
    return "";
  }

  S3Place place_;
  S3Settings settings_;
  S3Limits limits_;
  HttpClient http_;
  std::string url_, host_, base_path_, origin_;
  /// Whether the server refuses to replace an object if the condition asks for that.
  enum class Answer : std::uint8_t { unknown, yes, no };
  std::atomic<Answer> refuses_{Answer::unknown};
};

}  // namespace

S3Place parse_s3_url(std::string_view url) {
  constexpr std::string_view kScheme = "s3://";
  const auto wrong = [&](const char* what) {
    return UsageError(fmt::format("'{}' {}: give s3://bucket/prefix", std::string(url), what));
  };
  if (!url.starts_with(kScheme)) throw wrong("is no place in S3");
  std::string_view rest = url.substr(kScheme.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  S3Place place{std::string(rest.substr(0, slash)), ""};
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789.-_";
  if (place.bucket.size() < 3 || place.bucket.find_first_not_of(kAllowed) != std::string::npos) {
    throw wrong("names no bucket");
  }
  rest.remove_prefix(slash);
  while (!rest.empty() && rest.front() == '/') rest.remove_prefix(1);
  while (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  // Clients and servers would normalize such paths differently.
  const std::string whole = fmt::format("/{}/", rest);
  for (const char* part : {"//", "/./", "/../"}) {
    if (!rest.empty() && whole.find(part) != whole.npos) throw wrong("has a part that cannot be");
  }
  if (!is_utf8(rest)) throw wrong("has a prefix that is not UTF-8");
  if (!rest.empty()) place.prefix = std::string(rest) + "/";
  return place;
}

std::unique_ptr<ObjectStore> open_s3(const S3Place& place, const S3Settings& settings,
                                     const S3Limits& limits) {
  return std::make_unique<S3Objects>(place, settings, limits);
}

}  // namespace flor::remote
