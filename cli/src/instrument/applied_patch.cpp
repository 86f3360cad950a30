#include "instrument/applied_patch.h"

#include "base/text.h"
#include "file/home_files.h"
#include "file/new_file.h"
#include "git/merge.h"
#include "instrument/instrumenter.h"
#include "instrument/program_files.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>

namespace flor::instrument {
namespace fs = std::filesystem;
namespace {

struct Kept {
  fs::path before, after;
};

/// Where the two texts of a file are kept: under a name made of its path.
Kept kept_of(const fs::path& home, const fs::path& file) {
  const std::string path = fs::canonical(file).string();
  const fs::path stem =
      home / "instrumented" / store::digest_of(std::as_bytes(std::span(path))).hex();
  return {stem.string() + ".before", stem.string() + ".after"};
}

void write_whole(const fs::path& file, const std::string& text) {
  const fs::path target = fs::canonical(file);
  struct stat status = {};
  if (::stat(target.c_str(), &status) != 0)
    throw Error("cannot read " + store::printable(target.string()));
  store::NewFile out(store::Filesystem::system(), target, status.st_mode & 0777u);
  out.append(std::as_bytes(std::span(text)));
  out.finish();
  fs::permissions(target, static_cast<fs::perms>(status.st_mode & 0777u));  // whatever the umask is
}

void require_there(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) {
    throw NotFound(fmt::format("{} is not there: name a file that --apply changed",
                               store::printable(file.string())));
  }
}

}  // namespace

void require_same(const fs::path& file, const std::string& content) {
  if (read_source(file) == content) return;
  throw Error(fmt::format("{} has changed meanwhile, and was left alone: run flor instrument again",
                          store::printable(file.string())));
}

void apply(const fs::path& home, const fs::path& file, const std::string& before,
           const std::string& after) {
  require_same(file, before);
  std::error_code error;
  store::make_home(home, error);
  store::require_directory_in_home(home / "instrumented");
  const Kept kept = kept_of(home, file);
  store::write_file(kept.before, std::as_bytes(std::span(before)));
  store::write_file(kept.after, std::as_bytes(std::span(after)));
  write_whole(file, after);
}

std::string undone(const fs::path& home, const fs::path& file) {
  require_there(file);
  const std::string name = store::printable(file.string());
  const Kept kept = kept_of(home, file);
  std::error_code error;
  if (!fs::exists(kept.before, error) || !fs::exists(kept.after, error)) {
    throw NotFound(
        fmt::format("flor instrument --apply did not change {} with this store: git "
                    "checkout or git apply -R takes a patch back",
                    name));
  }
  const std::string before = read_source(kept.before), after = read_source(kept.after);
  const std::string now = read_source(file);
  if (now == after || now == before) return before;
  const git::MergedText merged = git::merge_texts(after, now, before, "now", "before");
  if (!merged.clean) {
    throw Error(
        fmt::format("{} was edited since in lines that the patch had changed: take those "
                    "edits back, then --undo again",
                    name));
  }
  if (const std::uint32_t line = line_with_flor(merged.text)) {
    throw Error(
        fmt::format("{} uses Flor in a line that was added since (line {} of the file without "
                    "the patch): remove it, then --undo again",
                    name, line));
  }
  return merged.text;
}

void undo(const fs::path& home, const fs::path& file, const std::string& text) {
  const Kept kept = kept_of(home, file);
  write_whole(file, text);
  std::error_code error;
  fs::remove(kept.after, error);
  fs::remove(kept.before, error);
}

}  // namespace flor::instrument
