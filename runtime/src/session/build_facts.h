// Facts that this program has about its build (flor_instrument of CMake), and whether its sources
// have changed since.
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

/// The recipe of this program, with the digest of its sources; nothing without flor_instrument.
std::optional<BuildRecipe> program_recipe();

/// A source of the program when it was built.
struct SourceStamp {
  std::string content;  ///< its name in git; "-" if there was no git
  std::uint64_t bytes = 0;
  std::int64_t modified_us = 0;  ///< Unix time
  std::string path;              ///< absolute
};

struct ProgramSources {
  std::string commit;  ///< HEAD when the program was built; may be empty
  bool whole = false;  ///< no header can have come in unseen, as by `#include MACRO`
  std::vector<SourceStamp> files;
  /// Skips lines that are no stamps.
  static ProgramSources decode(std::string_view text);
};

/// Sources of this program, if flor_instrument noted them and they have not changed since.
std::optional<ProgramSources> sources_of_program();

/// Digest of contents, and of paths below `root`; empty if a content is unknown.
std::string digest_of_sources(const ProgramSources& sources, const std::filesystem::path& root);

/// The files of the program's project that are not compiled into it. A repository may hold many
/// programs; changes of the others mean nothing to this one.
class OtherPrograms {
 public:
  /// Files in `project` besides `sources`; none if these are not known to be complete.
  OtherPrograms(const ProgramSources& sources, std::filesystem::path project);
  /// Those of the running program; none if flor_instrument was not called for it.
  static OtherPrograms of_this();

  /// True if `file`, an absolute path, is one of them.
  bool hold(const std::filesystem::path& file) const;

 private:
  OtherPrograms() = default;

  std::filesystem::path project_;           ///< canonical; empty: unknown
  std::set<std::filesystem::path> sources_;  ///< canonical
};

/// Paths of sources that have other content now, or are gone. Reads content only if the time has
/// changed. Nothing if all of them are gone, as for a program that was built elsewhere.
std::vector<std::string> changed_sources(const ProgramSources& sources);

/// The reason why the recorded sources, those in `repository` (empty: none) whose HEAD is `head`,
/// are not the program's, as a statement about the program: "is older than train.cpp". Empty if
/// they are its sources, or if the program does not know.
std::string why_of_other_sources(const std::filesystem::path& repository, std::string_view head);

}  // namespace flor::detail
