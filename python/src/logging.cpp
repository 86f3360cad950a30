#include "logging.h"

#include <flor/log.h>

#include <pybind11/stl.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::python {
namespace {

std::string_view text_of(PyObject* object) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  return text ? std::string_view(text, static_cast<std::size_t>(size)) : std::string_view();
}

/// Logs an integer; as text, as in C++, if it does not fit into 64 bits with sign.
void log_whole(std::string_view name, PyObject* value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow == 0) return detail::log_integer(name, number);
  const auto text = py::reinterpret_steal<py::object>(PyObject_Str(value));
  detail::log_text(name, text_of(text.ptr()));
}

/// log(name, value) -> bool. Returns false if the value has none of Python's basic types, so that
/// Python code must convert it. Without a session it returns true without looking at the value.
PyObject* log_value(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !PyUnicode_Check(arguments[0])) {
    PyErr_SetString(PyExc_TypeError, "flor.log(name, value): the name is a text");
    return nullptr;
  }
  if (!detail::logging()) Py_RETURN_TRUE;
  const std::string_view name = text_of(arguments[0]);
  if (PyErr_Occurred()) return nullptr;
  PyObject* value = arguments[1];
  if (PyFloat_CheckExact(value)) {
    detail::log_real(name, PyFloat_AS_DOUBLE(value));
  } else if (PyBool_Check(value)) {
    detail::log_boolean(name, value == Py_True);
  } else if (PyLong_CheckExact(value)) {
    log_whole(name, value);
  } else if (PyUnicode_CheckExact(value)) {
    const std::string_view text = text_of(value);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      detail::log_refused(name, "the text has a half of a surrogate pair, which UTF-8 has not");
    } else {
      detail::log_text(name, text);
    }
  } else {
    Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

PyMethodDef log_definition = {"log", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&log_value)),
                              METH_FASTCALL, "log(name, value)"};

std::span<const std::byte> at(std::uintptr_t address, std::size_t bytes) {
  return {reinterpret_cast<const std::byte*>(address), bytes};
}

void log_content(const std::string& name, bool image, int type, std::vector<std::int64_t> sizes,
                 std::uintptr_t address, std::size_t bytes) {
  detail::log_content(name, image,
                      {.name = name,
                       .type = static_cast<store::ElementType>(type),
                       .sizes = std::move(sizes),
                       .bytes = bytes},
                      at(address, bytes));
}

void log_histogram(const std::string& name, std::uintptr_t address, std::size_t count, int bins) {
  detail::log_histogram(name, {reinterpret_cast<const double*>(address), count}, bins);
}

void log_table(const std::string& name, std::vector<std::string> columns,
               std::vector<std::vector<double>> rows, std::vector<std::string> row_names) {
  detail::log_table(name, {std::move(columns), std::move(rows), std::move(row_names)});
}

}  // namespace

void bind_logging(py::module_& module) {
  module.attr("log") =
      py::reinterpret_steal<py::object>(PyCFunction_New(&log_definition, nullptr));
  module.def("logging", &detail::logging);
  module.def("log_json", [](const std::string& name, const std::string& text) {
    detail::log_json(name, text);
  });
  module.def("log_refused", [](const std::string& name, const std::string& reason) {
    detail::log_refused(name, reason);
  });
  module.def("log_content", &log_content);
  module.def("log_histogram", &log_histogram);
  module.def("log_table", &log_table);
}

}  // namespace flor::python
