//! Stage 6, inference: exact answers from a model.
