// The page as it is built into the executable: one HTML file with style, script and the library
// uPlot.
#pragma once

#include "output/json.h"

#include <string>
#include <string_view>

namespace flor::cli {

/// Whether this flor has a page: not if it was built without uPlot.
bool has_page();
/// The page with `data` inserted, which its script reads at the start. Throws Error if there is no
/// page.
std::string page_with(const Json& data);
/// The page with `data` as a standalone file, whose content security policy allows no network at
/// all.
std::string page_as_file(const Json& data);
/// The Content-Security-Policy of the page: only its own script and style, and no network except
/// its own server.
std::string_view page_policy();

}  // namespace flor::cli
