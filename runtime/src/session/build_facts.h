// What this program knows of how it was built (flor_instrument of CMake), and whether its sources
// are still what they were then.
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

/// Nothing in a program that flor_instrument was not called for. With the digest of its sources.
std::optional<BuildRecipe> program_recipe();

/// A source of the program when it was built.
struct SourceStamp {
  std::string content;  ///< the name that git gives it; "-" where there was no git
  std::uint64_t bytes = 0;
  std::int64_t modified_us = 0;  ///< Unix time
  std::string path;              ///< absolute
};

struct ProgramSources {
  std::string commit;  ///< HEAD when the program was built; may be empty
  bool whole = false;  ///< no header can have come in unseen, as by `#include MACRO`
  std::vector<SourceStamp> files;
  /// Lines that are no stamps are left out.
  static ProgramSources decode(std::string_view text);
};

/// Those of this program, where flor_instrument noted them and they are still what runs.
std::optional<ProgramSources> sources_of_program();

/// Of contents and of paths below `root`; empty where a content is not known.
std::string digest_of_sources(const ProgramSources& sources, const std::filesystem::path& root);

/// The files of the program's project that are not compiled into it. A repository may hold many
/// programs; what the others do says nothing about this one.
class OtherPrograms {
 public:
  /// Those of `sources`, found in `project`; none where the sources are not known to be all.
  OtherPrograms(const ProgramSources& sources, std::filesystem::path project);
  /// Those of the program that runs; none where flor_instrument was not called for it.
  static OtherPrograms of_this();

  /// `file`: an absolute path.
  bool hold(const std::filesystem::path& file) const;

 private:
  OtherPrograms() = default;

  std::filesystem::path project_;           ///< canonical; empty: unknown
  std::set<std::filesystem::path> sources_;  ///< canonical
};

/// Those that are not what they were: another content, or gone. Contents are read only where times
/// or sizes are others. Nothing if none is there any more, as in a program that was built
/// elsewhere.
std::vector<std::string> changed_sources(const ProgramSources& sources);

/// Why the sources that are recorded, those in `repository` (empty: none are) whose HEAD is `head`,
/// are not the program's: what can be said of it, as "is older than train.cpp". Empty if they are,
/// or if the program does not know.
std::string why_of_other_sources(const std::filesystem::path& repository, std::string_view head);

}  // namespace flor::detail
