#include "remote/objects/s3/http_client.h"

#include "base/late_library.h"

#include <flor/store/error.h>

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <mutex>
#include <string_view>

namespace flor::remote {
namespace {

constexpr long kConnectSeconds = 15;
/// A transfer with fewer bytes per second than this counts as silent.
constexpr long kSilentBytes = 100;

/// Limit of the memory that is reserved for an answer, whatever length the server announces.
constexpr std::uint64_t kReservedMax = std::uint64_t{64} << 20;

#define FLOR_CURL_FUNCTIONS(F) \
  F(global_init);              \
  F(easy_init);                \
  F(easy_cleanup);             \
  F(easy_reset);               \
  F(easy_setopt);              \
  F(easy_getinfo);             \
  F(easy_perform);             \
  F(easy_strerror);            \
  F(slist_append);             \
  F(slist_free_all)

/// The functions of libcurl that are used, loaded at run time.
struct Curl {
#define FLOR_CURL(name) library.load(name, "curl_" #name)
  Curl() {
    FLOR_CURL_FUNCTIONS(FLOR_CURL);
    if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw Error("libcurl cannot be started");
  }
#undef FLOR_CURL

  store::LateLibrary library{
      "libcurl.so.4", "an object store needs libcurl, which is not installed: install libcurl4"};
#define FLOR_CURL(name) decltype(&curl_##name) name = nullptr
  FLOR_CURL_FUNCTIONS(FLOR_CURL);
#undef FLOR_CURL
};

const Curl& library() {
  static const Curl loaded;
  return loaded;
}

struct HeaderList {
  ~HeaderList() { library().slist_free_all(list); }
  void add(const std::string& line) { list = library().slist_append(list, line.c_str()); }
  curl_slist* list = nullptr;
};

struct Upload {
  std::span<const std::byte> left;
  std::span<const std::byte> all;
};

std::size_t read_body(char* to, std::size_t size, std::size_t count, void* data) {
  auto& upload = *static_cast<Upload*>(data);
  const std::size_t bytes = std::min(size * count, upload.left.size());
  std::memcpy(to, upload.left.data(), bytes);
  upload.left = upload.left.subspan(bytes);
  return bytes;
}

/// Called by libcurl when it sends a request again because a kept connection was closed.
int seek_body(void* data, curl_off_t offset, int origin) {
  auto& upload = *static_cast<Upload*>(data);
  if (origin != SEEK_SET || offset < 0 || static_cast<std::size_t>(offset) > upload.all.size()) {
    return CURL_SEEKFUNC_FAIL;
  }
  upload.left = upload.all.subspan(static_cast<std::size_t>(offset));
  return CURL_SEEKFUNC_OK;
}

/// An answer that is being received, and its maximal length.
struct Download {
  Response& response;
  std::uint64_t most;
};

std::size_t write_body(char* from, std::size_t size, std::size_t count, void* data) {
  const auto& download = *static_cast<Download*>(data);
  auto& body = download.response.body;
  const auto bytes = std::as_bytes(std::span(from, size * count));
  if (body.size() + bytes.size() > download.most) {
    download.response.is_too_long = true;
    return 0;  // tells libcurl to end the transfer
  }
  body.insert(body.end(), bytes.begin(), bytes.end());
  return bytes.size();
}

std::size_t write_header(char* from, std::size_t size, std::size_t count, void* data) {
  const auto& download = *static_cast<Download*>(data);
  Response& response = download.response;
  std::string_view line(from, size * count);
  if (line.starts_with("HTTP/")) response.headers.clear();
  if (const std::size_t colon = line.find(':'); colon != line.npos) {
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && std::strchr(" \r\n", value.front())) value.remove_prefix(1);
    while (!value.empty() && std::strchr(" \r\n", value.back())) value.remove_suffix(1);
    response.headers[name] = value;
    if (name == "content-length") {
      const std::uint64_t length = std::strtoull(response.headers[name].c_str(), nullptr, 10);
      response.body.reserve(std::min({length, download.most, kReservedMax}));
    }
  }
  return size * count;
}

}  // namespace

