// Lists of the standard library and of libtorch: types that hold plain values, and functions and
// methods that change neither their object nor their arguments.
// Everything that is not listed may change both.
#pragma once

#include <string_view>

namespace flor::sources {

enum class Kind {
  unknown,
  number,     ///< arithmetic
  setting,    ///< a device, options, a loss without state: changed by assignment only
  container,  ///< standard container, string or optional of plain values
  tensor,
  module,     ///< a layer of torch::nn: called, it changes nothing but itself
  loader,     ///< a data loader: its iteration begins anew each time
  library,    ///< other type of the standard library or of libtorch
  own,        ///< a class of the program
};

bool is_number_type(std::string_view word);
bool is_setting_type(std::string_view word);
/// A method that reads a setting, or sets it.
bool is_setting_method(std::string_view name);
bool is_container_type(std::string_view word);
/// A namespace in a library's whose functions have a state of their own, or may be the program's.
bool is_open_namespace(std::string_view word);
/// Formats and prints, and keeps nothing that a program could read.
bool is_stateless_namespace(std::string_view word);
bool is_library_namespace(std::string_view word);
bool is_torch_namespace(std::string_view word);

/// Methods of tensors and of standard containers. `fresh`: the result refers to nothing of theirs.
struct Purity {
  bool pure = false, fresh = false, number = false;
};
Purity method_purity(std::string_view name);
/// A tensor method that changes the tensor by its arguments, and keeps none of them: libtorch marks
/// these by an underscore at the end.
bool works_in_place(std::string_view name);
/// Free functions of the standard library, of libtorch, and those that print.
Purity function_purity(std::string_view name);
/// Functions that keep a state of their own, as std::rand does.
bool has_hidden_state(std::string_view name);

}  // namespace flor::sources
