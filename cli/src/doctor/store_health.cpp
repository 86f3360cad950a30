#include "doctor/doctor_findings.h"
#include "file/mount_locks.h"
#include "git/shadow.h"
#include "maintain/shared_view.h"
#include "output/terminal_text.h"
#include "output/time.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

struct KnownFilesystem {
  std::uint32_t magic;
  const char* name;
  bool network;
};
constexpr std::array kFilesystems{
    KnownFilesystem{EXT4_SUPER_MAGIC, "ext4", false},
    KnownFilesystem{0x58465342, "xfs", false},
    KnownFilesystem{BTRFS_SUPER_MAGIC, "btrfs", false},
    KnownFilesystem{0x2fc12fc1, "zfs", false},
    KnownFilesystem{TMPFS_MAGIC, "tmpfs", false},
    KnownFilesystem{OVERLAYFS_SUPER_MAGIC, "overlay", false},
    KnownFilesystem{F2FS_SUPER_MAGIC, "f2fs", false},
    KnownFilesystem{NFS_SUPER_MAGIC, "nfs", true},
    KnownFilesystem{SMB_SUPER_MAGIC, "smb", true},
    KnownFilesystem{0xff534d42, "cifs", true},
    KnownFilesystem{0xfe534d42, "smb2", true},
    KnownFilesystem{0x00c36400, "ceph", true},
    KnownFilesystem{0x65735546, "fuse", true},
    KnownFilesystem{V9FS_MAGIC, "9p", true},
    KnownFilesystem{0x0bd00bd0, "lustre", true},
    KnownFilesystem{0x47504653, "gpfs", true},
};

/// The path itself if it exists, else the nearest parent directory that exists.
fs::path existing(fs::path path) {
  std::error_code error;
  while (!fs::exists(path, error) && path.has_parent_path() && path != path.parent_path()) {
    path = path.parent_path();
  }
  return path;
}

void examine_filesystem(const fs::path& directory, Findings& findings) {
  struct statfs status {};
  if (::statfs(directory.c_str(), &status) != 0) return;
  const auto magic = static_cast<std::uint32_t>(status.f_type);
  std::string name = fmt::format("of type {:#x}", magic);
  bool network = false;
  for (const KnownFilesystem& known : kFilesystems) {
    if (known.magic != magic) continue;
    name = known.name;
    network = known.network;
  }
  if (network) {
    findings.push_back({"file system", Health::warning,
                        fmt::format("{} of {}: the index lies on a local disk of each machine, and "
                                    "locks depend on the server",
                                    name, directory.string()),
                        "docs/other-machines.md says what holds there; a local disk is faster"});
  } else if (magic == TMPFS_MAGIC) {
    findings.push_back(
        {"file system", Health::warning,
         fmt::format("{} is in memory: the store is gone with the next start", directory.string()),
         "set FLOR_HOME to a directory on a disk"});
  } else {
    findings.push_back({"file system", Health::ok, name});
  }
}

/// A run is live while its process holds its lock, so that all else depends on locks.
void examine_locks(const fs::path& directory, Findings& findings) {
  const std::string broken = store::why_locks_fail(directory);
  const std::string local = store::why_locks_are_local(directory);
  if (!broken.empty()) {
    findings.push_back(
        {"locks", Health::failure,
         fmt::format("files in {} cannot be locked ({})", directory.string(), broken),
         "see to its lock service, or set FLOR_HOME to a local disk"});
  } else if (!local.empty()) {
    findings.push_back({"locks", Health::warning,
                        fmt::format("keep out processes of this machine only ({}): a run that "
                                    "another machine records looks as if its process were dead",
                                    local),
                        "record on one machine at a time, or give each a FLOR_HOME of its own"});
  } else {
    findings.push_back(
        {"locks", Health::ok, "work: a run is live while its process holds its own"});
  }
}

void examine_room(const fs::path& directory, Findings& findings) {
  struct statvfs status {};
  if (::statvfs(directory.c_str(), &status) != 0) return;
  const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
  constexpr std::uint64_t kLittle = std::uint64_t{2} << 30, kNone = std::uint64_t{100} << 20;
  const std::string text = fmt::format("{} free", bytes(free));
  const char* const advice = "flor du shows what is large, flor keep what can go";
  if (free < kNone) {
    findings.push_back({"free space", Health::failure, text, advice});
  } else if (free < kLittle) {
    findings.push_back({"free space", Health::warning, text, advice});
  } else {
    findings.push_back({"free space", Health::ok, text});
  }
}

/// Checks whether other users of the machine can read the store, which reveals data and work.
void examine_mode(const fs::path& home, Findings& findings) {
  struct stat status {};
  if (::stat(home.c_str(), &status) != 0) return;
  const mode_t others = status.st_mode & S_IRWXO, group = status.st_mode & S_IRWXG;
  const bool shared = group != 0 && (status.st_mode & S_ISGID) != 0;
  const std::string mode = fmt::format("{:04o}", status.st_mode & 07777);
  if (others == 0 && group == 0) {
    findings.push_back({"access", Health::ok, "only its user"});
  } else if (others == 0 && shared) {
    findings.push_back({"access", Health::ok, fmt::format("shared with a group (mode {})", mode)});
  } else {
    findings.push_back(
        {"access", Health::warning,
         fmt::format("{} may look into the store (mode {})",
                     others != 0 ? "every user of this machine" : "users of its group", mode),
         fmt::format("chmod -R go-rwx {}", printable(home.string()))});
  }
}

