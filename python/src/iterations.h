// Values of iterations in Python, and flor.iteration.
#pragma once

#include "gil.h"

#include <cstdint>
#include <string>
#include <variant>

namespace flor::python {

/// What an element is as the value of an iteration: a number, a text or a path; nothing for any
/// other, and for one that cannot be read. Never raises, and runs no code of the program but that
/// of
/// __fspath__.
using IterationValue = std::variant<std::monostate, std::int64_t, double, std::string>;

/// Knows the type of the element before, so that batches and tensors cost one comparison.
class IterationValues {
 public:
  IterationValue of(PyObject* element);

 private:
  py::object without_value_;  // a type
};

/// Adds the type Iteration(name, index, value) with end().
void bind_iterations(py::module_& module);

}  // namespace flor::python
