// Facts that this program knows about its build, from the CMake function flor_instrument, and
// whether its sources have changed since.
#pragma once

#include "protocol/build_recipe.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// The recipe of this program, with the digest of its sources. Nothing without flor_instrument.
std::optional<BuildRecipe> program_recipe();

/// A source file of the program, as it was when the program was built.
struct SourceStamp {
  std::string content;  ///< git's object id of the content; "-" without git
  std::uint64_t bytes = 0;
  std::int64_t modified_us = 0;  ///< Unix time, microseconds
  std::string path;              ///< absolute path
};

struct ProgramSources {
  std::string commit;  ///< HEAD when the program was built; may be empty
  /// The list is complete: no header can have been included unseen, as by `#include MACRO`.
  bool whole = false;
  std::vector<SourceStamp> files;
  /// Parses the stamps; skips other lines.
  static ProgramSources decode(std::string_view text);
};

/// The sources of this program, if flor_instrument recorded them and they have not changed since.
std::optional<ProgramSources> sources_of_program();

/// A digest of the contents and of the paths relative to `root`. Empty if a content is unknown.
std::string digest_of_sources(const ProgramSources& sources, const std::filesystem::path& root);

/// The files in the program's project that are not compiled into it. A repository may have many
/// programs, and changes in the sources of others do not concern this one.
class OtherPrograms {
 public:
  /// The files in `project` that are not in `sources`; none if `sources` may be incomplete.
  OtherPrograms(const ProgramSources& sources, std::filesystem::path project);
  /// The files of the running program's project; none without flor_instrument.
  static OtherPrograms of_this();

  /// True if `file`, an absolute path, is one of these files.
  bool hold(const std::filesystem::path& file) const;

 private:
  OtherPrograms() = default;

  std::filesystem::path project_;           ///< canonical path; empty: unknown
  std::set<std::filesystem::path> sources_;  ///< canonical paths
};

/// Paths of the sources whose content has changed, or that are gone. Content is read only if the
/// modification time differs. Empty if all are gone, as for a program that was built elsewhere.
std::vector<std::string> changed_sources(const ProgramSources& sources);

/// Why the recorded sources are not the program's, as a statement about the program, such as "is
/// older than train.cpp". They are those of the repository at the path `repository` (empty: none),
/// whose HEAD is `head`. Empty if they are its sources, or if the program does not know.
std::string why_of_other_sources(const std::filesystem::path& repository, std::string_view head);

}  // namespace flor::detail
