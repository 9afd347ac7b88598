"""The theorems on costs as counts: messages and words; flops and memory stand beside their tests."""
