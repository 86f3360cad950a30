// A program as the analysis of effects sees it: functions with their statements, and the variables
// that names in them mean. By names, without a compiler: variables that it cannot distinguish are
// one.
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
  bool frozen = false;        ///< constant with all that it holds: plain values, or `element`
  bool restarts = false;      ///< a container, of any elements: iterating it changes nothing
  bool pointer = false;
  bool view = false;          ///< of text or numbers that something else holds
  bool file = false;          ///< a stream to or from a file, or a device
  bool named = false;         ///< a class, by value, that these sources do not have
  bool tensors = false;       ///< a container of tensors, and of plain values
  bool standard = false;      ///< of the standard library: has a state of its own, or none
  bool torch = false;         ///< of libtorch: takes plain values by value
  std::string_view own = {};  ///< name of the program's class
  std::string_view element = {};  ///< the program's class that a container holds
};

/// A variable: a local, a parameter, or all members and variables of namespaces that have one name,
/// taken together.
struct Variable {
  std::string_view name;
  int body = -1;    ///< -1: shared by all functions
  Range scope = {};
  std::size_t at = 0;  ///< where it is declared
  Type type;
  int parameter = -1;
  bool persistent = false;  ///< outlives the function: static or shared
  bool external = false;    ///< some declaration says `extern`
  bool c_linkage = false;   ///< code in any language can name it
  bool binding = false;
  bool array = false;      ///< or shares its memory with others: its name is an address
  bool is_result = false;  ///< what a function returns

  /// Other code than these sources can name it, since they do not define it or by its C linkage.
  bool is_open() const { return body < 0 && (at == 0 || c_linkage); }
};

/// A statement, or the header of one that controls others.
struct Step {
  Range range;
  Range whole;      ///< with all that it controls
  int parent = -1;  ///< the header that decides whether it is executed
  Range function;   ///< the lambda or function it belongs to
  bool is_loop = false, is_switch = false;
  const ForLoop* flor = nullptr;  ///< the header of a loop that flor::loop wraps
};

/// A function, or the initializer of a variable outside of functions.
struct Body {
  const Reader* reader = nullptr;
  const Piece* piece = nullptr;
  Range head, block;
  std::vector<int> parameters;
  int self = -1;  ///< the object it is called on
  int result = -1;
  Type result_type;
  std::vector<Step> steps;
  std::unordered_map<std::string_view, std::vector<int>> locals;

  bool is_constructor() const;
  bool is_destructor() const;
  bool copies() const;
};

/// An operator, a conversion, or the begin or end of a range: expressions call it without its name.
bool is_implicit(const Body& body);

class Model {
 public:
  /// The sources must outlive this.
  explicit Model(const std::vector<const Source*>& sources);

  const std::deque<Body>& bodies() const { return bodies_; }
  const std::vector<Variable>& variables() const { return variables_; }
  Variable& variable(int id) { return variables_[static_cast<std::size_t>(id)]; }
  const Variable& variable(int id) const { return variables_[static_cast<std::size_t>(id)]; }

  /// The variable that `name` means at `at`; -1 where none of that name is declared.
  int resolve(int body, std::string_view name, std::size_t at) const;
  /// The local variable that is declared at `at`.
  /// All that code keeps which these sources do not show: libraries', and that of the system.
  int outside() const { return outside_; }
  int declared_at(int body, std::string_view name, std::size_t at) const;
  int shared(std::string_view name);
  int resolve_shared(std::string_view name) const { return shared_.at(name); }
  bool is_field(std::string_view name) const { return fields_.contains(name); }
  /// A part of objects, and never of a class or namespace.
  bool is_part(std::string_view name) const {
    return is_field(name) && !not_only_fields_.contains(name);
  }
  bool is_shared(std::string_view name) const { return shared_.contains(name); }
  /// Kept with the object that holds it: a registered part of a module, or written by `save`.
  bool is_kept_by_owner(std::string_view name) const { return kept_by_owner_.contains(name); }
  const std::vector<int>& functions(std::string_view name) const;
  bool is_class(std::string_view name) const { return classes_.contains(name); }
  /// Derived from a class that neither these sources nor the known libraries have.
  bool has_foreign_base(std::string_view own) const { return foreign_bases_.contains(own); }
  /// A class or namespace that these sources have, or add to.
  bool is_scope(std::string_view name) const {
    return classes_.contains(name) || namespaces_.contains(name);
  }
  /// In the order of their declaration.
  const std::vector<std::string_view>& fields_of(std::string_view own) const;
  /// The type of the member that `auto [a, b, ...]` of `count` names calls by the name at `index`;
  /// unknown where the class has another number of members.
  Type part_of(std::string_view own, std::size_t index, std::size_t count) const;
  /// The type that is written there.
  Type type_of(const Reader& reader, Range tokens) const;
  /// All of its members are plain values: a copy refers to nothing.
  bool is_plain_class(std::string_view own) const;
  const Inner* macro(std::string_view name) const;
  const Inner* lambda_at(const Source& source, std::size_t at) const;
  const Source* source_of_macro(std::string_view name) const;
  /// Names without qualifiers may be another library's.
  bool uses_other_namespace() const { return uses_other_namespace_; }
  /// Another library's, by `using library::name;`.
  bool is_foreign_name(std::string_view name) const { return foreign_names_.contains(name); }
  /// The members of the union that has one of that name: they share their memory.
  const std::vector<std::string_view>& in_union_with(std::string_view name) const;
  /// Layers and functions of libtorch may work in place, since the program says so somewhere.
  bool mentions_inplace() const { return mentions_inplace_; }
  /// The return type of a function that is declared and not defined here, or nothing.
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
  std::set<std::string_view> classes_, namespaces_, foreign_bases_, foreign_names_;
  std::map<std::string_view, std::vector<std::string_view>> class_fields_, unions_;
  std::unordered_map<std::string_view, std::pair<const Source*, const Inner*>> macros_;
  std::map<std::pair<const Source*, std::size_t>, const Inner*> lambdas_;
  int outside_ = -1;
  bool mentions_inplace_ = false, uses_other_namespace_ = false;
};

}  // namespace flor::sources
