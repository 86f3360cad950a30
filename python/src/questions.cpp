#include "questions.h"

#include "load/query_call.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace flor::python {

using detail::QueryCall;

void bind_questions(py::module_& module) {
  py::class_<QueryCall>(module, "QueryCall")
      .def(py::init([](const std::string& words) {
        const py::gil_scoped_release released;
        return std::make_unique<QueryCall>(words);
      }))
      .def_property_readonly("keeps", &QueryCall::keeps)
      .def_property_readonly_static("own_runs",
                                    [](const py::object&) { return QueryCall::own_runs(); })
      .def("recorded", &QueryCall::recorded)
      .def("begin", &QueryCall::begin)
      .def("end", &QueryCall::end)
      .def("keep",
           [](QueryCall& call, const std::string& answer) {
             try {
               call.refuse_secret({}, answer);
             } catch (const UsageError& error) {
               call.keep_error(error.status(), error.what());
               throw;
             }
             call.keep(answer);
           })
      .def("keep_error",
           [](QueryCall& call, int status, const std::string& message) {
             call.keep_error(static_cast<ExitStatus>(status), message);
           })
      .def("entered", [](const QueryCall& call, const std::string& answer, std::int64_t rows,
                         std::vector<std::string> runs) {
        const py::gil_scoped_release released;
        call.entered(answer, rows, std::move(runs));
      });
}

}  // namespace flor::python
