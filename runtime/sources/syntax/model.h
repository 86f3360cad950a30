// A program as the analysis of effects sees it: functions with their statements, and the variables
// that the names in them mean. There is no compiler, only names: variables that names cannot
// distinguish count as one.
#pragma once

#include "sources/syntax/libraries.h"
#include "sources/syntax/reader.h"
#include "sources/syntax/source.h"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace flor::sources {

struct Type {
  Kind kind = Kind::unknown;
  bool constant = false, reference = false, deduced = false;
  /// The object and all that it holds are constant: plain values, or objects of class `element`.
  bool frozen = false;
  bool restarts = false;      ///< a container, of any elements, that iterating does not change
  bool pointer = false;
  bool view = false;          ///< refers to text or numbers that something else holds
  bool file = false;          ///< a stream to or from a file, or a device
  bool named = false;         ///< a class, held by value, that is not in these sources
  bool tensors = false;       ///< a container of tensors and of plain values
  /// A type of namespace std whose objects refer to nothing outside: each has its own state, or
  /// none.
  bool standard = false;
  bool torch = false;         ///< of libtorch: takes plain values by value
  std::string_view own = {};  ///< name of the program's class
  std::string_view element = {};  ///< the program's class that a container holds
};

/// A local, a parameter, or a shared variable: all members and namespace variables with the same
/// name count as one.
struct Variable {
  std::string_view name;
  int body = -1;    ///< the function it is local to; -1: shared by all
  Range scope = {};
  std::size_t at = 0;  ///< position of its declaration
  Type type;
  int parameter = -1;
  bool persistent = false;  ///< outlives the function: static or shared
  bool external = false;    ///< some declaration of it says `extern`
  bool c_linkage = false;   ///< code in any language can name it
  bool binding = false;
  bool array = false;      ///< or in a union: its name stands for its address
  bool is_result = false;  ///< the return value of a function

  /// Whether code outside these sources can name it: they do not define it, or it has C linkage.
  bool is_open() const { return body < 0 && (at == 0 || c_linkage); }
};

/// A statement, or the header of one that controls others.
struct Step {
  Range range;
  Range whole;      ///< together with all that it controls
  int parent = -1;  ///< the header that decides whether it is executed; -1: none
  Range function;   ///< the lambda or function that contains it
  bool is_loop = false, is_switch = false;
  const ForLoop* flor = nullptr;  ///< the header of a loop that flor::loop wraps
};

/// A function, or the initializer of a variable outside of functions.
struct Body {
  const Reader* reader = nullptr;
  const Piece* piece = nullptr;
  Range head, block;
  std::vector<int> parameters;
  int self = -1;  ///< variable of the object it is called on; -1: none
  int result = -1;
  Type result_type;
  std::vector<Step> steps;
  std::unordered_map<std::string_view, std::vector<int>> locals;

  bool is_constructor() const;
  bool is_destructor() const;
  bool copies() const;
};

/// Whether expressions call the function without naming it: operators, conversions, begin and end
/// of ranges.
bool is_implicit(const Body& body);

class Model {
 public:
  /// `sources` must outlive this object.
  explicit Model(const std::vector<const Source*>& sources);

  const std::deque<Body>& bodies() const { return bodies_; }
  const std::vector<Variable>& variables() const { return variables_; }
  Variable& variable(int id) { return variables_[static_cast<std::size_t>(id)]; }
  const Variable& variable(int id) const { return variables_[static_cast<std::size_t>(id)]; }

