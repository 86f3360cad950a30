#include "serve/page_file.h"

#include "serve/page.h"  // generated

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

/// JSON for a script element: no text in it can end the element.
std::string json_for_html(const Json& data) {
  std::string text;
  for (const char c : compact(data)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

/// The page with policy and data inserted at its marks.
std::string filled(std::string_view policy, const Json& data) {
  if (!has_page()) {
    throw Error(
        "this flor was built without its page, because uPlot could not be had: install npm, "
        "or give cmake -DFLOR_UPLOT=DIRECTORY, and build it again");
  }
  constexpr std::string_view kPolicyMark = "<!--flor:policy-->", kDataMark = "<!--flor:data-->";
  const std::size_t first = kPage.find(kPolicyMark), second = kPage.find(kDataMark);
  std::string page(kPage.substr(0, first));
  if (!policy.empty()) {
    page += fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">", policy);
  }
  page += kPage.substr(first + kPolicyMark.size(), second - first - kPolicyMark.size());
  page += json_for_html(data);
  page += kPage.substr(second + kDataMark.size());
  return page;
}

}  // namespace

bool has_page() { return !kPage.empty(); }

std::string page_with(const Json& data) { return filled({}, data); }

std::string page_as_file(const Json& data) {
  return filled(fmt::format("default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; "
                            "base-uri 'none'; form-action 'none'",
                            kScriptHash, kStyleHash),
                data);
}

std::string_view page_policy() {
  static const std::string policy = fmt::format(
      "default-src 'none'; script-src '{}'; style-src '{}'; img-src 'self' data:; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      kScriptHash, kStyleHash);
  return policy;
}

}  // namespace flor::cli
