// Finds the loops that a change of the sources concerns, from the texts alone: loops whose own
// statements changed, and loops from which changed code may be called. In doubt, a loop is
// concerned.
#pragma once

#include "sources/callers.h"
#include "sources/changes.h"
#include "sources/concerns.h"
#include "sources/source_questions.h"
#include "sources/syntax/source.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::sources {

/// A file in two versions. `path` is relative to the root of the repository.
struct ChangedText {
  std::string path;
  std::optional<std::string> before, now;  ///< nothing: the file was, or is, not there
};
struct SourceText {
  std::string path, text;
};

struct AnalysisInput {
  std::vector<ChangedText> changed;
  /// Sources that did not change. They may have callers of changed functions.
  std::vector<SourceText> rest;
  /// `rest` has all unchanged sources. If not, any code is assumed to call changed functions.
  bool complete = true;
  /// File that calls flor::init, as the compiler named it; may be empty.
  std::string program;
  std::set<std::string> nested;  ///< names of the recorded nested loops
  std::set<std::string> main;    ///< names of the recorded main loops
  bool stale = false;            ///< the program was built from older sources than these
};

/// Finds the loops that a change concerns, for C and C++.
class Analysis final : public Concerns {
 public:
  /// `work_max` limits the work as in Effects.
  explicit Analysis(AnalysisInput input, std::size_t work_max = Effects::kWorkMax);

  using Touched = TouchedLoop;
  Proof proof() const override;
  const std::vector<Touched>& touched() const override { return touched_; }
  std::optional<Touched> touched(const ReportedPlace& place, std::string_view name) const override;
  Leaving leaving(const ReportedPlace& place) const override;
  const std::vector<Touched>& computation() const override { return computation_; }
  const std::vector<std::string>& looking() const override { return looking_; }
  bool nothing_changed() const override { return changes_.all.empty(); }
  const std::string& walk() const override { return walk_; }

 private:
  struct Site {
    const Source* source;
    const ForLoop* loop;
  };

  void read(AnalysisInput& input);
  const Questions& questions() const;
  std::vector<std::pair<const Source*, Range>> main_loops() const;
  void find_sites();
  void find_walk();
  void sort_changes();
  std::optional<Touched> why(const Source& source, Range range) const;
  std::optional<Touched> why_by_name(std::string_view name) const;
  std::string explain(const Change& change, bool inside) const;
  std::string left_behind(const Questions::Read& read, std::string_view how) const;
  const Site* nested_site(const Change& change) const;
  bool concerns_program(const Change& change);
  std::vector<const Source*> matching(std::string_view file) const;
  std::optional<Range> region(const Source& source, const ReportedPlace& place) const;

  std::set<std::string> nested_, main_;
  std::size_t work_max_;
  bool stale_ = false, complete_ = true;
  std::vector<SourcePointer> before_, now_, rest_;
  const Source* program_ = nullptr;
  std::vector<const Source*> sources_;  // those of this program
  Changes changes_;
  std::optional<Callers> callers_;
  mutable std::optional<Questions> questions_;  ///< made when first needed, since that takes time
  std::vector<Site> sites_;
  std::vector<Touched> touched_, computation_;
  std::vector<std::string> looking_;
  std::string walk_;
};

/// Whether a file with that name is read as C or C++.
bool is_source(std::string_view path);

/// How many components two paths have in common at their ends.
std::size_t common_suffix(std::string_view a, std::string_view b);

}  // namespace flor::sources
