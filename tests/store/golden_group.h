// What the two ranks of the group in a golden store have: one network, and each its own sampler.
#pragma once

#include <flor/store/store.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace flor::store {

inline constexpr std::int64_t kGoldenRanks = 2;
inline constexpr int kGoldenGroupEpochs = 3;

template <typename T>
SnapshotItem golden_item_of(std::string name, ElementType type, std::vector<T> values) {
  const auto memory = std::make_shared<std::vector<T>>(std::move(values));
  const auto* bytes = reinterpret_cast<const std::byte*>(memory->data());
  return {{std::move(name),
           type,
           {static_cast<std::int64_t>(memory->size())},
           memory->size() * sizeof(T)},
          Content(memory, bytes)};
}

/// The state of a rank after so many epochs, exact on every machine.
inline Snapshot golden_rank_state(std::int64_t rank, int epochs) {
  std::vector<float> weight;
  for (int i = 0; i < 600; ++i) weight.push_back(0.25F * static_cast<float>(i * (epochs + 1)));
  std::vector<std::int64_t> sampler;
  for (int i = 0; i < 100; ++i) sampler.push_back(1000 * rank + 7 * i + epochs);
  return {{golden_item_of("weight", ElementType::f32, std::move(weight)),
           golden_item_of("sampler", ElementType::i64, std::move(sampler))}};
}

}  // namespace flor::store
