// The page as it is built into the executable: one HTML file with its style, its script and uPlot.
#pragma once

#include "output/json.h"

#include <string>
#include <string_view>

namespace flor::cli {

/// False if this flor was built without uPlot: then it has no page.
bool has_page();
/// The page with `data` in it, which its script reads at the start. Throws Error without a page.
std::string page_with(const Json& data);
/// The same as a standalone file, with a policy of its own that allows no network at all.
std::string page_as_file(const Json& data);
/// The Content-Security-Policy of the page: its own script and style, and no network but its own
/// server.
std::string_view page_policy();

}  // namespace flor::cli
