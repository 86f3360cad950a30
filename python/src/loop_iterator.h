// The iterator that a `for` statement of Python holds while it executes a flor.loop. When the
// statement lets it go, the loop has ended: by its range, by `break`, or by an exception.
#pragma once

#include "gil.h"

namespace flor::python {

/// Adds the type LoopIterator(name, iterable, probed, attached, file, line).
void bind_loop_iterator(py::module_& module);

}  // namespace flor::python
