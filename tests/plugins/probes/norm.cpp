// The norm that `trainer` prints, by the same formula, and what the run was told.
#include <flor/plugin/probe.h>

#include <cmath>

extern "C" void flor_probe(flor::Probe& probe) {
  double sum = 0;
  for (const double weight : probe.numbers<double>("weights/values")) sum += weight * weight;
  probe.log("norm", std::sqrt(sum));
#ifdef MORE
  probe.log(
      "facts",
      flor::Json{"{\"run\": \"" + probe.run() + "\", \"experiment\": \"" + probe.experiment() +
                 "\", \"steps\": " + probe.argument("steps").value_or("null") +
                 ", \"nothing\": " + probe.argument("nothing").value_or("null") + "}"});
  probe.log("rate after", probe.number<float>("rate"));
  probe.log("is there", probe.has("weights/values") && !probe.has("weights/value"));
  probe.log("items", probe.items().size());
  probe.log_histogram("weights", probe.numbers<double>("weights/values"), 4);
  probe.log_table("table",
                  {.columns = {"epoch"}, .rows = {{double(probe.epoch())}}, .row_names = {}});
  const auto velocity = probe.numbers<float>("velocity/values");
  probe.log_tensor<float>("velocity", velocity, {std::int64_t(velocity.size())});
#endif
}
