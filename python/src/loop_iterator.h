// The iterator over a flor.loop that a `for` statement of Python holds. When the statement releases
// it, the loop has ended: its range was exhausted, or it was left by `break`, `return` or an
// exception.
#pragma once

#include "gil.h"

namespace flor::python {

/// Adds the type LoopIterator(name, iterable, probed, attached, file, line).
void bind_loop_iterator(py::module_& module);

}  // namespace flor::python
