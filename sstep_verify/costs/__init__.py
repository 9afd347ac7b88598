"""The theorems on costs as counts: messages, words, flops by term, memory."""
