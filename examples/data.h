// What the examples train on: files where they are given, else data made here, the same everywhere.
#pragma once

#include <torch/data.h>

#include <cstdint>
#include <string>
#include <utility>

namespace examples {

/// The value of `--data PATH`, the one option of the examples; empty if it is not given. Anything
/// else ends the program with a word on its use.
std::string data_option(int argc, char** argv);

/// Grey pictures of 28x28 with a label each, as a dataset that hands out whole batches.
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

/// Reads the files of MNIST and its kin (train-images-idx3-ubyte and so on, gzipped or not) from
/// `directory`; of a directory with the t10k files only, a sixth is kept for the test. Without a
/// directory: `count` handwritten-looking digits drawn by code.
Split load_pictures(const std::string& directory, std::int64_t count);

/// The bytes of the text in `file`, one element each; without a file, simple English sentences made
/// by a grammar.
torch::Tensor load_text(const std::string& file);

}  // namespace examples
