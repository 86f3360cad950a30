// What every command shares.
#include "context.h"

#include "output/text.h"
#include "output/time.h"

#include <fmt/format.h>

#include <cstdio>

namespace flor::cli {

Context::Context(const GlobalOptions& options, Output& out)
    : options_(options),
      out_(out),
      style_(parse_color(options.color), out.is_terminal()),
      now_us_(cli::now_us()) {}

const store::Store& Context::store() {
  if (!store_) {
    const std::filesystem::path home = store::home_directory(options_.home);
    try {
      store_ = store::Store::open(home, store::OpenMode::read_only);
    } catch (const NotFound&) {
      throw NotFound(fmt::format("no store at {}: record a run with --flor NAME first",
                                 printable(home.string())));
    }
  }
  return *store_;
}

void Context::note(std::string_view text) {
  // Results that were printed before belong in front of the remark.
  out_.flush();
  fmt::print(stderr, "flor: {}\n", printable(text));
}

}  // namespace flor::cli
