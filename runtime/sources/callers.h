// Finds all code that could execute changed functions, declarations and macros, by following their
// names to their callers.
#pragma once

#include "sources/changes.h"
#include "sources/syntax/source.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace flor::sources {

class Callers {
 public:
  /// `sources` are those of one program, and must outlive this object.
  explicit Callers(const std::vector<const Source*>& sources);

  /// Follows each change to its callers.
  void follow(const std::vector<Change>& changes);

  /// Returns the index of a change that executing the code in `range` may reach; nothing if there
  /// is none.
  std::optional<std::size_t> reached_from(const Source& source, Range range) const;
  /// Returns the index of a change that may be reached from any code, also from outside these
  /// sources; nothing if there is none.
  std::optional<std::size_t> anywhere() const { return anywhere_; }

  /// Whether code of `root` may use, directly or through calls, something with one of these names.
  bool uses(const Source& root, const std::vector<std::string_view>& names);

 private:
  struct Callable {
    const Source* source;
    Range range;
    std::vector<std::string_view> names;
    bool function = false, anywhere = false;
  };

  void collect(const Source& source);
  void add(Callable callable);
  void find_escapes(const Source& source);
  bool escapes(const Source& source, std::size_t at) const;
  /// Which tokens after a type and a name may begin the initializer of a variable.
  /// `not_parenthesis`: not "(", since `Part part(1)` could also declare a function.
  enum class Beginning { any, not_parenthesis };
  bool is_variable(const Source& source, std::size_t at, Beginning beginning) const;
  bool may_mean_entry(const Source& source, std::size_t at) const;
  bool mentions_entry(const Source& source) const;
  bool called_from_anywhere(const Callable& callable) const;
  void taint(std::string_view name, std::size_t change);
  void taint_anywhere(const Callable& callable, std::size_t change);

  std::vector<const Source*> sources_;
  std::vector<Callable> callables_;
  // The callables that mention a name, by that name.
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> mentions_;
  std::unordered_map<std::string_view, std::int64_t> uses_;  // all mentions except definitions
  std::unordered_set<std::string_view> functions_, lambdas_, escaped_, derived_, added_;
  std::unordered_map<std::string_view, std::size_t> tainted_;  // from name to change
  std::vector<std::string_view> open_;
  bool entry_is_mentioned_ = false;
  std::optional<std::size_t> anywhere_;
  std::unordered_set<std::string_view> used_;  // names used from the root
  const Source* root_ = nullptr;
};

}  // namespace flor::sources
