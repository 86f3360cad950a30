// The state that every command shares.
#include "shell/context.h"

#include "output/terminal_text.h"
#include "output/time.h"

#include <fmt/format.h>


namespace flor::cli {

Context::Context(const GlobalOptions& options, Output& out)
    : options_(options),
      out_(out),
      style_(parse_color(options.color), out.is_terminal()),
      now_us_(cli::now_us()) {}

std::filesystem::path Context::home() const { return store::home_directory(options_.home); }

std::shared_ptr<store::Store> Context::open(store::OpenMode mode) const {
  const std::filesystem::path home = this->home();
  try {
    return store::Store::open(home, mode);
  } catch (const NotFound&) {
    throw NotFound(fmt::format("no store at {}: record a run with --flor NAME first",
                               printable(home.string())));
  }
}

const store::Store& Context::store() {
  if (!store_) store_ = open(store::OpenMode::read_only);
  return *store_;
}

store::Store& Context::store_to_change(store::OpenMode mode) {
  if (!store_to_change_) store_to_change_ = open(mode);
  return *store_to_change_;
}

void Context::note(std::string_view text) {
  // Results that were written earlier must appear before the remark.
  out_.flush();
  print_remark(text);
}

}  // namespace flor::cli
