#include "protocol/plugin_file.h"

#include <flor/plugin/probe.h>
#include <flor/store/digest.h>
#include <flor/store/error.h>

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

namespace flor::detail {
namespace {

/// The text between "flor-probe-NAME=" and ';' in a plug-in's file; nothing if it is not there.
std::optional<std::string> mark(std::string_view content, std::string_view name) {
  const std::string begin = fmt::format("flor-probe-{}=", name);
  for (std::size_t at = content.find(begin); at != content.npos; at = content.find(begin, at + 1)) {
    constexpr std::size_t kLongest = 40;
    const std::string_view text = content.substr(at + begin.size(), kLongest);
    const std::size_t end = text.find_first_not_of("0123456789.abcdefghijklmnopqrstuvwxyz+-");
    if (end != text.npos && end > 0 && text[end] == ';') return std::string(text.substr(0, end));
  }
  return std::nullopt;
}

}  // namespace

PluginFile read_plugin_file(const std::filesystem::path& path) {
  PluginFile file{
      .path = std::filesystem::absolute(path).lexically_normal(), .digest = {}, .libtorch = {}};
  std::error_code error;
  if (!std::filesystem::exists(file.path, error)) {
    throw NotFound(fmt::format("plug-in {}: there is no such file", path.string()));
  }
  std::ifstream in(file.path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  if (!in || !content.starts_with("\x7f"
                                  "ELF")) {
    throw UsageError(fmt::format(
        "plug-in {}: it is no shared library: compile it with -shared -fPIC", path.string()));
  }
  const auto interface = mark(content, "interface");
  if (!interface) {
    throw UsageError(fmt::format(
        "plug-in {}: it is no plug-in of Flor: include <flor/plugin/probe.h> and define flor_probe",
        path.string()));
  }
  if (*interface != FLOR_PROBE_TEXT(FLOR_PROBE_INTERFACE)) {
    throw UsageError(fmt::format(
        "plug-in {}: it was built for interface {} of Flor's plug-ins, here it is {}: build it "
        "with the <flor/plugin/probe.h> of the Flor that is used here",
        path.string(), *interface, FLOR_PROBE_INTERFACE));
  }
  file.libtorch = mark(content, "libtorch").value_or("");
  file.digest = store::item_digest(std::as_bytes(std::span(content))).hex();
  return file;
}

}  // namespace flor::detail
