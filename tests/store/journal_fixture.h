// What the tests of journals have in common.
#pragma once

#include "golden_text.h"
#include "journal/journal_reader.h"
#include "journal/run_journal.h"
#include "store_fixture.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace flor::store {

namespace fs = std::filesystem;

/// The whole index as if it were gone.
inline void remove_index(const std::filesystem::path& home) {
  for (const char* file : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
    std::filesystem::remove(home / file);
  }
}

/// Every line by itself, so that a difference is one line; without what evaluators found, which no
/// journal says.
inline std::vector<std::string> lines_of(const Store& store) {
  std::vector<std::string> lines;
  std::istringstream in(golden_runs(store));
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("evaluated by job")) lines.push_back(line);
  }
  return lines;
}

inline std::string difference(const std::vector<std::string>& one,
                              const std::vector<std::string>& other) {
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    const std::string a = i < one.size() ? one[i] : "(nothing)";
    const std::string b = i < other.size() ? other[i] : "(nothing)";
    if (a != b) return a + "\n is not \n" + b;
  }
  return {};
}

/// A run of this store, with as many arguments.
inline Run add_run_with_arguments(Store& store, int count) {
  const Run run = store.catalog().add_run(new_run());
  for (int i = 0; i < count; ++i) {
    store.catalog().add_argument(run.id, {"a" + std::to_string(i), "int", "1"});
  }
  return run;
}

inline std::vector<EventKind> kinds_of(const std::filesystem::path& journal) {
  JournalReader reader(Filesystem::system(), journal, {});
  std::vector<EventKind> kinds;
  while (const auto event = reader.next()) kinds.push_back(event->kind);
  return kinds;
}

inline std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

class JournalTest : public StoreTest {
 protected:
  void take_golden() {
    std::filesystem::copy(std::filesystem::path(FLOR_GOLDEN_STORES) / "format-2", home(),
                          std::filesystem::copy_options::recursive);
    expected_ = lines_of(*open(OpenMode::read_only));
    ASSERT_GT(expected_.size(), 100u);
  }
  std::vector<std::string> expected_;
};

}  // namespace flor::store
