// Repository::pack_branch: puts the loose objects of one branch into a pack, as `git gc --auto`
// does for all branches. Before the file of a loose object is removed, the pack is on the disk and
// the object has been read back from it. So a process that reads the repository always finds the
// object in one place or the other.
#include "file/filesystem.h"
#include "file/lock_file.h"
#include "git/repository.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <git2/sys/odb_backend.h>
#include <sys/file.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <vector>

namespace flor::git {
namespace {

namespace fs = std::filesystem;

using PackBuilderHandle = Handle<git_packbuilder, git_packbuilder_free>;
using OdbObjectHandle = Handle<git_odb_object, git_odb_object_free>;

struct IdLess {
  bool operator()(const git_oid& a, const git_oid& b) const { return a < b; }
};

/// The loose objects of a branch: its commits down to the first that are packed already, and their
/// trees, also down to those that are packed.
class LooseObjects {
 public:
  LooseObjects(git_repository* repository, fs::path objects)
      : repository_(repository), objects_(std::move(objects)) {}

  struct Object {
    git_oid id;
    std::string name;  ///< path as a hint: objects with equal names are packed as differences
  };

  /// False if `goes_on` returned false.
  bool collect(const git_oid& tip, const std::function<bool()>& goes_on) {
    std::vector<git_oid> open{tip};
    while (!open.empty()) {
      if (!goes_on()) return false;
      const git_oid id = open.back();
      open.pop_back();
      if (!take(id, "")) continue;
      const CommitHandle commit = find_commit(repository_, id);
      if (!commit) continue;
      add_tree(*git_commit_tree_id(commit.get()), "");
      for (unsigned i = 0; i < git_commit_parentcount(commit.get()); ++i) {
        open.push_back(*git_commit_parent_id(commit.get(), i));
      }
    }
    return true;
  }

  const std::vector<Object>& all() const { return all_; }

  fs::path file_of(const git_oid& id) const {
    const std::string hex = to_hex(id);
    return objects_ / hex.substr(0, 2) / hex.substr(2);
  }

 private:
  bool take(const git_oid& id, const std::string& name) {
    if (!seen_.insert(id).second) return false;
    // Large objects stay loose, since packing one takes several times its size in memory.
    constexpr std::uintmax_t kLarge = 1 << 20;  // bytes, compressed
    std::error_code error;
    const auto bytes = fs::file_size(file_of(id), error);
    if (error || bytes > kLarge) return false;
    all_.push_back({id, name});
    return true;
  }

  void add_tree(const git_oid& id, const std::string& path) {
    if (!take(id, path)) return;
    git_tree* raw = nullptr;
    if (git_tree_lookup(&raw, repository_, &id) != 0) return;
    const TreeHandle tree(raw);
    for (std::size_t i = 0; i < git_tree_entrycount(raw); ++i) {
      const git_tree_entry* entry = git_tree_entry_byindex(raw, i);
      const git_oid& of_entry = *git_tree_entry_id(entry);
      const std::string name = path + "/" + git_tree_entry_name(entry);
      switch (git_tree_entry_type(entry)) {
        case GIT_OBJECT_TREE:
          add_tree(of_entry, name);
          break;
        case GIT_OBJECT_BLOB:
          take(of_entry, name);
          break;
        default:  // a submodule's commit is in another repository
          break;
      }
    }
  }

  git_repository* repository_;
  fs::path objects_;
  std::set<git_oid, IdLess> seen_;
  std::vector<Object> all_;
};

/// Passes `goes_on` to libgit2 as a C callback.
struct Asked {
  const std::function<bool()>& goes_on;
  static int building(int, std::uint32_t, std::uint32_t, void* self) {
    return static_cast<Asked*>(self)->goes_on() ? 0 : GIT_EUSER;
  }
  static int writing(const git_indexer_progress*, void* self) {
    return static_cast<Asked*>(self)->goes_on() ? 0 : GIT_EUSER;
  }
};

/// Reads objects from the new pack only.
class WrittenPack {
 public:
  explicit WrittenPack(const fs::path& index) {
    git_odb_backend* backend = nullptr;
    check(git_odb_backend_one_pack(&backend, index.c_str()), "cannot read the pack just written");
    git_odb* raw = nullptr;
    check(git_odb_new(&raw), "cannot read the pack just written");
    odb_.reset(raw);
    check(git_odb_add_backend(raw, backend, 1), "cannot read the pack just written");
  }
  /// Reads the object, and checks that its content has that id.
  bool has(const git_oid& id) const {
    git_odb_object* raw = nullptr;
    if (git_odb_read(&raw, odb_.get(), &id) != 0) return false;
    const OdbObjectHandle object(raw);
    git_oid found;
    return git_odb_hash(&found, git_odb_object_data(raw), git_odb_object_size(raw),
                        git_odb_object_type(raw)) == 0 &&
           found == id;
  }

