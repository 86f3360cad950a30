// Modules, tensors, gradients and logging of tensors.
