"""Parts of a results document on measured power."""
