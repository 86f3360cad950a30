#include "host.h"

#include "state.h"

#include "base/hosted_program.h"
#include "sources/analysis.h"

#include <flor/adapter.h>

#include <pybind11/stl.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flor::python {
namespace {

using sources::TouchedLoop;

std::vector<TouchedLoop> touched_loops(const py::object& rows) {
  std::vector<TouchedLoop> touched;
  for (const py::handle row : rows) {
    auto [loop, why, question] = row.cast<std::tuple<std::string, std::string, std::string>>();
    touched.push_back({std::move(loop), std::move(why), std::move(question)});
  }
  return touched;
}

/// Answers which loops a change concerns, by flor/_sources, which reads Python's syntax trees.
class PythonConcerns final : public sources::Concerns {
 public:
  explicit PythonConcerns(const py::object& found)
      : found_(hold(found)),
        touched_(touched_loops(found.attr("touched"))),
        computation_(touched_loops(found.attr("computation"))),
        looking_(found.attr("looking").cast<std::vector<std::string>>()),
        walk_(found.attr("walk").cast<std::string>()),
        why_unproven_(found.attr("why_unproven").cast<std::string>()),
        nothing_changed_(found.attr("nothing_changed").cast<bool>()) {}

  sources::Proof proof() const override { return {why_unproven_.empty(), why_unproven_}; }
  const std::vector<TouchedLoop>& touched() const override { return touched_; }
  std::optional<TouchedLoop> touched(const sources::ReportedPlace& place,
                                     std::string_view name) const override {
    const py::gil_scoped_acquire lock;
    const auto rows = touched_loops(held_by(found_).attr("touched_at")(
        std::string(place.file), place.line, std::string(name)));
    return rows.empty() ? std::nullopt : std::optional(rows.front());
  }
  sources::Leaving leaving(const sources::ReportedPlace& place) const override {
    const py::gil_scoped_acquire lock;
    const py::object leaves =
        held_by(found_).attr("may_leave_function")(std::string(place.file), place.line);
    if (leaves.is_none()) return sources::Leaving::unknown;
    return leaves.cast<bool>() ? sources::Leaving::possible : sources::Leaving::impossible;
  }
  const std::vector<TouchedLoop>& computation() const override { return computation_; }
  const std::vector<std::string>& looking() const override { return looking_; }
  bool nothing_changed() const override { return nothing_changed_; }
  const std::string& walk() const override { return walk_; }

 private:
  std::shared_ptr<void> found_;
  std::vector<TouchedLoop> touched_, computation_;
  std::vector<std::string> looking_;
  std::string walk_, why_unproven_;
  bool nothing_changed_;
};

py::object text_or_none(const std::optional<std::string>& text) {
  return text ? py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
                    text->data(), static_cast<Py_ssize_t>(text->size()), "replace"))
              : py::none();
}

std::unique_ptr<sources::Concerns> analyze(const std::shared_ptr<void>& function,
                                           const sources::AnalysisInput& input) {
  const py::gil_scoped_acquire lock;
  try {
    py::list changed, rest;
    for (const auto& file : input.changed) {
      changed.append(py::make_tuple(file.path, text_or_none(file.before), text_or_none(file.now)));
    }
    for (const auto& file : input.rest) {
      rest.append(py::make_tuple(file.path, text_or_none(file.text)));
    }
    return std::make_unique<PythonConcerns>(held_by(function)(
        changed, rest, input.program, input.nested, input.main, input.complete));
  } catch (py::error_already_set& error) {
    throw Error(one_line(error));
  }
}

/// The generators and settings of the loaded ones among torch, NumPy and `random`.
detail::Adapter adapter_of(const py::object& ambient) {
  const auto function = [&](const char* name) { return hold(ambient.attr(name)); };
  detail::Adapter adapter;
  adapter.ambient.push_back(slot_of(ambient.attr("slot")));
  adapter.threads = [threads = function("threads")] {
    return interpreter_lives() ? call<int>(threads) : 1;
  };
  adapter.set_threads = [set = function("set_threads")](int count) { call<void>(set, count); };
  adapter.environment = [facts = function("environment")] {
    return call<std::map<std::string, std::string>>(facts);
  };
  adapter.generators = [text = function("generators")] { return call<std::string>(text); };
  adapter.set_generators = [set = function("set_generators")](const std::string& text) {
    call<void>(set, text);
  };
  return adapter;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }
bool is_python(std::string_view path) { return path.ends_with(".py") || path.ends_with(".pyw"); }

/// The name of the script, which need not end in ".py"; empty if the program is no script.
std::string script_name(const py::object& program) {
  const auto file = program.attr("file").cast<std::string>();
  return file == program.attr("interpreter").cast<std::string>() ? "" : std::string(file_name(file));
}

void host(const py::object& program, const py::object& ambient) {
  static_cast<void>(detail::register_adapter(adapter_of(ambient)));
  const auto function = [&](const char* name) { return hold(program.attr(name)); };
  detail::host_program(
      {.file = program.attr("file").cast<std::string>(),
       .interpreter = program.attr("interpreter").cast<std::string>(),
       .digest = [digest = function("digest")] { return call<std::string>(digest); },
       .is_source =
           [script = script_name(program)](std::string_view path) {
             return is_python(path) || file_name(path) == script;
           },
       .analyze = [find = function("analyze")](
                      const sources::AnalysisInput& input) { return analyze(find, input); },
       .carried =
           [carried = function("carried")](std::string_view loop) {
             const auto [visited, lost] =
                 call<std::tuple<std::string, std::string>>(carried, std::string(loop));
             return detail::CarriedVariables{visited, lost};
           },
       .flush =
           [flush = function("flush")] {
             try {
               if (interpreter_lives()) call<void>(flush);
             } catch (const std::exception&) {  // a closed stream has nothing left to write
             }
           }});
}

}  // namespace

void bind_host(py::module_& module) {
  module.def("host", &host);
  module.def("note_failure", [](const std::string& why, int status) {
    detail::note_failure({why, static_cast<ExitStatus>(status)});
  });
}

}  // namespace flor::python
