// The kind of state that a variable is, from its declaration: how Flor keeps it, if at all.
#pragma once

#include "instrument/program.h"

#include <string>
#include <string_view>

namespace flor::instrument {

enum class StateKind {
  module,
  script,  ///< a module of TorchScript
  optimizer,
  scheduler,
  tensor,
  number,
  container,  ///< of the standard library, of things that Flor keeps
  engine,     ///< a random engine or distribution
  saved,      ///< an object of the program with save and load
  loader,
  constant,  ///< a setting, or another type without state of its own
  other,
};

struct StateType {
  StateKind kind = StateKind::other;
  std::string name;           ///< of the type, for questions; may be empty
  std::string_view own = {};  ///< the program's class
  bool tensors = false;       ///< a container of tensors
  bool objects = false;       ///< a container of modules and optimizers, or of pointers to objects
};

/// Whether it is a smart pointer.
inline bool is_pointer(const StateType& type) {
  return type.name.starts_with("unique_ptr") || type.name.starts_with("shared_ptr") ||
         type.name.starts_with("make_unique") || type.name.starts_with("make_shared");
}

/// The name of the type of iterators.
inline constexpr const char* kIterator = "an iterator";

class StateTypes {
 public:
  explicit StateTypes(const Program& program);

  StateType of(int variable) const;
  /// Whether it is declared constant, so that nothing can be restored into it.
  bool is_constant(int variable) const;
  /// Whether a constant one can be changed all the same: the handles of tensors and modules,
  /// pointers and references, and mutable members lead to what is not constant.
  bool leads(int variable) const { return leads(variable, 0); }
  /// Whether the class is a module of libtorch.
  bool is_module(std::string_view name) const { return modules_.contains(name); }
  /// Whether an object of the class is a handle to a module, which may get another one.
  bool is_holder(std::string_view name) const { return name.empty() || holders_.contains(name); }

 private:
  struct Place {
    const Reader* reader = nullptr;
    std::size_t at = 0, begin = 0;
  };

  void find_modules();
  void find_data();
  bool has_tensors(int id) const;
  bool leads(int id, int depth) const;
  bool has_leading_member(std::string_view own, int depth) const;
  bool is_mutable(int field) const;
  StateType of(int variable, int depth) const;
  StateType of_tokens(const Reader& reader, Range type, int depth) const;
  StateType of_word(std::string_view word, const std::set<std::string_view>& around) const;
  StateType of_initializer(const Reader& reader, Range value, int depth) const;
  bool is_tensor_chain(const Reader& reader, Range value, std::size_t k, int depth) const;
  StateType of_argument(int variable, int depth) const;
  Place declaration_of(int variable) const;
  bool saves_itself(std::string_view own) const;

  const Program& program_;
  std::set<std::string_view> modules_, holders_, optimizers_;
  std::set<int> data_;  ///< what loaders are made of
  mutable std::map<int, StateType> known_;
};

}  // namespace flor::instrument