void examine_catalog(const store::Store& store, Findings& findings) {
  const store::CheckReport report = store::check(store, false);
  std::size_t orphans = 0;
  for (const store::Finding& found : report.findings) {
    if (found.kind == store::Finding::Kind::orphan) {
      ++orphans;
      continue;
    }
    const bool is_of_run = found.kind == store::Finding::Kind::unreadable;
    findings.push_back({"catalog", Health::failure, found.what,
                        is_of_run ? "flor rm the run" : "flor fsck --repair"});
  }
  if (orphans > 0) {
    findings.push_back({"catalog", Health::warning,
                        orphans == 1 ? "1 logged object is missing"
                                     : fmt::format("{} logged objects are missing", orphans),
                        "flor fsck says which"});
  }
  if (findings.empty() || findings.back().topic != "catalog") {
    findings.push_back({"catalog", Health::ok, "sound (flor fsck also reads the contents)"});
  }
}

}  // namespace

void examine_store(const fs::path& home, Findings& findings) {
  std::error_code error;
  const fs::path there = existing(home);
  if (::access(there.c_str(), W_OK) != 0) {
    findings.push_back({"store", Health::failure,
                        fmt::format("{} cannot be written", there.string()),
                        "set FLOR_HOME to a directory of yours"});
  }
  examine_filesystem(there, findings);
  if (fs::exists(home, error)) examine_locks(home, findings);
  examine_room(there, findings);
  if (!fs::exists(home / "catalog.db", error) && !fs::exists(home / "runs", error)) {
    findings.push_back(
        {"store", Health::ok,
         fmt::format("none at {} yet: record a run with --flor NAME", printable(home.string()))});
    return;
  }
  try {
    const auto store = store::Store::open(home, store::OpenMode::read_only);
    findings.push_back({"store", Health::ok, printable(home.string())});
    if (const fs::path index = store::index_of(*store); index.parent_path() != home) {
      findings.push_back({"index", Health::ok, printable(index.string())});
    }
    examine_mode(home, findings);
    examine_catalog(*store, findings);
    examine_runs(*store, findings);
  } catch (const Error& problem) {
    findings.push_back({"store", Health::failure, problem.what(), "flor fsck says more"});
  }
}

namespace {

/// Escapes a text for double quotes in a shell.
std::string within_quotes(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("$`\"\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// Looks for secrets that earlier recordings committed. A large history is searched for only 2 s.
void examine_secrets(const git::Repository& repository, Findings& findings) {
  constexpr std::chrono::seconds kMoment{2};
  const auto end = std::chrono::steady_clock::now() + kMoment;
  const git::SecretHistory history = repository.secrets(
      git::kShadowBranch, [end] { return std::chrono::steady_clock::now() < end; });
  const std::string looked_at =
      history.whole ? std::string() : fmt::format(" (of its latest {} commits)", history.commits);
  if (history.found.empty()) {
    if (history.commits == 0) return;
    findings.push_back(
        {"secrets", Health::ok, fmt::format("none found in {}{}", git::kShadowBranch, looked_at)});
    return;
  }
  std::string names, paths;
  for (const git::CommittedSecret& secret : history.found) {
    const std::string what =
        secret.path.empty() ? std::string("a command line") : printable(secret.path);
    names += fmt::format("{}{} ({}{}commit {})", names.empty() ? "" : ", ", what,
                         secret.path.empty() ? "" : secret.kind,
                         secret.path.empty() || secret.kind.empty() ? "" : ", ",
                         secret.commit.substr(0, 8));
    if (!secret.path.empty()) paths += " " + shell_word(secret.path);
  }
  // Uses a separate work tree: the user's may have uncommitted changes.
  const std::string removal = fmt::format(
      "cd {} && d=$(mktemp -d) && git worktree add -q --detach $d {} && git -C $d filter-branch -f "
      "--index-filter \"git rm -q --cached --ignore-unmatch --{}\" {}; "
      "git worktree remove --force $d; git update-ref -d refs/original/refs/heads/{}",
      shell_word(repository.work_tree().string()), git::kShadowBranch,
      printable(within_quotes(paths)), git::kShadowBranch, git::kShadowBranch);
  findings.push_back(
      {"secrets", Health::warning,
       fmt::format("{} holds what looks like secrets{}: {}", git::kShadowBranch, looked_at, names),
       paths.empty() ? "change them; git branch -D flor.shadow forgets all recorded versions"
                     : "change them; this removes them, and renames these versions: " + removal});
}

}  // namespace

RepositoryHere repository_here() {
  try {
    const auto repository = git::Repository::discover(fs::current_path());
    if (!repository) return {};
    return {repository->work_tree().string(), repository->head().value_or("")};
  } catch (const Error& problem) {
    return {problem.what(), {}};
  }
}

void examine_repository(Findings& findings) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  try {
    const auto repository = git::Repository::discover(here);
    if (!repository) {
      findings.push_back({"git", Health::warning,
                          fmt::format("{} is in no repository: runs could not keep their sources",
                                      printable(here.string())),
                          "git init, or record with --flor_no_git"});
      return;
    }
    const auto head = repository->head();
    const auto shadow = repository->branch_tip(git::kShadowBranch);
    findings.push_back(
        {"git", Health::ok,
         fmt::format("{}, {}, {}", printable(repository->work_tree().string()),
                     head ? "HEAD at " + head->substr(0, 8) : "no commit yet",
                     shadow ? fmt::format("{} at {}", git::kShadowBranch, shadow->substr(0, 8))
                            : "nothing recorded yet")});
    if (shadow) examine_secrets(*repository, findings);
  } catch (const Error& problem) {
    findings.push_back({"git", Health::failure, problem.what(), "see the message"});
  }
}

}  // namespace flor::cli
