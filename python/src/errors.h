// Flor's errors as Python exceptions: one class for each exit status.
#pragma once

#include "gil.h"

#include <exception>

namespace flor::python {

/// Adds Error and its derived classes to the module.
void bind_errors(py::module_& module);

/// Sets Python's error indicator for any C++ exception; an exception of Python itself is restored.
void raise_in_python(std::exception_ptr thrown);

}  // namespace flor::python
