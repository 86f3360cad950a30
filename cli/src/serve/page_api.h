// The page and its questions: every answer of flor serve, without the HTTP around it. flor report
// asks the same questions and keeps the answers in a file.
#pragma once

#include "output/json.h"
#include "serve/curves.h"
#include "serve/http_server.h"
#include "serve/run_table.h"

#include <flor/store/store.h>

#include <filesystem>
#include <memory>
#include <string>

namespace flor::cli {

/// Thread-safe. docs/getting-at-the-data.md lists the questions.
class PageApi {
 public:
  /// `queue`: as `flor jobs --queue` takes it; empty: the queue in the home. Throws NotFound if
  /// there is no store.
  PageApi(const std::filesystem::path& home, std::string queue);

  /// The page under the path "", and answers to its questions under "api/...". Throws Error.
  Answer answer(const Ask& ask);
  /// The answer to a GET of a path below "api/".
  Json tell(const std::string& path, const std::map<std::string, std::string>& parameters);
  /// Reads the runs that the page shows first, so that they are ready for the first request.
  void warm_up();

  const store::Store& store() const { return *store_; }

 private:
  Answer page();
  Json change(const Ask& ask);
  Json pulse();

  std::shared_ptr<store::Store> store_;
  std::string queue_;
  RunTable table_;
  Curves curves_;
};

}  // namespace flor::cli
