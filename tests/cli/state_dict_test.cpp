// What of a checkpoint goes into a .pt file.
#include "export/state_dict.h"
#include "protocol/module_layout.h"
#include "store/store_fixture.h"

namespace flor::cli {
namespace {

using libtorch::LayoutEntry, libtorch::to_text;
using ::testing::ElementsAre, ::testing::IsEmpty;

class StateDictTest : public store::StoreTest {
 protected:
  void add(const std::string& name) {
    const auto [item, content, parts] =
        store::make_snapshot(1, static_cast<int>(snapshot_.items.size()), 4).items[1];
    snapshot_.items.push_back({item, content});
    snapshot_.items.back().item.name = name;
  }
  void add_text(const std::string& name, const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    snapshot_.items.push_back(
        store::bytes_snapshot(name, {bytes.begin(), bytes.end()}).items.front());
  }
  /// A module with a parameter, its gradient and a buffer.
  void add_module(const std::string& name) {
    add(name + "/0.weight");
    add(name + "/0.running_mean");
    add(name + "/grad/0.weight");
    add_text(name + "/.layout", to_text({{.kind = "parameter", .name = "0.weight"},
                                         {.kind = "buffer", .name = "0.running_mean"},
                                         {.kind = "module", .name = ""}}));
  }
  StateDict dict(std::string_view object = {}) {
    const auto opened = open();
    const auto run = opened->catalog().add_run(store::new_run());
    store::CheckpointWriter writer(*opened, run.id);
    const auto id = writer.write(store::boundary(1), snapshot_).id;
    items_ = store::CheckpointReader(*opened, id).items();
    return state_dict_of(store::CheckpointReader(*opened, id), object);
  }
  std::vector<std::string> names(const StateDict& dict) const {
    std::vector<std::string> names;
    for (const store::ArchivedTensor& tensor : dict.tensors) {
      names.push_back(tensor.name + " = " + items_[tensor.item].name);
    }
    return names;
  }

  store::Snapshot snapshot_;
  std::vector<store::Item> items_;
};

TEST_F(StateDictTest, OfTheOnlyModuleHasItsParametersAndBuffersByTheirOwnNames) {
  add_text("@slots", "model\noptimizer");
  add_module("model");
  add("optimizer/group0/lr");
  const StateDict found = dict();
  EXPECT_EQ(found.object, "model");
  EXPECT_THAT(found.modules, IsEmpty());
  EXPECT_THAT(names(found),
              ElementsAre("0.weight = model/0.weight", "0.running_mean = model/0.running_mean"));
}

TEST_F(StateDictTest, HasTiedParametersUnderEachOfTheirNames) {
  add("model/encoder.weight");
  add_text("model/.layout",
           to_text({{.kind = "parameter", .name = "encoder.weight"},
                    {.kind = "parameter", .origin = 0, .name = "decoder.weight"}}));
  EXPECT_THAT(names(dict()), ElementsAre("encoder.weight = model/encoder.weight",
                                         "decoder.weight = model/encoder.weight"));
}

TEST_F(StateDictTest, OfSeveralModulesHasAllObjectsUnlessOneIsChosen) {
  add_text("@slots", "generator\ncritic");
  add_module("generator");
  add_module("critic");
  const StateDict all = dict();
  EXPECT_THAT(all.modules, ElementsAre("critic", "generator"));
  EXPECT_EQ(all.tensors.size(), 6u);
  EXPECT_EQ(all.tensors.front().name, "generator/0.weight");
  EXPECT_THAT(names(dict("critic")),
              ElementsAre("0.weight = critic/0.weight", "0.running_mean = critic/0.running_mean"));
}

TEST_F(StateDictTest, OfAnotherObjectHasWhatItConsistsOf) {
  add_module("model");
  add("optimizer/group0/lr");
  add_text("optimizer/.layout", "group 1");
  add("best");
  EXPECT_THAT(names(dict("optimizer")), ElementsAre("group0/lr = optimizer/group0/lr"));
  EXPECT_THAT(names(dict("best")), ElementsAre("best = best"));
}

TEST_F(StateDictTest, WithoutModulesHasAllThatIsRegisteredAndNothingOfFlorsOwn) {
  add_text("@slots", "w");
  add("@rng/cpu");
  add("w");
  EXPECT_THAT(names(dict()), ElementsAre("w = w"));
}

TEST_F(StateDictTest, RefusesWhatThereIsNotAndWhatThisFormCannotHold) {
  add_text("model/w", "a sparse tensor's parts are others");
  add_text("model/.layout", to_text({{.kind = "parameter", .name = "w"}}));
  EXPECT_THROW(dict("net"), NotFound);
  EXPECT_THROW(dict(), UsageError);
}

TEST_F(StateDictTest, OfADamagedDescriptionIsAnError) {
  add("model/w");
  add_text("model/.layout", to_text({{.kind = "parameter", .origin = 7, .name = "w"}}));
  EXPECT_THROW(dict(), Damaged);
}

}  // namespace
}  // namespace flor::cli
