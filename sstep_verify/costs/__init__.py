"""The theorems on costs as counts, which s pays (the tuner), and times predicted from counts and rates.

Of the counts, messages and words are here; flops and memory stand next to their tests.
"""
