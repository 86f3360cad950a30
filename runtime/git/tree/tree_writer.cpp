#include "git/tree/tree_writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace flor::git {
namespace {

struct Item {
  std::string_view name;
  std::uint32_t mode;
  git_oid id;
};

/// git orders a tree as if the names of directories ended with a slash.
bool before(const Item& a, const Item& b) {
  const std::size_t common = std::min(a.name.size(), b.name.size());
  const int order = std::memcmp(a.name.data(), b.name.data(), common);
  if (order != 0) return order < 0;
  const auto next = [common](const Item& item) {
    if (item.name.size() > common) return static_cast<unsigned char>(item.name[common]);
    return static_cast<unsigned char>(item.mode == GIT_FILEMODE_TREE ? '/' : '\0');
  };
  return next(a) < next(b);
}

bool same_file(const FileEntry& a, const FileEntry& b) {
  return a.mode == b.mode && a.id == b.id && a.path == b.path;
}

class Writer {
 public:
  Writer(git_odb* odb, const StatCache& cache) : odb_(odb), cache_(cache) {}

  /// Writes the tree of `directory`. `entries` are all files below it, `cached` those that the
  /// cache has there.
  git_oid write(std::string_view directory, std::span<const FileEntry> entries,
                std::span<const FileEntry> cached) {
    const std::size_t at = trees_.size();
    trees_.push_back({std::string(directory), {}});
    const DirectoryTree* known = cache_.tree_of(directory);
    if (known &&
        std::equal(entries.begin(), entries.end(), cached.begin(), cached.end(), same_file)) {
      trees_.resize(at);
      copy_known(directory);
      return known->id;
    }
    std::vector<Item> items;
    while (!entries.empty()) {
      const FileEntry& first = entries.front();
      const std::string_view rest = std::string_view(first.path).substr(directory.size());
      const std::size_t slash = rest.find('/');
      if (slash == std::string_view::npos) {
        items.push_back({rest, first.mode, first.id});
        entries = entries.subspan(1);
        continue;
      }
      const std::string_view below =
          std::string_view(first.path).substr(0, directory.size() + slash + 1);
      const auto inner = range_below(entries, below);
      const git_oid id = write(below, inner, range_below(cached, below));
      items.push_back({rest.substr(0, slash), GIT_FILEMODE_TREE, id});
      entries = entries.subspan(inner.size());
    }
    std::sort(items.begin(), items.end(), before);
    return trees_[at].id = store(items, known);
  }

  std::vector<DirectoryTree> take() { return std::move(trees_); }

 private:
  /// The entries below a directory, which are contiguous.
  static std::span<const FileEntry> range_below(std::span<const FileEntry> entries,
                                                std::string_view directory) {
    const auto first =
        std::lower_bound(entries.begin(), entries.end(), directory,
                         [](const FileEntry& a, std::string_view b) { return a.path < b; });
    const auto last = std::partition_point(
        first, entries.end(), [&](const FileEntry& a) { return a.path.starts_with(directory); });
    return {first, last};
  }

  void copy_known(std::string_view directory) {
    for (const DirectoryTree* tree = cache_.tree_of(directory);
         tree != cache_.trees.data() + cache_.trees.size() && tree->path.starts_with(directory);
         ++tree) {
      trees_.push_back(*tree);
    }
  }

  git_oid store(const std::vector<Item>& items, const DirectoryTree* known) {
    std::string bytes;
    for (const Item& item : items) {
      fmt::format_to(std::back_inserter(bytes), "{:o} ", item.mode);
      bytes += item.name;
      bytes += '\0';
      bytes.append(reinterpret_cast<const char*>(item.id.id), GIT_OID_RAWSZ);
    }
    git_oid id;
    check(git_odb_hash(&id, bytes.data(), bytes.size(), GIT_OBJECT_TREE), "cannot hash a tree");
    if (!known || !(known->id == id)) {
      check(git_odb_write(&id, odb_, bytes.data(), bytes.size(), GIT_OBJECT_TREE),
            "cannot write to the object database");
    }
    return id;
  }

  git_odb* odb_;
  const StatCache& cache_;
  std::vector<DirectoryTree> trees_;  // parents before children, since sorted by path
};

}  // namespace

std::vector<DirectoryTree> write_trees(git_odb* odb, std::span<const FileEntry> entries,
                                       const StatCache& cache) {
  Writer writer(odb, cache);
  writer.write("", entries, cache.entries);
  return writer.take();
}

}  // namespace flor::git
