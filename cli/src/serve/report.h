// One run as a file: the page of flor serve with all its answers about that run in it.
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

/// `run` as the user writes it. The file needs no server and no network: its policy forbids that.
/// Throws NotFound, and Error without a page.
Report make_report(PageApi& api, std::string_view run, std::int64_t now_us);

}  // namespace flor::cli
