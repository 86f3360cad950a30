#include "tree_writer.h"

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

class Writer {
 public:
  Writer(git_odb* odb, const std::vector<git_oid>& known) : odb_(odb), known_(known) {}

  /// The tree of `entries`, whose paths all begin with the same `prefix` bytes.
  git_oid write(std::span<const FileEntry> entries, std::size_t prefix) {
    std::vector<Item> items;
    for (std::size_t i = 0; i < entries.size();) {
      const std::string_view rest = std::string_view(entries[i].path).substr(prefix);
      const std::size_t slash = rest.find('/');
      if (slash == std::string_view::npos) {
        items.push_back({rest, entries[i].mode, entries[i].id});
        ++i;
        continue;
      }
      const std::string_view directory = rest.substr(0, slash + 1);
      std::size_t end = i + 1;
      while (end < entries.size() &&
             std::string_view(entries[end].path).substr(prefix).starts_with(directory)) {
        ++end;
      }
      const git_oid id = write(entries.subspan(i, end - i), prefix + slash + 1);
      items.push_back({rest.substr(0, slash), GIT_FILEMODE_TREE, id});
      i = end;
    }
    std::sort(items.begin(), items.end(), before);
    return store(items);
  }

  std::vector<git_oid> take_all() {
    std::sort(all_.begin(), all_.end(), [](const git_oid& a, const git_oid& b) { return a < b; });
    return std::move(all_);
  }

 private:
  git_oid store(const std::vector<Item>& items) {
    std::string bytes;
    for (const Item& item : items) {
      fmt::format_to(std::back_inserter(bytes), "{:o} ", item.mode);
      bytes += item.name;
      bytes += '\0';
      bytes.append(reinterpret_cast<const char*>(item.id.id), GIT_OID_RAWSZ);
    }
    git_oid id;
    check(git_odb_hash(&id, bytes.data(), bytes.size(), GIT_OBJECT_TREE), "cannot hash a tree");
    const auto less = [](const git_oid& a, const git_oid& b) { return a < b; };
    if (!std::binary_search(known_.begin(), known_.end(), id, less)) {
      check(git_odb_write(&id, odb_, bytes.data(), bytes.size(), GIT_OBJECT_TREE),
            "cannot write to the object database");
    }
    all_.push_back(id);
    return id;
  }

  git_odb* odb_;
  const std::vector<git_oid>& known_;
  std::vector<git_oid> all_;
};

}  // namespace

WrittenTrees write_trees(git_odb* odb, std::span<const FileEntry> entries,
                         const std::vector<git_oid>& known) {
  Writer writer(odb, known);
  WrittenTrees written;
  written.root = writer.write(entries, 0);
  written.all = writer.take_all();
  return written;
}

}  // namespace flor::git
