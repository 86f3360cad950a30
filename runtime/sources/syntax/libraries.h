// Knowledge about the standard library and libtorch: types that hold plain values, and
// functions and methods that change neither their object nor their arguments. Everything else may
// change both.
#pragma once

#include <string_view>

namespace flor::sources {

enum class Kind {
  unknown,
  number,     ///< arithmetic
  setting,    ///< a device, options, a stateless loss: changed only by assignment
  container,  ///< a standard container, string or optional of plain values
  tensor,
  module,     ///< a layer of torch::nn: calling it changes only itself
  loader,     ///< a data loader: each iteration over it begins anew
  library,    ///< another type of the standard library or of libtorch
  own,        ///< a class of the program
};

bool is_number_type(std::string_view word);
bool is_setting_type(std::string_view word);
/// A stateless loss, if it is a name of libtorch.
bool is_loss_name(std::string_view word);
/// A method that reads or sets a member of a setting.
bool is_setting_method(std::string_view name);
bool is_container_type(std::string_view word);
/// A namespace inside a library's, whose functions may have state of their own or be the program's.
bool is_open_namespace(std::string_view word);
/// A namespace whose functions format and print, and keep nothing that a program could read.
bool is_stateless_namespace(std::string_view word);
bool is_library_namespace(std::string_view word);
bool is_torch_namespace(std::string_view word);

/// The objects that a function or method leaves alone. `pure`: it changes neither its object nor
/// its arguments. `fresh`: its result refers to neither of them. `number`: its result is a number.
struct Purity {
  bool pure = false, fresh = false, number = false;
};
/// The objects that a method of tensors or of standard containers leaves alone.
Purity method_purity(std::string_view name);
/// Whether a tensor method changes the tensor from its arguments and keeps none of them. libtorch
/// marks such methods by an underscore at the end of the name.
bool works_in_place(std::string_view name);
/// The objects that a free function of the standard library or of libtorch, or a function that
/// prints, leaves alone.
Purity function_purity(std::string_view name);
/// Whether a function keeps state of its own, as std::rand does.
bool has_hidden_state(std::string_view name);

}  // namespace flor::sources
