// Answers the questions of the page, independently of HTTP. flor serve sends the answers; flor
// report writes them into a file.
#pragma once

#include "output/json.h"
#include "serve/curves.h"
#include "serve/http_server.h"
#include "serve/run_table.h"

#include <flor/store/store.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

namespace flor::cli {

/// Answers requests. Thread-safe. docs/getting-at-the-data.md lists the questions.
class PageApi {
 public:
  /// `queue`: as `flor jobs --queue` takes it; empty: the queue in the home. Throws NotFound if
  /// there is no store.
  PageApi(const std::filesystem::path& home, std::string queue);

  /// Answers a request: the path "" is the page, paths "api/..." are questions. Throws Error.
  HttpResponse answer(const HttpRequest& ask);
  /// The answer to a GET request; `path` is the part after "api/".
  Json tell(const std::string& path, const std::map<std::string, std::string>& parameters);
  /// Reads the runs that the page shows first, so that the first request is fast.
  void warm_up();

  /// Returns the store of this moment: a later request may open the home again.
  std::shared_ptr<const store::Store> store() { return view()->store; }

 private:
  /// An open store, and what is kept in memory of it.
  struct View {
    View(const std::filesystem::path& home, int number);

    const int number;  ///< counts the views of this object
    std::shared_ptr<store::Store> store;
    RunTable table;
    Curves curves;
  };

  /// Returns the view of the present index: a new one if another process has rebuilt the index.
  std::shared_ptr<View> view();
  HttpResponse page();
  Json change(const HttpRequest& ask);
  static Json pulse(View& view);

  const std::filesystem::path home_;
  const std::string queue_;
  std::mutex mutex_;  // guards view_
  std::shared_ptr<View> view_;
};

}  // namespace flor::cli
