// A loop without epochs, which ends when the loss is small; what it leaves is printed at the end.
#include <torch/torch.h>
#include <iostream>
#include <utility>
#include <vector>

#define POLY_DEGREE 3

torch::Tensor make_features(torch::Tensor x) {
	x = x.unsqueeze(1);
	std::vector<torch::Tensor> xs;
	for (int64_t i = 0; i < POLY_DEGREE; ++i)
		xs.push_back(x.pow(i + 1));
	return torch::cat(xs, 1);
}

std::pair<torch::Tensor, torch::Tensor> get_batch(torch::Tensor w, torch::Tensor b) {
	auto x = make_features(torch::rand({32}));
	return std::make_pair(x, x.mm(w) + b.item());
}

int main() {
	torch::manual_seed(3);
	auto W_target = torch::randn({POLY_DEGREE, 1});
	auto b_target = torch::randn({1});

	auto fc = torch::nn::Linear(W_target.size(0), 1);
	torch::optim::SGD optim(fc->parameters(), .1);

	float loss = 0;
	int64_t batch_idx = 0;

	while (++batch_idx) {
		torch::Tensor batch_x, batch_y;
		std::tie(batch_x, batch_y) = get_batch(W_target, b_target);

		optim.zero_grad();
		auto output = torch::smooth_l1_loss(fc(batch_x), batch_y);
		loss = output.item<float>();
		output.backward();
		optim.step();
		// here: loss

		if (loss < 5e-3f || batch_idx >= 40)
			break;
	}

	std::cout << "Loss: " << loss << " after " << batch_idx << " batches" << std::endl;
	return 0;
}
