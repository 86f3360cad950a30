// Flor's errors as exceptions of Python: one class each, with the exit status that it stands for.
#pragma once

#include "gil.h"

#include <exception>

namespace flor::python {

/// Adds Error and the classes derived from it.
void bind_errors(py::module_& module);

/// Sets Python's error indicator. Any exception; one of Python's own is restored.
void raise_in_python(std::exception_ptr thrown);

}  // namespace flor::python
