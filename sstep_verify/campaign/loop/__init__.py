"""The one loop of every campaign: processes, ranks, shards, what is kept, what is read back."""
