// Chooses the form in which a chunk of floats is encoded, from a sample of its words.
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
  /// for each stream of the form, in order: true if compressing it may save space
  std::array<bool, kernels::kMaxWidth> compress{};
};

/// Chooses a form. `base` may be null; a form that needs it is chosen only if it is expected to
/// save at least 3 % of the best form without it. `scratch` holds the sample. Deterministic.
Choice choose(WordShape shape, const std::uint8_t* words, const std::uint8_t* base,
              std::size_t count, Scratch& scratch);

}  // namespace flor::store
