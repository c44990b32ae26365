"""Assignment 1. The tokenizer is in the other branch, will be merged later."""
