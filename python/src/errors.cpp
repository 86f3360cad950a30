#include "errors.h"

#include "base/hosted_program.h"

#include <string>

namespace flor::python {
namespace {

struct Classes {
  py::object error, usage, not_found, damaged, busy;
};

/// Never destroyed, because Python ends before static objects are destroyed.
Classes& classes() {
  static auto* const known = new Classes;
  return *known;
}

void raise(const py::object& type, const Error& cause) {
  const std::string line = detail::in_words_of_program(cause.what());
  const auto raised =
      py::reinterpret_steal<py::object>(PyObject_CallFunction(type.ptr(), "s", line.c_str()));
  if (!raised) return;
  raised.attr("status") = static_cast<int>(cause.status());
  PyErr_SetObject(type.ptr(), raised.ptr());
}

}  // namespace

void raise_in_python(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const UsageError& cause) {
    raise(classes().usage, cause);
  } catch (const NotFound& cause) {
    raise(classes().not_found, cause);
  } catch (const Damaged& cause) {
    raise(classes().damaged, cause);
  } catch (const Busy& cause) {
    raise(classes().busy, cause);
  } catch (const Error& cause) {
    raise(classes().error, cause);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void bind_errors(py::module_& module) {
  // Those that Python code makes have the status of their class.
  const auto add = [&](const char* name, const py::object& base, ExitStatus status) {
    const std::string full = std::string("flor.") + name;
    const py::dict members(py::arg("status") = static_cast<int>(status));
    auto type = py::reinterpret_steal<py::object>(
        PyErr_NewException(full.c_str(), base.ptr(), members.ptr()));
    module.attr(name) = type;
    return type;
  };
  const auto runtime_error = py::reinterpret_borrow<py::object>(PyExc_RuntimeError);
  Classes& known = classes();
  known.error = add("Error", runtime_error, ExitStatus::failed);
  known.usage = add("UsageError", known.error, ExitStatus::usage);
  known.not_found = add("NotFound", known.error, ExitStatus::not_found);
  known.damaged = add("Damaged", known.error, ExitStatus::damaged);
  known.busy = add("Busy", known.error, ExitStatus::busy);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error&) {
      raise_in_python(std::current_exception());
    }
  });
}

}  // namespace flor::python
