// The examples' training data: files if given, else made by code, the same on every machine.
#pragma once

#include <torch/data.h>

#include <cstdint>
#include <string>
#include <utility>

namespace examples {

/// The value of `--data PATH`, the only option of the examples; empty if it is not given. Any other
/// argument ends the program with a usage message.
std::string data_option(int argc, char** argv);

/// Grey pictures of 28x28 pixels, each with a label, as a dataset that returns whole batches.
class Pictures : public torch::data::BatchDataset<Pictures, torch::data::Example<>> {
 public:
  Pictures(torch::Tensor pixels, torch::Tensor digits)
      : images(std::move(pixels)), labels(std::move(digits)) {}
  torch::data::Example<> get_batch(c10::ArrayRef<std::size_t> indices) override;
  c10::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(images.size(0));
  }

  torch::Tensor images;  ///< [count, 1, 28, 28], from 0 to 1
  torch::Tensor labels;  ///< [count], from 0 to 9
};

struct Split {
  Pictures train;
  Pictures test;
};

/// Reads files in MNIST's format (train-images-idx3-ubyte and so on, gzipped or not) from
/// `directory`. If it has only the t10k files, a sixth of these is the test set. If `directory` is
/// empty, draws `count` digits that look handwritten.
Split load_pictures(const std::string& directory, std::int64_t count);

/// The text in `file` as a tensor with one element for each byte. If `file` is empty, simple
/// English sentences made by a grammar.
torch::Tensor load_text(const std::string& file);

}  // namespace examples