  /// The variable that `name` means at position `at`; -1 if no such variable is declared.
  int resolve(int body, std::string_view name, std::size_t at) const;
  /// The variable that stands for all state outside these sources: of libraries, and of the system.
  int outside() const { return outside_; }
  /// The local variable that is declared at `at`.
  int declared_at(int body, std::string_view name, std::size_t at) const;
  int shared(std::string_view name);
  int resolve_shared(std::string_view name) const { return shared_.at(name); }
  bool is_field(std::string_view name) const { return fields_.contains(name); }
  /// Whether the name only ever means a member of objects, and never a class or namespace.
  bool is_part(std::string_view name) const {
    return is_field(name) && !not_only_fields_.contains(name);
  }
  bool is_shared(std::string_view name) const { return shared_.contains(name); }
  /// Whether the member of that name is saved with the object that holds it: registered in a
  /// module, or written by `save`.
  bool is_kept_by_owner(std::string_view name) const { return kept_by_owner_.contains(name); }
  const std::vector<int>& functions(std::string_view name) const;
  bool is_class(std::string_view name) const { return classes_.contains(name); }
  /// Whether the class `own` derives from a class that neither these sources nor the known
  /// libraries have.
  bool has_foreign_base(std::string_view own) const { return foreign_bases_.contains(own); }
  /// Whether the name is that of a class or namespace that these sources define or extend.
  bool is_scope(std::string_view name) const {
    return classes_.contains(name) || namespaces_.contains(name);
  }
  /// The members of a class, in the order of their declaration.
  const std::vector<std::string_view>& fields_of(std::string_view own) const;
  /// The type of the member that `auto [a, b, ...]` with `count` names binds to the name at
  /// `index`. Unknown if the class does not have `count` members.
  Type part_of(std::string_view own, std::size_t index, std::size_t count) const;
  /// The type that the tokens spell.
  Type type_of(const Reader& reader, Range tokens) const;
  /// Whether all members of the class `own` are plain values, so that a copy refers to nothing
  /// else.
  bool is_plain_class(std::string_view own) const;
  const Inner* macro(std::string_view name) const;
  const Inner* lambda_at(const Source& source, std::size_t at) const;
  const Source* source_of_macro(std::string_view name) const;
  /// Whether unqualified names may belong to another library.
  bool uses_other_namespace() const { return uses_other_namespace_; }
  /// Whether the word, without a qualifier, may be a name of libtorch that a using makes known.
  bool is_torch_name(std::string_view word) const {
    return uses_torch_namespace_ || torch_names_.contains(word);
  }
  /// Whether the word at `k` is a stateless loss of libtorch, by its name and its namespace.
  bool is_loss(const Reader& reader, std::size_t k) const;
  /// Whether the name was taken from another library by `using library::name;`.
  bool is_foreign_name(std::string_view name) const { return foreign_names_.contains(name); }
  /// The members of the union that has a member with that name. They share their memory.
  const std::vector<std::string_view>& in_union_with(std::string_view name) const;
  /// Whether the program mentions in-place work of libtorch, so that its layers and functions may
  /// do it.
  bool mentions_inplace() const { return mentions_inplace_; }
  /// The return type of a function that is declared but not defined in these sources; null if
  /// unknown.
  const Type* prototype(std::string_view name) const;

 private:
  void find_foreign_names(const std::vector<const Source*>& sources);
  void find_unions(const Source& source);
  void find_foreign_bases(const std::vector<const Source*>& sources);
  void find_aliases(const Source& source);
  void add_source(const Source& source);
  void add_body(const Reader& reader, const Piece& piece);
  void add_declaration(const Reader& reader, const Piece& piece);
  void find_kept_by_owner(const Reader& reader);
  void find_locals(int body, Range range);
  Range scope_of(const Body& body, std::size_t at) const;
  int add_variable(Variable variable);
  void find_steps(Body& body);

  std::vector<std::unique_ptr<Reader>> readers_;
  std::deque<Body> bodies_;
  std::vector<Variable> variables_;
  std::unordered_map<std::string_view, int> shared_;
  std::unordered_map<std::string_view, std::vector<int>> functions_;
  std::set<std::string_view> fields_, not_only_fields_, kept_by_owner_;
  std::unordered_map<std::string_view, Type> prototypes_, aliases_;
  std::set<std::string_view> classes_, namespaces_, foreign_bases_, foreign_names_,
      torch_names_;
  std::map<std::string_view, std::vector<std::string_view>> class_fields_, unions_;
  std::unordered_map<std::string_view, std::pair<const Source*, const Inner*>> macros_;
  std::map<std::pair<const Source*, std::size_t>, const Inner*> lambdas_;
  int outside_ = -1;
  bool mentions_inplace_ = false, uses_other_namespace_ = false,
       uses_torch_namespace_ = false;
};

}  // namespace flor::sources
