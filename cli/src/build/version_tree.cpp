// VersionTree: chooses a tree and checks versions out in it. build_tools.cpp builds them.
#include "build/build_tools.h"
#include "build/git_worktree.h"
#include "build/version_build.h"
#include "file/home_files.h"
#include "output/terminal_text.h"
#include "output/time.h"

#include <flor/store/digest.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kTrees = 64;  // for one repository, at the same time

std::string digest_text(std::string_view text) {
  return store::digest_of(std::as_bytes(std::span(text))).hex();
}

std::string digest_edits(const Edits& edits) {
  if (edits.empty()) return "-";
  std::string text;
  for (const auto& [path, content] : edits) {
    text += fmt::format("{} {} {} {}\n", path.size(), path, content ? content->size() : 0,
                        content ? *content : "gone");
  }
  return digest_text(text);
}

std::optional<std::string> content_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

void check_path(const fs::path& path) {
  const bool leaves = std::ranges::any_of(path, [](const fs::path& part) { return part == ".."; });
  if (path.empty() || path.is_absolute() || leaves) {
    throw Error(fmt::format("{} is no path inside of a repository", printable(path.string())));
  }
}

void write_edit(const fs::path& file, const std::optional<std::string>& content) {
  if (!content) {
    fs::remove(file);
    return;
  }
  if (content_of(file) == content) return;
  std::error_code error;
  const fs::file_status before = fs::symlink_status(file, error);
  if (fs::exists(before) && !fs::is_regular_file(before)) fs::remove_all(file);
  fs::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(content->data(), static_cast<std::streamsize>(content->size()));
  if (!out.flush()) throw Error(fmt::format("cannot write {}", printable(file.string())));
}

/// The name of the directory for a repository's trees, readable and unique: "project-1a2b3c4d".
std::string directory_name(const git::Repository& repository) {
  const std::string common =
      run_git(repository.work_tree(), {"rev-parse", "--path-format=absolute", "--git-common-dir"});
  return fmt::format("{}-{}", repository.work_tree().filename().string(),
                     digest_text(common).substr(0, 8));
}

/// Locks a tree without waiting. Returns the descriptor of the lock, or -1 if another process has
/// it.
int try_lock(const fs::path& place) {
  std::error_code made;
  store::make_directory_in_home(place, made);
  const int lock = store::open_in_home(place / "lock", O_RDWR | O_CREAT);
  if (lock < 0) {
    throw Error(
        fmt::format("cannot write to {}: {}", printable(place.string()), std::strerror(errno)));
  }
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
  const int error = errno;
  ::close(lock);
  if (error == EWOULDBLOCK) return -1;
  throw Error(fmt::format("cannot lock {}: {}: set FLOR_HOME to a file system that has locks",
                          printable(place.string()), std::strerror(error)));
}

/// The version that is checked out in a tree; kept in a file beside the tree.
struct TreeState {
  std::string commit, edits;
  std::string since;                ///< changes with every checkout that changes the sources
  std::vector<std::string> edited;  ///< paths of the files that Edits changed

  static TreeState read(const fs::path& place) {
    TreeState state;
    std::ifstream in(place / "checked-out");
    std::getline(in, state.commit);
    std::getline(in, state.edits);
    std::getline(in, state.since);
    for (std::string path; std::getline(in, path, '\0');) state.edited.push_back(std::move(path));
    return state;
  }
  void write(const fs::path& place) const {
    std::ofstream out(place / "checked-out", std::ios::binary | std::ios::trunc);
    out << commit << '\n' << edits << '\n' << since << '\n';
    for (const std::string& path : edited) out << path << '\0';
    if (!out.flush()) throw Error(fmt::format("cannot write to {}", printable(place.string())));
  }
};

}  // namespace

struct VersionTree::Impl {
  fs::path user_tree;  ///< the user's work tree of the repository
  fs::path place;      ///< directory with the sources, build results and logs
  fs::path sources;
  int lock = -1;
  TreeState state;

  ~Impl() {
    if (lock >= 0) ::close(lock);
  }
  bool is_as_checked_out(const Edits& edits, Untracked untracked) const;
  void check_out_anew(const std::string& commit);
};

