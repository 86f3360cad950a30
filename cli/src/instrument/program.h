// A program that may know nothing of Flor: its sources, loops and calls, and the loops that train.
#pragma once

#include "sources/analysis.h"
#include "sources/effects/effects.h"
#include "sources/syntax/source.h"

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::instrument {

using sources::Body;
using sources::Range;
using sources::Reader;
using sources::Source;
using sources::Step;
using sources::Variable;

/// A `for`, `while` or `do`: the statement that is its header.
struct Loop {
  int body = -1, step = -1;
  auto operator<=>(const Loop&) const = default;
};

class Program {
 public:
  explicit Program(std::vector<sources::SourceText> texts);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::vector<sources::SourcePointer>& files() const { return files_; }
  const sources::Model& model() const { return *model_; }
  const sources::Effects& effects() const { return *effects_; }
  const Body& body(int id) const { return model_->bodies()[static_cast<std::size_t>(id)]; }
  const Step& step(Loop loop) const {
    return body(loop.body).steps[static_cast<std::size_t>(loop.step)];
  }
  const Variable& variable(int id) const { return model_->variable(id); }
  const Source& source_of(int body) const { return this->body(body).reader->source(); }
  std::string place(int body, std::size_t at) const;

  int entry() const { return entry_; }  ///< the function main; -1: the sources have none, or two
  bool uses_torch() const { return uses_torch_; }

  /// The outermost loops of the function in `range`, without those in lambdas.
  std::vector<Loop> loops_in(int body, Range range) const;
  /// Whether the code in `range`, or what it calls, computes gradients or takes steps of an
  /// optimizer.
  bool trains(int body, Range range) const;
  /// The functions of these sources that the code in `range` calls directly.
  std::set<int> called_in(int body, Range range) const;

  struct Caller {
    int body, step;
    const sources::Call* call;
  };
  const std::vector<Caller>& callers(int body) const;

  /// The statements of the function in `range`, also those in lambdas.
  std::vector<int> steps_in(int body, Range range) const;
  bool mentions(int body, Range range, int variable) const;
  /// The statement that declares a local variable; empty if there is none.
  Range declaration_of(int variable) const;

 private:
  bool trains(int body, Range range, std::set<int>& seen) const;
  bool is_called(const Body& by, Range range, int callee) const;

  std::vector<sources::SourcePointer> files_;
  std::unique_ptr<sources::Model> model_;
  std::unique_ptr<sources::Effects> effects_;
  std::map<int, std::vector<Caller>> callers_;
  int entry_ = -1;
  bool uses_torch_ = false;
};

/// Whether a member is named after the token at `k`.
inline bool is_access(const Reader& reader, std::size_t k) {
  return reader.is(k, ".") || reader.is(k, "->");
}
/// Whether the name at `k` is that of a member of something.
inline bool is_member(const Reader& reader, std::size_t k) {
  return k > 0 && is_access(reader, k - 1);
}

inline bool is_within(Range outer, Range inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

}  // namespace flor::instrument