 private:
  OdbHandle odb_;
};

/// How many loose objects git considers too many; 0 means any number is fine.
std::int64_t too_many(git_repository* repository) {
  constexpr std::int64_t kOfGit = 6700;
  git_config* raw = nullptr;
  if (git_repository_config_snapshot(&raw, repository) != 0) return kOfGit;
  const ConfigHandle config(raw);
  std::int64_t value = kOfGit;
  return git_config_get_int64(&value, raw, "gc.auto") == 0 ? std::max<std::int64_t>(value, 0)
                                                           : kOfGit;
}

/// Estimates the number of loose objects as git does, from one of the 256 directories.
bool has_too_many(const fs::path& objects, std::int64_t limit) {
  std::error_code error;
  std::int64_t files = 0;
  for (const auto& entry : fs::directory_iterator(objects / "17", error)) {
    const std::string name = entry.path().filename().string();
    files += name.find_first_not_of("0123456789abcdef") == std::string::npos ? 1 : 0;
  }
  return limit > 0 && files > (limit + 255) / 256;
}

}  // namespace

std::size_t Repository::pack_branch(std::string_view branch,
                                    const std::function<bool()>& goes_on) {
  git_repository* repository = impl_->get();
  const fs::path common = git_repository_commondir(repository);
  const fs::path objects = common / "objects";
  const std::int64_t limit = too_many(repository);
  if (!has_too_many(objects, limit)) return 0;
  const auto tip = branch_target(repository, branch);
  if (!tip) return 0;

  std::error_code error;
  fs::create_directory(impl_->git_directory / "flor", error);
  store::Filesystem& files = store::Filesystem::system();
  const store::File lock(files, impl_->git_directory / "flor" / "pack.lock", O_RDWR | O_CREAT);
  if (!store::lock_file(lock.descriptor(), LOCK_EX | LOCK_NB)) return 0;

  LooseObjects loose(repository, objects);
  if (!loose.collect(*tip, goes_on)) return 0;
  // If most loose objects belong to other branches, packing is left to `git gc`.
  if (static_cast<std::int64_t>(loose.all().size()) * 2 < limit) return 0;

  git_packbuilder* raw = nullptr;
  check(git_packbuilder_new(&raw, repository), "cannot pack the objects of git");
  const PackBuilderHandle builder(raw);
  git_packbuilder_set_threads(raw, 1);
  Asked asked{goes_on};
  git_packbuilder_set_callbacks(raw, &Asked::building, &asked);
  for (const auto& object : loose.all()) {
    if (!goes_on()) return 0;
    check(git_packbuilder_insert(raw, &object.id, object.name.c_str()),
          "cannot pack an object of git");
  }
  const fs::path packs = objects / "pack";
  fs::create_directory(packs, error);
  const int code = git_packbuilder_write(raw, packs.c_str(), 0444, &Asked::writing, &asked);
  if (code < 0 && !goes_on()) return 0;
  check(code, "cannot pack the objects of git");
  const std::string name = fmt::format("pack-{}", git_packbuilder_name(raw));
  for (const char* suffix : {".pack", ".idx"}) {
    store::File(files, packs / (name + suffix), O_RDONLY).sync();
  }
  store::sync_directory(files, packs);

  const WrittenPack written(packs / (name + ".idx"));
  std::size_t moved = 0;
  for (const auto& object : loose.all()) {
    if (!goes_on()) break;
    if (written.has(object.id) && fs::remove(loose.file_of(object.id), error)) ++moved;
  }
  return moved;
}

}  // namespace flor::git