VersionTree::VersionTree(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
VersionTree::VersionTree(VersionTree&&) noexcept = default;
VersionTree& VersionTree::operator=(VersionTree&&) noexcept = default;
VersionTree::~VersionTree() = default;

VersionTree VersionTree::take(const fs::path& home, const git::Repository& repository,
                              const std::string& commit) {
  const fs::path all = home / "cache" / "versions" / directory_name(repository);
  auto impl = std::make_unique<Impl>();
  impl->user_tree = repository.work_tree();
  std::vector<fs::path> places;
  for (int number = 1; number <= kTrees; ++number) {
    places.push_back(all / fmt::format("{}", number));
  }
  std::ranges::stable_sort(places, {}, [&](const fs::path& place) {
    return TreeState::read(place).commit == commit ? 0 : 1;
  });
  for (const fs::path& place : places) {
    impl->lock = try_lock(place);
    if (impl->lock < 0) continue;
    impl->place = place;
    impl->sources = place / "flor-tree";
    impl->state = TreeState::read(place);
    return VersionTree(std::move(impl));
  }
  throw Busy(fmt::format("all {} trees below {} are in use: wait until one is free", kTrees,
                         printable(all.string())));
}

const fs::path& VersionTree::sources() const { return impl_->sources; }

/// Whether the tree's files are as they were checked out, with these edits.
bool VersionTree::Impl::is_as_checked_out(const Edits& edits, Untracked untracked) const try {
  std::error_code error;
  if (!fs::exists(sources / ".git", error)) return false;
  if (!run_git(sources, {"rev-parse", "HEAD"}).starts_with(state.commit)) return false;
  for (const auto& [path, content] : edits) {
    if (content_of(sources / path) != content) return false;
  }
  std::istringstream changed(run_git(
      sources, {"status", "--porcelain", "-z", "--no-renames",
                untracked == Untracked::stay ? "--untracked-files=no" : "--untracked-files=all",
                "--ignore-submodules=all"}));
  for (std::string entry; std::getline(changed, entry, '\0');) {
    if (entry.size() < 4 || !edits.contains(entry.substr(3))) return false;
  }
  return true;
} catch (const Error&) {  // the tree is damaged
  return false;
}

void VersionTree::Impl::check_out_anew(const std::string& commit) {
  std::error_code error;
  if (fs::exists(sources / ".git", error)) {
    // Removes edited files explicitly: git would leave those that it ignores.
    for (const std::string& path : state.edited) fs::remove(sources / path, error);
    try {
      move_work_tree(sources, commit);
      return;
    } catch (const Error&) {  // the repository was moved, or git was killed in the tree: make it
                              // anew
    }
  }
  fs::remove_all(sources);
  add_work_tree(user_tree, sources, commit);
}

std::vector<std::string> VersionTree::check_out(const std::string& commit, const Edits& edits,
                                                Untracked untracked) {
  for (const auto& [path, content] : edits) check_path(path);
  Impl& tree = *impl_;
  const std::string wanted = digest_edits(edits);
  const bool same = tree.state.commit == commit && tree.state.edits == wanted;
  if (!same || !tree.is_as_checked_out(edits, untracked)) {
    std::error_code error;
    fs::remove(tree.place / "checked-out", error);
    tree.check_out_anew(commit);
    tree.state = {
        .commit = commit, .edits = wanted, .since = fmt::format("{}", now_us()), .edited = {}};
    for (const auto& [path, content] : edits) {
      write_edit(tree.sources / path, content);
      tree.state.edited.push_back(path);
    }
  }
  std::vector<std::string> missing = place_submodules(tree.user_tree, tree.sources);
  tree.state.write(tree.place);
  return missing;
}

BuiltVersion VersionTree::build(const BuildPlan& plan) {
  const TreeState& state = impl_->state;
  return build_sources(
      {.place = impl_->place,
       .sources = impl_->sources,
       .since = state.since,
       .name = state.edits == "-"
                   ? state.commit.substr(0, 10)
                   : fmt::format("{}-{}", state.commit.substr(0, 10), state.edits.substr(0, 8)),
       .lock = impl_->lock},
      plan);
}

void VersionTree::clean() {
  for (const auto& entry : fs::directory_iterator(impl_->place)) {
    if (entry.path().filename() != "lock" && entry.path().filename() != "logs") {
      fs::remove_all(entry.path());
    }
  }
  impl_->state = {};
}

}  // namespace flor::cli
