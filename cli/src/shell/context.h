// Gives every command the global options, the store, and the outputs.
#pragma once

#include "output/color.h"
#include "output/stream.h"

#include <flor/store/store.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

struct GlobalOptions {
  std::string home;
  std::string color = "auto";
  bool json = false;
};

class Context {
 public:
  Context(const GlobalOptions& options, Output& out);

  bool json() const { return options_.json; }
  Output& out() { return out_; }
  const Style& style() const { return style_; }
  /// The time at which the command began, in microseconds of Unix time.
  std::int64_t now_us() const { return now_us_; }

  /// The store, opened at the first call. Throws NotFound with the remedy if there is none.
  const store::Store& store();
  const store::Catalog& catalog() { return store().catalog(); }
  /// The same store, opened for writing. Few commands need it.
  store::Store& store_to_change(store::OpenMode mode = store::OpenMode::existing);

  /// Where the store is, whether there is one or not.
  std::filesystem::path home() const;

  /// Prints one line for the user on stderr.
  void note(std::string_view text);

 private:
  GlobalOptions options_;
  Output& out_;
  Style style_;
  std::int64_t now_us_;
  std::shared_ptr<store::Store> open(store::OpenMode mode) const;

  std::shared_ptr<store::Store> store_;
  std::shared_ptr<store::Store> store_to_change_;
};

}  // namespace flor::cli
