// Writes a run as one HTML file: the page of flor serve with all its answers about that run.
#pragma once

#include "serve/page_api.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace flor::cli {

struct Report {
  std::string html = {};
  std::size_t curves = 0, pictures = 0;
};

/// Makes the report of `run` (RUN as the user writes it). The file needs no server, and its policy
/// forbids network. Throws NotFound, and Error if this flor has no page.
Report make_report(PageApi& api, std::string_view run, std::int64_t now_us);

}  // namespace flor::cli
