// Chooses the form for a chunk of floats, from a sample of its words.
#pragma once

#include "codec/codec_entropy.h"
#include "codec/codec_forms.h"
#include "codec/codec_kernels.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace flor::store {

struct Choice {
  Form form = Form::planes;
  /// For the streams of the form in their order: whether compressing them can pay.
  std::array<bool, kernels::kMaxWidth> compress{};
};

/// `base` may be null. A form that needs it is chosen only if it is expected to save at least 3 %
/// of the size of the best form without it. Deterministic. `scratch` is used for the sample.
Choice choose(WordShape shape, const std::uint8_t* words, const std::uint8_t* base,
              std::size_t count, Scratch& scratch);

}  // namespace flor::store
