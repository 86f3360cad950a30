// Fuzz target of journals that say anything at all. Input: events, one after another, as
//   u8 bit 0: of a second writer; bit 1: of another run; u8 kind, u16 length, the payload.
// They are sealed into journals, beside the packs of a small store, and its index is made of them,
// twice: both say the same, everything that they say is read, and `check` comes to its end.
#include "base/little_endian.h"
#include "index/refresh.h"
#include "journal/run_journal.h"
#include "store/golden_text.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <regex>
#include <span>
#include <string>

namespace flor::fuzz::journal_target {
namespace {

namespace fs = std::filesystem;
using namespace flor::store;

/// A home in memory that has the packs of the golden store.
class Home {
 public:
  Home() {
    std::string pattern = (fs::exists("/dev/shm") ? "/dev/shm" : "/tmp");
    pattern += "/flor-fuzz-XXXXXX";
    if (!::mkdtemp(pattern.data())) std::abort();
    path_ = pattern;
    fs::create_directories(path_ / "locks");
    fs::copy(FLOR_GOLDEN_PACKS, path_ / "packs", fs::copy_options::recursive);
  }
  ~Home() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  void write_journals(std::span<const std::byte> input) const {
    fs::remove_all(path_ / "runs");
    std::map<int, std::unique_ptr<RunJournal>> journals;
    while (input.size() >= 4) {
      const int writer = static_cast<int>(input[0]) & 3;
      const auto kind = static_cast<EventKind>(input[1]);
      const std::size_t length = get<std::uint16_t>(input.subspan(2));
      input = input.subspan(4);
      const auto payload = input.first(std::min(length, input.size()));
      input = input.subspan(payload.size());
      auto& journal = journals[writer];
      if (!journal) {
        const char* key = writer & 2 ? "00000000000000aa" : "3f1da824fe835e02";
        journal = std::make_unique<RunJournal>(Filesystem::system(), Paths{path_}, key);
      }
      journal->append(kind, payload);
    }
    for (const auto& [writer, journal] : journals) {
      journal->flush();
      journal->keep();
      journal->withdraw_announcement();
    }
  }

  /// All that is said, or why it cannot be.
  std::string read_all() const {
    try {
      for (const std::string& line : rebuild(Paths{path_}, Filesystem::system()).damage) {
        if (line.find('\n') != line.npos) std::abort();
      }
      const auto store = Store::open(path_, OpenMode::read_only);
      check(*store, true);
      // What is lost counts as deleted when that is found.
      static const std::regex found("(discarded .* at )[0-9]+");
      return std::regex_replace(golden_runs(*store), found, "$1");
    } catch (const flor::Error& error) {
      return error.what();
    }
  }

 private:
  fs::path path_;
};

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  static const Home home;
  home.write_journals(std::as_bytes(std::span(data, size)));
  const std::string once = home.read_all(), again = home.read_all();
  if (once != again) {
    std::fprintf(stderr, "once\n%s\nand then\n%s\n", once.c_str(), again.c_str());
    std::abort();
  }
  return 0;
}

}  // namespace flor::fuzz::journal_target
