// What loops leave behind in variables that nobody keeps: a replay that loads the end of a loop
// instead of executing it, or begins with a later epoch, does not have them.
#pragma once

#include "sources/changes.h"
#include "sources/source.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::sources {

class Leftovers {
 public:
  /// The sources of one program; they must outlive this.
  explicit Leftovers(const std::vector<const Source*>& sources);

  struct Shown {
    const Change* change = nullptr;
    std::string variable;  ///< or function
  };
  /// Changed code outside of the loop that uses what the loop changes, by assignments, calls that
  /// change a container, and values that functions return. Registered and attached names count as
  /// kept, wherever they are. By names alone, as a person reads.
  std::optional<Shown> of_nested(const Source& source, Range loop,
                                 const std::vector<Change>& changes) const;
  /// The same for a main loop: what outlives its iterations. Code in the loop counts, too.
  std::optional<Shown> of_main(const Source& source, Range loop,
                               const std::vector<Change>& changes) const;

 private:
  using Names = std::set<std::string_view>;
  struct Function {
    const Source* source;
    const Piece* piece;
    Names declared;  ///< parameters and locals
  };
  struct Taint {
    std::map<const Piece*, Names> locals;
    Names shared;      ///< members and variables of namespaces
    Names functions;   ///< that return it
    Names references;  ///< functions that change what they are given
  };

  const Function* function_at(const Source& source, std::size_t at) const;
  std::optional<Shown> find(const Source& source, Range loop, const std::vector<Change>& changes,
                            bool main) const;
  Names changed_by(const Source& source, Range loop) const;
  Names kept_by_header(const Source& source, Range loop) const;
  bool add(Taint& taint, const Function& function, std::string_view name) const;
  bool spread(Taint& taint, const Function& function) const;
  std::string_view tainted_word(const Taint& taint, const Function& function, Range range) const;

  std::vector<Function> functions_;
  Names kept_;
};

}  // namespace flor::sources
