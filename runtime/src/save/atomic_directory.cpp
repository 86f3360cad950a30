#include "file/new_file.h"
#include "save/checkpoint_names.h"

#include <flor/data/sample_order.h>
#include <flor/save/atomic_directory.h>
#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>

namespace flor {
namespace {

namespace fs = std::filesystem;
using detail::CheckpointName;
using detail::CheckpointNames;

constexpr std::array kStrategies{std::pair{SaveStrategy::sync_any, std::string_view("sync_any")},
                                 std::pair{SaveStrategy::sync_all, std::string_view("sync_all")},
                                 std::pair{SaveStrategy::async, std::string_view("async")},
                                 std::pair{SaveStrategy::single, std::string_view("single")}};

/// The code that a rank reports to the others if its failure has no error number.
constexpr std::int64_t kOtherFailure = -1;

[[noreturn]] void fail(const char* what, const fs::path& path, int error) {
  throw std::system_error(error, std::generic_category(),
                          fmt::format("cannot {} {}", what, path.string()));
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags, const char* what) {
    do number_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    while (number_ < 0 && errno == EINTR);
    if (number_ < 0) fail(what, path, errno);
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_ = -1;
};

void sync(const fs::path& path, int flags) {
  const Descriptor descriptor(path, flags, "open");
  while (::fsync(descriptor.number()) != 0) {
    if (errno != EINTR) fail("sync", path, errno);
  }
}
void sync_directory(const fs::path& path) { sync(path, O_RDONLY | O_DIRECTORY); }

void sync_tree(const fs::path& directory);

void sync_entry(const fs::directory_entry& entry) {
  if (entry.is_symlink()) return;
  if (entry.is_directory()) {
    sync_tree(entry.path());
  } else if (entry.is_regular_file()) {
    sync(entry.path(), O_RDONLY);
  }
}

/// Syncs everything in `directory`, then the directory. A file that was removed meanwhile is not
/// part of the checkpoint.
void sync_tree(const fs::path& directory) {
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    try {
      sync_entry(entry);
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::no_such_file_or_directory) throw;
    }
  }
  sync_directory(directory);
}

std::string new_token() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) {
    number = detail::mix64(
        static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
        static_cast<std::uint64_t>(::getpid()));
  }
  return std::to_string(number >> 2);  // fits into the numbers that ranks exchange
}

std::vector<SavedDirectory> list(const fs::path& directory, const CheckpointNames& names) {
  std::vector<SavedDirectory> found;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, missing)) {
    const auto name = names.parse_complete(entry.path().filename().string());
    if (!name || entry.is_symlink() || !entry.is_directory()) continue;
    found.push_back({name->index, name->forced, entry.path()});
  }
  std::ranges::sort(found, {},
                    [](const SavedDirectory& d) { return std::pair(d.index, d.forced); });
  return found;
}

}  // namespace

std::string_view to_string(SaveStrategy strategy) {
  return std::ranges::find(kStrategies, strategy, &decltype(kStrategies)::value_type::first)
      ->second;
}

SaveStrategy parse_save_strategy(std::string_view name) {
  for (const auto& [strategy, known] : kStrategies) {
    if (known == name) return strategy;
  }
  throw Error(
      fmt::format("there is no strategy '{}' of saving: use one of sync_any, sync_all, "
                  "async, single",
                  name));
}

/// The files of one saver, in one process. Throws std::system_error.
class AtomicDirectory::Files {
 public:
  Files(fs::path directory, std::string name, bool writes)
      : directory_(std::move(directory)), names_(std::move(name)), writes_(writes) {}

  /// Whether this is the process that changes the directory.
  bool writes() const { return writes_; }
  const fs::path& directory() const { return directory_; }
  std::vector<SavedDirectory> checkpoints() const { return list(directory_, names_); }
  fs::path partial(const std::string& token) const { return directory_ / names_.partial(token); }

  void open() {
    fs::create_directories(directory_);
    sync_directory(directory_);
    store::sync_names_above(directory_);
    lock_.emplace(directory_ / names_.lock(), O_RDWR | O_CREAT, "create");
    if (::flock(lock_->number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) fail("lock", directory_ / names_.lock(), errno);
      throw Busy(
          fmt::format("another process saves checkpoints under the same name ({}): give this "
                      "saver another name or directory",
                      (directory_ / names_.link()).string()));
    }
    refuse_foreign();
  }

  /// Makes a new directory to write into.
  CheckpointName begin(const std::string& token, bool forced) {
    clean();
    const auto all = checkpoints();
    const CheckpointName name{.index = all.empty() ? 0 : all.back().index + 1, .forced = forced};
    fs::create_directory(partial(token));
    return name;
  }

  void publish(const std::string& token, const CheckpointName& name, int keep_last) {
    const fs::path path = directory_ / names_.complete(name);
    if (::rename(partial(token).c_str(), path.c_str()) != 0) fail("create", path, errno);
    sync_directory(directory_);
    set_link(path.filename());
    if (keep_last > 0) delete_old(keep_last);
  }

