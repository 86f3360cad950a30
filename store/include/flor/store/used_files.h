// Files that runs have read and written, and which runs that connects: by content, or as a run
// names another one. The functions are for any thread.
#pragma once

#include <flor/store/digest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

class Store;

/// On disk: append only.
enum class FileUse : std::uint8_t { input = 0, output = 1 };
enum class UsedKind : std::uint8_t { file = 0, directory = 1, checkpoint = 2, query = 3 };
std::string_view to_string(UsedKind kind);

/// A file that a run has read or written, as its content was then. An answer that came from several
/// runs is one for each of them, with equal names and digests.
struct UsedFile {
  FileUse use = FileUse::input;
  UsedKind kind = UsedKind::file;
  /// Relative to the root of the repository where it lies in there, else absolute; of a checkpoint
  /// the key of its run, an at sign, and its epoch or name; of a query its words.
  std::string name;
  std::string place;        ///< absolute; empty for what is no file
  std::uint64_t bytes = 0;  ///< of a directory those of its files together
  std::int64_t files = 0;   ///< of a directory; the rows of a query; else 1
  Digest digest;            ///< of the content; see docs/internals/format.md
  std::int64_t epoch = -1;  ///< in which it was named first; -1: outside of the main loops
  std::string source;       ///< key of the run that it is known to come from; else empty
  bool operator==(const UsedFile&) const = default;
};

/// Another run that has to do with a file of a run.
struct FileKin {
  std::string run;         ///< key
  std::string experiment;  ///< empty where the run is not in the store
  std::string name;        ///< of the file there; empty where it is no file of that run
};

/// Enters it durably. The same name with the same content and source, used in the same way, counts
/// once. An output replaces what was said of its name. Throws what the store throws.
void add_file(Store& store, std::int64_t run, const UsedFile& file);

std::vector<UsedFile> files_of(const Store& store, std::int64_t run);  ///< inputs first, by name
/// The runs that an input comes from: which wrote the same content before this run ended, or
/// which it names. Of an output the runs that read the same content after this run began. Latest
/// first, at most `most`; files without content have none.
std::vector<FileKin> kin_of(const Store& store, std::int64_t run, const UsedFile& file,
                            std::size_t most);
/// The runs that read something whose source is the run of this key; latest first.
std::vector<FileKin> readers_of(const Store& store, std::string_view key, std::size_t most);

}  // namespace flor::store