struct HttpClient::Handle {
  Handle() : curl(library().easy_init()) {
    if (!curl) throw Error("libcurl cannot be started");
  }
  ~Handle() { library().easy_cleanup(curl); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  CURL* curl;
};

struct HttpClient::Impl {
  std::string ca_bundle;
  long silent_seconds = 0;
  std::mutex mutex;
  std::vector<std::unique_ptr<Handle>> idle;
};

HttpClient::HttpClient(std::string ca_bundle, std::chrono::seconds silence)
    : impl_(std::make_unique<Impl>()) {
  library();  // throws now if libcurl is missing
  impl_->ca_bundle = std::move(ca_bundle);
  impl_->silent_seconds = static_cast<long>(silence.count());
}

HttpClient::~HttpClient() = default;

std::unique_ptr<HttpClient::Handle> HttpClient::take() {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->idle.empty()) return std::make_unique<Handle>();
  auto handle = std::move(impl_->idle.back());
  impl_->idle.pop_back();
  return handle;
}

void HttpClient::give_back(std::unique_ptr<Handle> handle) {
  library().easy_reset(handle->curl);  // keeps the connection open
  const std::lock_guard lock(impl_->mutex);
  impl_->idle.push_back(std::move(handle));
}

Response HttpClient::send(const std::string& origin, const Request& request,
                          std::span<const std::byte> body, std::uint64_t most) {
  auto handle = take();
  CURL* curl = handle->curl;
  const auto set = library().easy_setopt;
  Response response;
  HeaderList headers;
  for (const auto& [name, value] : request.headers) headers.add(name + ": " + value);
  // Disabled: waiting for "100 Continue" would cost a round trip per object.
  headers.add("Expect:");
  std::string url = origin + encode(request.path, true);
  if (!request.parameters.empty()) {
    url += '?';
    url += encode(request.parameters);
  }
  Upload upload{body, body};
  Download download{response, most};
  std::array<char, CURL_ERROR_SIZE> reason{};
  set(curl, CURLOPT_URL, url.c_str());
  // Sent unchanged, because the path was signed in this form.
  set(curl, CURLOPT_PATH_AS_IS, 1L);
  set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  set(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  set(curl, CURLOPT_NOSIGNAL, 1L);
  set(curl, CURLOPT_ERRORBUFFER, reason.data());
  set(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(curl, CURLOPT_LOW_SPEED_LIMIT, kSilentBytes);
  set(curl, CURLOPT_LOW_SPEED_TIME, impl_->silent_seconds);
  set(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  constexpr long kBuffer = 512L << 10;
  set(curl, CURLOPT_BUFFERSIZE, kBuffer);
  set(curl, CURLOPT_UPLOAD_BUFFERSIZE, kBuffer);
  set(curl, CURLOPT_HTTPHEADER, headers.list);
  set(curl, CURLOPT_WRITEFUNCTION, write_body);
  set(curl, CURLOPT_WRITEDATA, &download);
  set(curl, CURLOPT_HEADERFUNCTION, write_header);
  set(curl, CURLOPT_HEADERDATA, &download);
  if (!impl_->ca_bundle.empty()) set(curl, CURLOPT_CAINFO, impl_->ca_bundle.c_str());
  if (request.method == "HEAD") {
    set(curl, CURLOPT_NOBODY, 1L);
  } else if (request.method == "PUT" || request.method == "POST") {
    set(curl, CURLOPT_UPLOAD, 1L);
    set(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(body.size()));
    set(curl, CURLOPT_READFUNCTION, read_body);
    set(curl, CURLOPT_READDATA, &upload);
    set(curl, CURLOPT_SEEKFUNCTION, seek_body);
    set(curl, CURLOPT_SEEKDATA, &upload);
  }
  set(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  const CURLcode code = library().easy_perform(curl);
  if (code == CURLE_OK || response.is_too_long) {
    long status = 0;
    library().easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    response.status = static_cast<int>(status);
    if (code == CURLE_OK) give_back(std::move(handle));
  } else {
    // A connection that failed is not used again.
    response.failure = reason.front() ? reason.data() : library().easy_strerror(code);
    response.is_untrusted =
        code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
    response.is_passing =
        !response.is_untrusted && code != CURLE_URL_MALFORMAT && code != CURLE_UNSUPPORTED_PROTOCOL;
    response.is_final = !response.is_passing || code == CURLE_COULDNT_RESOLVE_HOST;
  }
  return response;
}

}  // namespace flor::remote