  fs::path path_of(const CheckpointName& name) const { return directory_ / names_.complete(name); }

 private:
  /// Refuses a link with an absolute path. Programs that name a checkpoint before it is complete
  /// make such links, so their checkpoints may be incomplete.
  void refuse_foreign() const {
    std::error_code none;
    const fs::path target = fs::read_symlink(directory_ / names_.link(), none);
    if (none || !target.is_absolute()) return;
    const auto linked = names_.parse_complete(target.filename().string());
    for (const SavedDirectory& saved : checkpoints()) {
      if (linked && saved.index <= linked->index) continue;
      throw Error(
          fmt::format("{} was written by another program and may be incomplete, since its "
                      "link does not lead there: delete it or move it away",
                      saved.path.string()));
    }
  }

  /// Removes what a crash has left, and corrects the link.
  void clean() {
    std::vector<fs::path> leftovers;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory_)) {
      if (names_.is_leftover(entry.path().filename().string())) leftovers.push_back(entry.path());
    }
    for (const fs::path& path : leftovers) fs::remove_all(path);
    const auto all = checkpoints();
    std::error_code none;
    if (all.empty()) {
      fs::remove(directory_ / names_.link(), none);
    } else if (fs::read_symlink(directory_ / names_.link(), none) != all.back().path.filename()) {
      set_link(all.back().path.filename());
    }
  }

  void set_link(const fs::path& target) {
    const fs::path fresh = directory_ / names_.new_link(new_token());
    fs::create_symlink(target, fresh);
    const fs::path link = directory_ / names_.link();
    if (::rename(fresh.c_str(), link.c_str()) != 0) fail("replace", link, errno);
    sync_directory(directory_);
  }

  /// Deletes old checkpoints. A directory durably loses its name before it loses any of its files.
  void delete_old(int keep_last) {
    std::vector<SavedDirectory> all = checkpoints();
    std::erase_if(all, [](const SavedDirectory& saved) { return saved.forced; });
    std::vector<fs::path> renamed;
    for (std::size_t i = 0; i + static_cast<std::size_t>(keep_last) < all.size(); ++i) {
      fs::path trash = directory_ / names_.removed(new_token());
      if (::rename(all[i].path.c_str(), trash.c_str()) == 0) renamed.push_back(std::move(trash));
    }
    if (renamed.empty()) return;
    sync_directory(directory_);
    std::error_code ignored;  // what remains is removed by the next `clean`
    for (const fs::path& path : renamed) fs::remove_all(path, ignored);
  }

  fs::path directory_;
  CheckpointNames names_;
  bool writes_;
  std::optional<Descriptor> lock_;
};

/// The checkpoint that has been begun.
struct AtomicDirectory::Begun {
  std::string token;
  CheckpointName name;
};

namespace {

/// The error number of an exception that `body` threw, and the exception.
struct Outcome {
  std::int64_t number = 0;
  std::exception_ptr error;
};

Outcome attempt(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const std::system_error& error) {
    return {error.code().value() > 0 ? error.code().value() : kOtherFailure,
            std::make_exception_ptr(Error(error.what()))};
  } catch (const std::exception&) {
    return {kOtherFailure, std::current_exception()};
  }
}

/// Calls `body` on this rank, and throws on all ranks if it failed on any.
void together(Group* group, const char* what, const std::function<void()>& body) {
  const Outcome mine = attempt(body);
  if (!group) {
    if (mine.error) std::rethrow_exception(mine.error);
    return;
  }
  const std::vector<std::int64_t> all = group->all_gather(mine.number);
  if (mine.error) std::rethrow_exception(mine.error);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == 0) continue;
    const std::string reason = all[rank] > 0
                                   ? std::generic_category().message(static_cast<int>(all[rank]))
                                   : "see what that rank says";
    throw Error(fmt::format("rank {} could not {}: {}", rank, what, reason));
  }
}

