// The module flor._engine: Flor's engine for Python. Users call the Python files in flor/, which
// call it.
#include "base/hosted_program.h"
#include "errors.h"
#include "gil.h"
#include "host.h"
#include "iterations.h"
#include "logging.h"
#include "loop_iterator.h"
#include "pinned.h"
#include "questions.h"
#include "session/runtime.h"
#include "state.h"

#include <flor/arg.h>
#include <flor/checkpoint_strategy.h>
#include <flor/load.h>
#include <flor/overlap.h>
#include <flor/session.h>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace flor::python {
namespace {

/// Never destroyed: at exit the session is ended with the exit status of the process, which a
/// destructor would not know.
std::optional<Session>& session() {
  static auto* const open = new std::optional<Session>;
  return *open;
}

/// Opens the session that the words ask for. Returns the words that are not Flor's.
std::vector<std::string> open(std::vector<std::string> words, const std::string& script) {
  static auto* const file = new std::string;
  *file = script;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  {
    const py::gil_scoped_release released;
    Session opened = detail::open_session(argc, argv.data(), file->c_str());
    // A session before has ended, or none could be opened.
    session().emplace(std::move(opened));
  }
  return {argv.begin(), argv.begin() + argc};
}

/// One of the sessions that a program opens one after another. `words`: what is asked for.
void open_one(std::vector<std::string> words, std::vector<std::string> command,
              const std::string& script) {
  static auto* const file = new std::string;
  *file = script;
  const py::gil_scoped_release released;
  session().emplace(detail::open_one_of_many(std::move(words), std::move(command), file->c_str()));
}

void finish() {
  const py::gil_scoped_release released;
  if (session()) session()->finish();
}

std::string mode_name() {
  switch (mode()) {
    case Mode::record:
      return "record";
    case Mode::replay:
      return "replay";
    case Mode::off:
      break;
  }
  return "off";
}

py::object argument(const std::string& name, const py::object& fallback) {
  if (fallback.is_none()) {
    return py::cast(detail::resolve_argument<std::string>(name, std::nullopt));
  }
  if (PyBool_Check(fallback.ptr())) return py::cast(arg(name, fallback.cast<bool>()));
  if (PyLong_Check(fallback.ptr())) return py::cast(arg(name, fallback.cast<std::int64_t>()));
  if (PyFloat_Check(fallback.ptr())) return py::cast(arg(name, fallback.cast<double>()));
  return py::cast(arg(name, fallback.cast<std::string>()));
}

void keep(std::optional<std::int64_t> num_to_keep, const std::string& attribute, bool highest,
          bool newer) {
  store::CheckpointStrategy strategy;
  if (num_to_keep) strategy.num_to_keep = *num_to_keep;
  strategy.score_attribute = attribute;
  strategy.score_order = highest ? ScoreOrder::max : ScoreOrder::min;
  strategy.tie = newer ? Tie::newer : Tie::older;
  const py::gil_scoped_release released;
  if (session()) session()->keep(strategy);
}

py::object described(const std::optional<Checkpoint>& checkpoint) {
  if (!checkpoint || !*checkpoint) return py::none();
  return py::make_tuple(checkpoint->run, checkpoint->epoch, checkpoint->name, checkpoint->score,
                        checkpoint->address());
}

void bind_session(py::module_& module) {
  module.def("open", &open);
  module.def("open_one", &open_one);
  module.def("finish", &finish);
  module.def("fail", [](const std::string& why) {
    {
      const py::gil_scoped_release released;
      detail::fail_session(why);
    }
    finish();
  });
  module.def("mode", &mode_name);
  module.def("active", [] { return detail::session_active.load(); });
  module.def("home", [] { return detail::home_without_session(); });
  module.def("run", [] { return session() ? session()->run() : std::string(); });
  module.def("catching_up", &catching_up);
  module.def("input", [](const std::filesystem::path& path) {
    const py::gil_scoped_release others_run;
    input(path);
  });
  module.def("output", [](const std::filesystem::path& path) { return output(path); });
  module.def("arg", &argument);
  module.def("fence", [] {
    const py::gil_scoped_release released;
    fence();
  });
  module.def("add_slots", [](const py::iterable& objects, bool overlapping) {
    std::vector<detail::Slot> slots = slots_of(objects);
    for (detail::Slot& slot : slots) slot.overlapping = overlapping;
    return detail::add_slots(std::move(slots));
  });
  // Counts state registered before flor.init, which would silently be lost: the session then
  // refuses to begin.
  module.def("note_early", [](std::size_t count) {
    static_cast<void>(detail::add_slots(std::vector<detail::Slot>(count)));
  });
  module.def("drop_slots",
             [](const std::vector<std::uint64_t>& tickets) { detail::drop_slots(tickets); });
}

void bind_checkpoints(py::module_& module) {
  module.def("keep", &keep);
  module.def("save_checkpoint",
             [](const std::string& name, const std::map<std::string, double>& scores,
                const py::iterable& objects) {
               std::vector<detail::Slot> slots = slots_of(objects);
               Checkpoint saved;
               {
                 const py::gil_scoped_release released;
                 saved = detail::save_checkpoint(name, scores, std::move(slots));
               }
               return described(saved);
             });
  const auto find = [](auto function) {
    return [function] {
      std::optional<Checkpoint> found;
      {
        const py::gil_scoped_release released;
        found = function();
      }
      return described(found);
    };
  };
  module.def("load", [](const std::string& address, const py::iterable& objects) {
    std::vector<detail::Slot> slots = slots_of(objects);
    Checkpoint loaded;
    {
      const py::gil_scoped_release released;
      loaded = detail::load_checkpoint(address, std::move(slots));
    }
    return described(loaded);
  });
  module.def("load_to_file", [](const std::string& address, const std::filesystem::path& file) {
    const py::gil_scoped_release released;
    detail::load_to_file(address, file);
  });
  module.def("best_checkpoint", find([] { return best_checkpoint(); }));
  module.def("latest_checkpoint", find([] { return latest_checkpoint(); }));
}

}  // namespace
}  // namespace flor::python

PYBIND11_MODULE(_engine, module) {
  namespace py = flor::python;
  module.doc() = "Flor's engine; see the module flor.";
  module.attr("__version__") = FLOR_VERSION;
  py::bind_errors(module);
  py::bind_session(module);
  py::bind_checkpoints(module);
  py::bind_state(module);
  py::bind_host(module);
  py::bind_logging(module);
  py::bind_iterations(module);
  py::bind_pinned(module);
  py::bind_questions(module);
  py::bind_loop_iterator(module);
}