/// Waits for a directory that another rank has made, which may take a moment on a network file
/// system.
void wait_for(const fs::path& directory) {
  constexpr auto kPatience = std::chrono::seconds(30);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!fs::is_directory(directory)) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw Error(
          fmt::format("{} was created by rank 0, but is not seen here: do all ranks share "
                      "that file system?",
                      directory.string()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::int64_t digest_of(const AtomicDirectoryOptions& options) {
  std::uint64_t digest = static_cast<std::uint64_t>(options.keep_last);
  digest = detail::mix64(digest ^ static_cast<std::uint64_t>(options.strategy));
  for (const char c : options.name) digest = detail::mix64(digest ^ static_cast<std::uint8_t>(c));
  return static_cast<std::int64_t>(digest >> 1);
}

void check_agreement(Group& group, const AtomicDirectoryOptions& options) {
  const std::int64_t mine = digest_of(options);
  const auto all = group.all_gather(mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw Error(
        fmt::format("rank {} saves with other options than rank 0: all ranks need the same "
                    "name, strategy and keep_last (here '{}', {}, {})",
                    rank, options.name, to_string(options.strategy), options.keep_last));
  }
}

}  // namespace

AtomicDirectory::AtomicDirectory(fs::path directory, Group& group, AtomicDirectoryOptions options)
    : all_(&group), options_(std::move(options)) {
  const bool alone = options_.strategy == SaveStrategy::single;
  if (alone && group.size() > 1) {
    throw Error(
        "the strategy 'single' is for one process, not for a group: use sync_any, sync_all "
        "or async");
  }
  check_agreement(group, options_);
  const bool own = alone || options_.strategy == SaveStrategy::async;
  if (!own) group_ = &group;
  std::string name = options_.name;
  if (options_.strategy == SaveStrategy::async) name += fmt::format("_rank_{}", group.rank());
  together(&group, "open the directory of checkpoints", [&] {
    if (options_.keep_last < 0) {
      throw Error(fmt::format("keep_last is {}: keep at least one checkpoint, or all with 0",
                              options_.keep_last));
    }
    files_ = std::make_unique<Files>(std::move(directory), name, own || group.rank() == 0);
    if (files_->writes()) files_->open();
  });
}

AtomicDirectory::AtomicDirectory(fs::path directory, AtomicDirectoryOptions options)
    : options_(std::move(options)) {
  options_.strategy = SaveStrategy::single;
  if (options_.keep_last < 0) {
    throw Error(fmt::format("keep_last is {}: keep at least one checkpoint, or all with 0",
                            options_.keep_last));
  }
  files_ = std::make_unique<Files>(std::move(directory), options_.name, true);
  together(nullptr, "", [&] { files_->open(); });
}

AtomicDirectory::~AtomicDirectory() = default;

fs::path AtomicDirectory::prepare(bool force_save) {
  bool forced = force_save;
  if (group_) {
    const auto votes = group_->all_gather(force_save ? 1 : 0);
    const auto yes = std::ranges::count(votes, 1);
    forced = options_.strategy == SaveStrategy::sync_any ? yes > 0 : yes == std::ssize(votes);
  }
  begun_.reset();
  Begun begun{.token = new_token(), .name = {.index = 0, .forced = forced}};
  together(group_, "begin a checkpoint", [&] {
    if (files_->writes()) begun.name = files_->begin(begun.token, forced);
  });
  if (group_) {
    const std::array mine{static_cast<std::int64_t>(std::stoull(begun.token)), begun.name.index};
    const auto all = group_->all_gather(mine);
    begun.token = std::to_string(all[0]);
    begun.name.index = all[1];
    together(group_, "see the new checkpoint", [&] { wait_for(files_->partial(begun.token)); });
  }
  begun_ = std::make_unique<Begun>(std::move(begun));
  return files_->partial(begun_->token);
}

fs::path AtomicDirectory::commit() {
  const std::unique_ptr<Begun> begun = std::move(begun_);
  // No rank reads the directory before all have written, since files in it still change their
  // names.
  together(group_, "finish its part of the checkpoint", [&] {
    if (!begun) throw Error("commit() without prepare(): there is no checkpoint to complete");
  });
  together(group_, "make the checkpoint durable",
           [&] { sync_tree(files_->partial(begun->token)); });
  together(group_, "complete the checkpoint", [&] {
    if (files_->writes()) files_->publish(begun->token, begun->name, options_.keep_last);
  });
  return files_->path_of(begun->name);
}

std::vector<SavedDirectory> AtomicDirectory::checkpoints() const { return files_->checkpoints(); }

std::optional<fs::path> AtomicDirectory::latest() const {
  auto all = files_->checkpoints();
  if (all.empty()) return std::nullopt;
  return std::move(all.back().path);
}

std::optional<std::int64_t> AtomicDirectory::latest_common() {
  std::vector<std::int64_t> own;
  for (const SavedDirectory& saved : checkpoints()) own.push_back(saved.index);
  // Each rank takes its newest index that is not above the bound; the smallest of these is the next
  // bound.
  for (std::int64_t bound = INT64_MAX;;) {
    while (!own.empty() && own.back() > bound) own.pop_back();
    const std::int64_t mine = own.empty() ? -1 : own.back();
    const auto all = all_ ? all_->all_gather(mine) : std::vector{mine};
    const auto [least, most] = std::ranges::minmax(all);
    if (least < 0) return std::nullopt;
    if (least == most) return least;
    bound = least;
  }
}

std::optional<fs::path> latest_checkpoint(const fs::path& directory, std::string_view name) {
  auto all = list(directory, CheckpointNames(std::string(name)));
  if (all.empty()) return std::nullopt;
  return std::move(all.back().path);
}

}  // namespace flor
